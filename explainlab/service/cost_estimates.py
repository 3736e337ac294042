"""Cost estimates of questions: passes as the questions declare them, seconds as earlier jobs tell them.

Pages, the command line and notebooks share their words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from explainlab.analyses.base import Analysis, Requirements, TrainsModels
from explainlab.analyses.data_analysis import DataAnalysis
from explainlab.analyses.errors.analysis import tokens_of
from explainlab.analyses.registry import get_analysis, requirements
from explainlab.analyses.wording import counted, takes
from explainlab.attribution.method import TextSize, expected_work
from explainlab.attribution.registry import get_method, methods
from explainlab.data import Row, read_dataset
from explainlab.data.files import stream_rows
from explainlab.errors import TextError
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount
from explainlab.models.loading import outline
from explainlab.reader import Reader
from explainlab.request import CompleteRequest
from explainlab.service.file_tasks import FileTask, file_reader
from explainlab.service.resolved import ResolvedRequest
from explainlab.service.throughput import Paces
from explainlab.service.users import User
from explainlab.text.encoding import Encoding

Basis = Literal["question", "model", "unknown"]
_BASES: Mapping[Basis, str] = {
    "question": "from {runs} of these settings on this kind of device",
    "model": "from this model's speed in {runs} of other settings on this kind of device",
    "unknown": "no earlier run on this kind of device tells it",
}
_READ, _ENCODED = 1_000, 100
"""The rows at the beginning of a data set that are read, and those whose lengths stand for the lengths of all rows."""


@dataclass(frozen=True)
class CostEstimate:
    """The cost of a job: its ``forward`` passes, ``backward`` of them with gradients, counted per single input.

    ``exact``: the job has neither more nor fewer passes. Otherwise it has at most these, or ``about`` these where
    earlier jobs or other texts stand for it. ``texts`` counts the texts of a data set, 0 for a single text. ``work`` is
    the work that the job will expect, in tokens of passes with gradients. ``seconds`` are None where no earlier job
    tells them; otherwise ``basis`` names the kind of the ``runs`` earlier runs that do.
    """

    forward: float
    backward: float
    exact: bool
    work: float
    texts: int = 0
    about: bool = False
    seconds: float | None = None
    basis: Basis = "unknown"
    runs: int = 0

    @property
    def words(self) -> str:
        """The estimate in a line, as ``Takes about 12 s: at most 1,024 passes through the model.`` has it."""
        amount = "" if self.exact else "about " if self.about else "at most "
        texts = f" for {counted(self.texts, 'text')}" if self.texts else ""
        forward = max(1, round(self.forward))
        passes = "1 pass" if forward == 1 else f"{forward:,} passes"
        start = "Takes " if self.seconds is None else f"{takes(self.seconds)}: "
        return f"{start}{amount}{passes} through the model{texts}."

    @property
    def meaning(self) -> str:
        """The meaning of its numbers, and their source."""
        basis = _BASES[self.basis].format(runs=counted(self.runs, "earlier run"))
        alike = " All texts are taken to be as long as the first." if self.texts else ""
        return (
            f"Passes: {round(self.forward):,} forward, {round(self.backward):,} of them with gradients, each of one "
            f"version of a text. What is stored already is not computed again. Time: {basis}; loading the model is not "
            f"counted.{alike}"
        )


def total(estimates: Sequence[CostEstimate]) -> CostEstimate:
    """Return the estimate of jobs that run one after another."""
    seconds = [estimate.seconds for estimate in estimates if estimate.seconds is not None]
    return CostEstimate(
        forward=sum(estimate.forward for estimate in estimates),
        backward=sum(estimate.backward for estimate in estimates),
        exact=all(estimate.exact for estimate in estimates),
        about=all(estimate.exact or estimate.about for estimate in estimates),
        work=sum(estimate.work for estimate in estimates),
        texts=sum(estimate.texts for estimate in estimates),
        seconds=sum(seconds) if len(seconds) == len(estimates) else None,
        basis="model" if any(estimate.basis == "model" for estimate in estimates) else estimates[0].basis,
        runs=min(estimate.runs for estimate in estimates),
    )


def estimate_costs(
    asked: Sequence[ResolvedRequest], user: User, texts: int | None = None
) -> FileTask[tuple[CostEstimate, ...]]:
    """Start to estimate the costs of requests, without seconds, on another thread: see :func:`estimate_cost`.

    Requests without an estimate are left out. The answer raises as :func:`estimate_cost`.
    """
    key = ("cost", texts, *(one.key for one in asked))

    def read(reader: Reader) -> tuple[CostEstimate, ...]:
        estimates = (estimate_cost(one.request, reader, texts) for one in asked)
        return tuple(estimate for estimate in estimates if estimate is not None)

    return file_reader.submit(FileTask(key, user, asked[0].request.data or "", read))


def estimate_cost(request: CompleteRequest, reader: Reader, texts: int | None = None) -> CostEstimate | None:
    """Estimate the cost of ``request`` without its seconds; nothing is loaded but a tokenizer.

    ``texts`` is the number of explained texts, for an analysis that selects some of a data set. Returns None for a
    model that would have to be fetched first, and for a question that does not declare its passes. Raises as
    :func:`explainlab.models.loading.outline`, :meth:`Classifier.encode`, :func:`explainlab.data.read_dataset` and
    :attr:`Requirements.estimate`.
    """
    analysis = get_analysis(request.question)
    if isinstance(analysis, TrainsModels):
        return _cost_of_training(request, reader)
    needs = requirements(request)
    if request.model == "" or (needs.explains_subset and texts is None):
        return None
    classifier = outline(request.model)
    sample = None if classifier is None else _Sample.of(needs, classifier, request, reader, texts)
    if classifier is None or sample is None or not sample.encodings:
        return None
    return _cost_of_passes(analysis, needs, classifier, request, sample)


def with_seconds(estimate: CostEstimate, request: CompleteRequest, paces: Paces) -> CostEstimate:
    """Return the ``estimate`` of ``request`` with its seconds, and the usual passes of adaptive methods.

    Earlier jobs of the same question tell both. Jobs of other questions to the same model tell the seconds of passes
    whose number is known.
    """
    analysis, pace = get_analysis(request.question), paces.nearest(request)
    adaptive = requirements(request).adaptive
    if pace is not None:
        known = replace(estimate, seconds=pace.whole(estimate.work), basis="question", runs=pace.runs)
        if not adaptive:
            return known
        forward, backward = estimate.forward * pace.spent, estimate.backward * pace.spent
        return replace(known, forward=forward, backward=backward, about=True)
    passes_known = estimate.exact or (isinstance(analysis, DataAnalysis) and not adaptive)
    speed = paces.speed(request) if passes_known else None
    if speed is None:
        return estimate
    return replace(estimate, seconds=speed.whole(estimate.work), basis="model", runs=speed.runs)


@dataclass(frozen=True)
class _Sample:
    """The texts that stand for all ``texts`` of a request: the text itself, or the first readable ones of a data set.

    ``expects`` has the tokens that the job expects of each of the ``encodings``. ``others``: the job may be about other
    texts.
    """

    texts: int
    encodings: list[Encoding]
    expects: list[float]
    others: bool = False

    @classmethod
    def of(
        cls, needs: Requirements, classifier: Classifier, request: CompleteRequest, reader: Reader, texts: int | None
    ) -> _Sample:
        if request.data is None:
            encoding = classifier.encode(request.single_text, request.text_pair)
            return cls(1, [encoding], [len(encoding)])
        columns, classes = request.columns, request.classes
        wanted = None if request.parameters.get("sample") == "all" else request.parameters["rows"]
        most = _READ if wanted is None else min(wanted, _READ)
        needs_label = needs.needs_labels(request.target, columns, classes)
        rows = read_dataset(
            request.data,
            limit=most,
            skip_bad=True,
            columns=columns,
            classes=classes,
            reader=reader,
            needs_label=needs_label,
        ).rows
        pairs = list(_encoded(classifier, rows[:_ENCODED]))
        total = len(rows)
        if texts is not None:
            total = texts
        elif total == most != wanted:
            there = _count(request, needs_label, reader)
            total = there if wanted is None else min(wanted, there)
        expects = [tokens_of(row) if needs.guesses_lengths else len(encoding) for row, encoding in pairs]
        others = request.parameters.get("sample") == "random" or total > len(rows[:_ENCODED])
        return cls(total, [encoding for _, encoding in pairs], expects, others and not needs.explains_subset)


def _encoded(classifier: Classifier, rows: Sequence[Row]) -> Iterator[tuple[Row, Encoding]]:
    for row in rows:
        with suppress(TextError):  # the job leaves it out too
            yield row, classifier.encode(row.text, row.text_pair)


def _count(request: CompleteRequest, needs_label: bool, reader: Reader) -> int:
    """Count the usable rows of the data set."""
    assert request.data is not None
    rows = stream_rows(request.data, None, request.columns, request.classes, reader, needs_label=needs_label)
    return sum(isinstance(row, Row) for *_, row in rows)


def _cost_of_training(request: CompleteRequest, reader: Reader) -> CostEstimate | None:
    estimate = requirements(request).estimate
    found = None if estimate is None else estimate(request, reader)
    if found is None:
        return None
    passes = found.passes
    return CostEstimate(passes.forward, passes.backward, exact=False, work=found.work, texts=found.texts)


def _cost_of_passes(
    analysis: Analysis, needs: Requirements, classifier: Classifier, request: CompleteRequest, sample: _Sample
) -> CostEstimate:
    parameters, depth = analysis.parameters(request), classifier.model.depth
    is_generative = classifier.architecture.is_generative
    each, passes, work = sample.texts / len(sample.encodings), PassCount(), 0.0
    for encoding, tokens in zip(sample.encodings, sample.expects, strict=True):
        extent = TextSize.of(encoding, request.unit)
        passes += needs.passes(extent, depth) * each
        expected = extent if request.data is None else TextSize(int(tokens), int(tokens))  # as the job does
        own = needs.passes(expected, depth)
        work += expected_work(own, tokens, classifier.architecture) * each
    shares = 0 if isinstance(analysis, DataAnalysis) else sample.texts * is_generative
    return CostEstimate(
        forward=passes.forward + shares,
        backward=passes.backward,
        exact=request.data is None and _fixed(analysis, needs, parameters) and not is_generative,
        work=work,
        texts=0 if request.data is None or needs.explains_subset else sample.texts,  # some run several times
        about=sample.others or _rough(analysis, needs, parameters),
    )


def _fixed(analysis: Analysis, needs: Requirements, parameters: object) -> bool:
    """Tell whether the passes are known exactly: the method neither ends early nor leaves out equal inputs."""
    if analysis.id not in methods() or _rough(analysis, needs, parameters):
        return False
    return not (needs.adaptive or get_method(analysis.id).deduplicates)


def _rough(analysis: Analysis, needs: Requirements, parameters: object) -> bool:
    """Tell whether there may be more passes: for the choice of a baseline, or where methods end later than guessed."""
    chosen = getattr(parameters, "baseline", "") == "max_entropy"
    return chosen or (analysis.id not in methods() and needs.adaptive)
