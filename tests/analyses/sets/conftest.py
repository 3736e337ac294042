"""Sets of studies made by hand: activation of three models, two of which differ in their seed alone; predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from explainlab.analyses.activation.result import ActivationData, MethodMeans, TextAreas
from explainlab.analyses.base import AnalysisResult, Record, Sampled
from explainlab.analyses.errors.result import Accuracy, Calibration, PredictionsData
from explainlab.analyses.records import KnownInterval
from explainlab.analyses.sets.records import SetCell, SetModel, StudySet
from explainlab.attribution.registry import label_of
from explainlab.request import Request
from explainlab.result import Cost

HOSTILE = "<script>alert('x')</script> & \"quoted\" {_%$} \\ 50%"
SMALL, SEED, LARGE = (
    SetModel("made:1", "made:1", "BERT", 1_000_000, "recipe"),
    SetModel("made:2", "made:2", "BERT", 1_000_000, "recipe"),
    SetModel("dir/large", "large", "BERT", 20_000_000, "dir/large"),
)
MakeSet = Callable[..., StudySet]
MakeAccuracies = Callable[..., StudySet]


def _set(question: str, bodies: dict[tuple[SetModel, str], Record | None]) -> StudySet:
    return StudySet(
        tuple(
            SetCell(
                model,
                data,
                data.partition(":")[2],
                body and _result(question, model.id, data, body),
                "" if body else "It <b>failed</b>.",
            )
            for (model, data), body in bodies.items()
        )
    )


def _result(question: str, model: str, data: str, body: Record) -> AnalysisResult:
    return AnalysisResult(
        request=Request(model=model, question=question, data=data),
        body=body,
        sample=Sampled(drawn="all", rows=10, total=10, seed=0),
        cost=Cost(0, 0, 0.0),
        warnings=(),
        versions={"model": model},
    )


@pytest.fixture
def make_set() -> MakeSet:
    """Return a maker of sets of ``{(model, data): {method: area}}``; the other area is 1 minus it; None has failed."""

    def make(cells: dict[tuple[SetModel, str], dict[str, float] | None], half: float = 0.05) -> StudySet:
        return _set("activation", {place: column and _areas(column, half) for place, column in cells.items()})

    return make


@pytest.fixture
def make_accuracies() -> MakeAccuracies:
    """Make a set of ``{(model, data): accuracy}`` over the 100 ``rows`` of a model. The first rows are right."""

    def make(cells: dict[tuple[SetModel, str], float | None], rows: Mapping[SetModel, list[int]] = {}) -> StudySet:
        bodies = {
            place: None if own is None else _predictions(own, rows.get(place[0], [])) for place, own in cells.items()
        }
        return _set("predictions", bodies)

    return make


def _areas(column: dict[str, float], half: float) -> ActivationData:
    def known(mean: float) -> KnownInterval:
        return KnownInterval(mean=mean, low=mean - half, high=mean + half)

    costs = {"forward": 1.0, "backward": 0.0, "seconds": 0.0, "passes": 1.0, "relative": 0.0}
    rows = [
        MethodMeans(
            method=method,
            id=method,
            label=label_of(method),
            activation=known(area),
            inverse_activation=known(1 - area),
            **costs,
            n=10,
        )
        for method, area in column.items()
    ]
    spread = 0.06 * np.linspace(-1, 1, 10)
    shown = {"text": "", "text_pair": None, "label": None, "text_seed": 0, "target": "", "predicted": "", "features": 1}
    texts = [
        TextAreas(
            row=t,
            **shown,
            auc={
                method: {"activation": area + np.roll(spread, 3 * i)[t], "inverse_activation": 1 - area}
                for i, (method, area) in enumerate(column.items())
            },
            flip={},
            passes={},
            similarity={},
        )
        for t in range(10)
    ]
    shared = {"baseline": "mask", "grid": [0.0, 1.0], "curves": [], "reference": "", "similarity": {}}
    return ActivationData(n=10, rows=rows, texts=texts, **shared)


def _predictions(accuracy: float, rows: list[int]) -> PredictionsData:
    right = round(100 * accuracy)
    same = {"text": "a", "text_pair": None, "predicted": "no", "tokens": 1, "cut": False}
    shares = dict.fromkeys(("confidence", "probability", "loss"), 0.5)
    return PredictionsData(
        labels=["no", "yes"],
        n=100,
        accuracy=Accuracy(mean=accuracy, low=accuracy - 0.05, high=accuracy + 0.05),
        macro_f1=accuracy,
        per_class=[],
        calibration=Calibration(ece=0.5 - accuracy / 2, bins=[]),
        confusion=[[right, 100 - right], [0, 0]],
        rows=[{"row": row, "label": "no" if i < right else "yes", **same, **shares} for i, row in enumerate(rows)],
    )
