"""Layer randomisation and the loaded model: it stays as it is, a stopped run goes on, and the work is counted."""

from __future__ import annotations

import hashlib

import pytest

from explainlab import explain
from explainlab.errors import Cancelled
from explainlab.models.classifier import Classifier
from explainlab.models.context import Receivers, RunContext
from explainlab.testing.observation import watched
from tests.analyses.layer_randomisation.test_analysis import ASKED, GXI, run
from tests.conftest import Zoo


def checksum(classifier: Classifier) -> str:
    total = hashlib.sha256()
    for name, own in classifier.model.network.state_dict().items():
        total.update(name.encode() + own.numpy().tobytes())
    return total.hexdigest()


class Asking:
    """A run whose ``context`` runs the loaded model between two batches, and ends at one of them with ``error``."""

    def __init__(self, classifier: Classifier, last: int = 10**9, error: type[Exception] = Cancelled) -> None:
        self.context = RunContext(check_cancelled=self.check_cancelled)
        self.classifier, self.last, self.error = classifier, last, error
        self.answers: set[tuple[str, bytes]] = set()
        self.checks = 0

    def check_cancelled(self) -> None:
        self.checks += 1
        if self.checks % 3 == 0:
            scores = explain(self.classifier, "a good film", GXI).scores
            self.answers.add((checksum(self.classifier), scores.tobytes()))
        if self.checks == self.last:
            raise self.error


@pytest.mark.parametrize(("last", "error"), [(10**9, Cancelled), (20, Cancelled), (20, RuntimeError)])
def test_the_loaded_model_is_never_written_to(encoder: Classifier, last: int, error: type[Exception]) -> None:
    expected = checksum(encoder), explain(encoder, "a good film", GXI).scores.tobytes()
    asking = Asking(encoder, last, error)
    if last < 10**9:
        with pytest.raises(error):
            run(encoder, context=asking.context, **ASKED)
    else:
        run(encoder, context=asking.context, **ASKED)
        assert asking.checks > 40
    assert asking.answers == {expected}
    assert checksum(encoder) == expected[0]


class Stopping:
    """A run whose ``context`` is cancelled after ``finished`` random models."""

    def __init__(self, finished: int) -> None:
        progress = Receivers(self.report, predicted=self.predicted)
        self.context = RunContext(progress=progress, check_cancelled=self.check_cancelled)
        self.finished = finished
        self.seen: list[int] = []
        self.predictions = 0

    def report(self, done: int, total: int, phase: str) -> None:
        if phase == "randomised models":
            self.seen.append(done)

    def predicted(self, prediction: object) -> None:
        self.predictions += 1

    def check_cancelled(self) -> None:
        if self.finished in self.seen:
            self.finished = -1
            raise Cancelled


def test_finished_models_stay(encoder: Classifier) -> None:
    result, stopping = run(encoder, **ASKED), Stopping(12)
    context = stopping.context
    with watched(encoder) as first, pytest.raises(Cancelled):
        run(encoder, context=context, **ASKED)
    with watched(encoder) as rest:
        again = run(encoder, context=context, **ASKED)
    assert stopping.seen[-1] == 1
    assert sorted(set(stopping.seen)) == list(range(19))
    assert stopping.predictions == 2, "one of each run: those of random models are nobody's"
    assert (again.body, again.warnings) == (result.body, result.warnings)
    assert (again.cost.forward, again.cost.backward) == (result.cost.forward, result.cost.backward)
    assert 0 < rest.backward < first.backward < result.cost.backward
    with watched(encoder) as more:
        run(encoder, context=context, **{**ASKED, "mode": "independent", "draws": 1})
    assert more.backward == 0, "these are known"


def test_its_work_is_what_it_expects(encoder: Classifier, zoo: Zoo) -> None:
    for classifier in (encoder, zoo("albert")):
        expected, skipped, spent = list[float](), list[float](), list[float]()
        progress = Receivers(
            expect=lambda work, exact=True, own=expected: own.append(work), skip=skipped.append, spend=spent.append
        )
        run(classifier, context=RunContext(progress=progress), methods="gradient", draws=2)
        assert sum(spent) == pytest.approx(sum(expected) - sum(skipped), rel=0.1)
