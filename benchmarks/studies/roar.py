"""ROAR: the importance of many texts beside bare passes, and a grid beside its trainings and measures alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks.batched import BATCHES, TRIAL
from benchmarks.runner import Row, fastest, peak_memory_mb, quickest
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import answer_alone, complete, new_request
from explainlab.analyses.roar.asking import setting_of
from explainlab.analyses.roar.models import Models
from explainlab.analyses.roar.nodes import Selection, Setting
from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar.result import RoarData
from explainlab.analyses.roar.texts import Masks, SplitName
from explainlab.analyses.roar_estimate.result import RoarEstimate
from explainlab.attribution.explain import attribute
from explainlab.attribution.registry import complete as attribution_complete
from explainlab.attribution.registry import get_method
from explainlab.limits import DEFAULT_LIMITS
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.devices import choose_device
from explainlab.models.inputs import Inputs
from explainlab.reader import Reader
from explainlab.request import Request
from explainlab.result import Cost
from explainlab.settings import ROOT
from explainlab.text.encoding import Encoding

MEASURES = [
    "attention_last",
    "gradient:norm=one_hot",
    "integrated_gradients:rule=right:steps=10:baseline=zero",
]
GRID: dict[str, Any] = {
    "measures": "attention_last+gradient:norm=one_hot",
    "ratios": [0, 50, 100],
    "seeds": 1,
    "settings": {"epochs": 2},
}
"""The grid whose parts are timed."""
_REPEATS = 5


def rows() -> Iterator[Row]:
    """Yield a row a measure, then one of a whole grid: on SST-2's dev set if it is beside the project, or on meals."""
    shared = ROOT.parent / "shared" / "data" / "sst2" / "dev.csv.gz"
    data = str(shared) if shared.is_file() else "embedded:meals"
    with TemporaryDirectory() as folder:
        context = RunContext(Reader(made=Path(folder)))
        yield from _measures(data, context, Path(folder))
        yield _grid(data, context)


def _measures(data: str, context: RunContext, folder: Path) -> Iterator[Row]:
    given = {"test": data, "measures": MEASURES, "settings": {"epochs": 1}}
    request = complete(new_request(question="roar", model="bilstm_attention", data=data, parameters=given))
    setting = setting_of(request, RoarParameters.model_validate(given), context, choose_device().type)
    own, nothing = setting.data, {name: Masks.none(split.lengths) for name, split in setting.data.splits.items()}
    models = Models(setting.base, own.settings, own.splits, own.token, folder / "once", context, setting.device)
    models.train("once", nothing, 0.0, "one epoch")
    for name in MEASURES:
        yield _measured(models.classifier("once"), setting, name, nothing)


def _measured(classifier: Classifier, setting: Setting, name: str, nothing: dict[SplitName, Masks]) -> Row:
    """Measure all texts by one measure, with the choice of what is masked next, beside the passes alone."""
    splits, measure = setting.data.splits.values(), setting.measures[name]
    encodings = [split.read(row).encoding for split in splits for row in range(len(split))]
    encodings.sort(key=len, reverse=True)

    def ours() -> None:
        selection = Selection(setting.data, measure, "bench", [50], False, 0, RunContext())
        selection.computed(classifier, nothing, name)

    method, parameters = get_method(measure.request.method), measure.request.parameters.model_dump(mode="json")
    asked = Request(question=method.id, model=classifier.id, text=encodings[0].text, parameters=parameters)
    cost = attribute(classifier, encodings[0], method, attribution_complete(asked)).cost
    some = encodings[:: max(1, len(encodings) // TRIAL)]
    size = quickest({size: _bare(classifier, some, size, cost) for size in BATCHES})
    seconds = fastest({"ours": ours, "floor": _bare(classifier, encodings, size, cost)}, _REPEATS)
    return Row(
        name="roar importance",
        work=f"bilstm_attention, {name}, {len(encodings)} texts",
        device=classifier.device.type,
        seconds=seconds["ours"],
        floor_seconds=seconds["floor"],
        ratio_to_floor=seconds["ours"] / seconds["floor"],
        peak_memory_mb=peak_memory_mb(classifier.device),
        facts={"bare batch": size},
    )


def _bare(classifier: Classifier, encodings: Sequence[Encoding], size: int, cost: Cost) -> Callable[[], None]:
    """Return the network's own passes over texts, the longest first: as many a text as ``cost`` says."""
    network: Any = classifier.model.network

    def batches(each: int) -> Iterator[Inputs]:
        passes = [encoding for encoding in encodings for _ in range(each)]
        for start in range(0, len(passes), size):
            yield classifier.inputs(passes[start : start + size])

    def run() -> None:
        for inputs in batches(cost.forward - cost.backward):
            with torch.no_grad():
                network(input_ids=inputs.ids, attention_mask=inputs.attention).logits.cpu()
        for inputs in batches(cost.backward):
            points = classifier.embed(inputs.ids).requires_grad_()
            hook = classifier.model.word_embeddings.register_forward_hook(lambda *_, points=points: points)
            logits = network(input_ids=inputs.ids, attention_mask=inputs.attention).logits
            hook.remove()
            torch.autograd.grad(logits[:, 0].sum(), points)[0].sum(dim=-1).cpu()

    return run


def _grid(data: str, context: RunContext) -> Row:
    """Measure the seconds of a grid after its estimate; its floor is the time of training and importance."""
    estimate: RoarEstimate = _asked("roar_estimate", data, context).body
    begun = time.perf_counter()
    body: RoarData = _asked("roar", data, context).body
    seconds = time.perf_counter() - begun
    spent = sum(cost.training + cost.importance for cost in body.costs)
    return Row(
        name="roar",
        work=f"bilstm_attention, {len(body.nodes)} models",
        device=choose_device().type,
        seconds=seconds,
        floor_seconds=spent,
        ratio_to_floor=seconds / spent,
        peak_memory_mb=peak_memory_mb(choose_device()),
        facts={
            "neither training nor importance": 1 - spent / seconds,
            "estimate over truth": (estimate.training + estimate.importance) / seconds,
        },
    )


def _asked(question: str, data: str, context: RunContext) -> AnalysisResult[Any]:
    request = new_request(question=question, model="bilstm_attention", data=data, parameters={"test": data, **GRID})
    result = answer_alone(complete(request), context, choose_device().type, DEFAULT_LIMITS)
    assert isinstance(result, AnalysisResult)
    return result
