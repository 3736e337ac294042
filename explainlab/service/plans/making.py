"""Makes plans: passes as questions declare them, memory by a rehearsal, seconds from what earlier jobs took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from explainlab.analyses.base import Analysis, ModelFree, method_passes
from explainlab.analyses.data_analysis import DataAnalysis
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.text_analysis import MOST_TOGETHER
from explainlab.attribution.method import TextSize, expected_work
from explainlab.attribution.registry import MethodSpec, get_method, methods
from explainlab.data import Row, read_dataset
from explainlab.data.files import stream_rows
from explainlab.errors import TextError
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount
from explainlab.models.footprint import batch_bytes
from explainlab.models.loading import outline
from explainlab.reader import Reader
from explainlab.request import CompleteRequest
from explainlab.service.looks import Look, desk
from explainlab.service.paces import Paces
from explainlab.service.plans.plan import Plan
from explainlab.service.plans.rehearsal import Place, Rehearsed, rehearsed
from explainlab.service.resolved import ResolvedRequest
from explainlab.service.users import User
from explainlab.text.encoding import Encoding

_READ, _LOOKED_AT = 1_000, 100
"""Rows at the beginning of a data set that are read, and those whose lengths stand for those of all."""


def look(
    asked: Sequence[ResolvedRequest], place: Place, user: User, texts: int | None = None
) -> Look[tuple[Plan, ...]]:
    """The plans of requests as to passes and memory, read on a thread of its own; see :func:`outlined`.

    Nothing is loaded but tokenizers. Its answer raises as :func:`outlined`.
    """
    key = ("plan", place.device, texts, *(one.key for one in asked))

    def read(reader: Reader) -> tuple[Plan, ...]:
        plans = (outlined(one.request, place, reader, texts) for one in asked)
        return tuple(plan for plan in plans if plan is not None)

    return desk.look(Look(key, user, asked[0].request.data or "", read))


def outlined(request: CompleteRequest, place: Place, reader: Reader, texts: int | None = None) -> Plan | None:
    """The plan of ``request`` but for its seconds.

    Only so many ``texts`` of a data set are explained, where an analysis selects some. None for a model that would have
    to be fetched, and for a question that does not tell. Raises as :func:`explainlab.models.loading.outline`,
    :meth:`Classifier.encode`, :func:`explainlab.data.read_dataset` and :meth:`ModelFree.foreseen`.
    """
    analysis = get_analysis(request.question)
    if isinstance(analysis, ModelFree):
        return _of_no_model(analysis, request, reader)
    unknown = place.device != "cpu" and place.free is None
    if unknown or request.model == "" or (analysis.selects and texts is None):
        return None
    classifier = outline(request.model, request.dtype)
    read = None if classifier is None else _Read.of(analysis, classifier, request, reader, texts)
    if classifier is None or read is None or not read.encodings:
        return None
    return _planned(analysis, classifier, request, read, place)


def timed(plan: Plan, request: CompleteRequest, paces: Paces) -> Plan:
    """``plan``, of ``request``, with its seconds, and the passes of what often ends early, as earlier jobs tell them.

    Jobs of the same question tell both. Jobs of other questions to the same model tell the seconds of passes whose
    number is known.
    """
    analysis, pace = get_analysis(request.question), paces.nearest(request)
    adaptive = analysis.adaptive(analysis.parameters(request))
    if pace is not None:
        known = replace(plan, seconds=pace.whole(plan.work), basis="question", runs=pace.runs)
        if not adaptive:
            return known
        return replace(known, forward=plan.forward * pace.spent, backward=plan.backward * pace.spent, about=True)
    told = plan.exact or (isinstance(analysis, DataAnalysis) and not adaptive)
    speed = paces.speed(request) if told else None
    return plan if speed is None else replace(plan, seconds=speed.whole(plan.work), basis="model", runs=speed.runs)


@dataclass(frozen=True)
class _Read:
    """How many ``texts`` a request is about, and the ``encodings`` of its text, or of the first of its data set that
    can be read, each with the tokens that its job ``expects`` of it; ``others``: it may be about other texts.
    """

    texts: int
    encodings: list[Encoding]
    expects: list[float]
    others: bool = False

    @classmethod
    def of(
        cls, analysis: Analysis, classifier: Classifier, request: CompleteRequest, reader: Reader, texts: int | None
    ) -> _Read:
        if request.data is None:
            encoding = classifier.encode(request.single_text, request.text_pair)
            return cls(1, [encoding], [len(encoding)])
        columns, classes = request.columns, request.classes
        asked = None if request.parameters.get("sample") == "all" else request.parameters["rows"]
        most = _READ if asked is None else min(asked, _READ)
        rows = read_dataset(
            request.data, limit=most, skip_bad=True, columns=columns, classes=classes, reader=reader
        ).rows
        pairs = list(_encoded(classifier, rows[:_LOOKED_AT]))
        total = len(rows)
        if texts is not None:
            total = texts
        elif total == most != asked:
            there = _count(request, reader)
            total = there if asked is None else min(asked, there)
        expects = [
            analysis.expected_tokens(row, len(encoding)) if isinstance(analysis, DataAnalysis) else len(encoding)
            for row, encoding in pairs
        ]
        others = request.parameters.get("sample") == "random" or total > len(rows[:_LOOKED_AT])
        return cls(total, [encoding for _, encoding in pairs], expects, others and not analysis.selects)


def _encoded(classifier: Classifier, rows: Sequence[Row]) -> Iterator[tuple[Row, Encoding]]:
    for row in rows:
        with suppress(TextError):  # left out by the job too
            yield row, classifier.encode(row.text, row.text_pair)


def _count(request: CompleteRequest, reader: Reader) -> int:
    """How many rows of the data set can be used."""
    assert request.data is not None
    rows = stream_rows(request.data, None, request.columns, request.classes, reader)
    return sum(isinstance(row, Row) for _, _, row in rows)


def _of_no_model(analysis: ModelFree, request: CompleteRequest, reader: Reader) -> Plan | None:
    found = analysis.foreseen(request, reader)
    if found is None:
        return None
    passes = found.passes
    return Plan(passes.forward, passes.backward, exact=False, work=found.work, texts=found.texts)


def _planned(analysis: Analysis, classifier: Classifier, request: CompleteRequest, read: _Read, place: Place) -> Plan:
    parameters, depth, is_generative = (
        analysis.parameters(request),
        classifier.model.depth,
        classifier.architecture.is_generative,
    )
    each, passes, work = read.texts / len(read.encodings), PassCount(), 0.0
    for encoding, tokens in zip(read.encodings, read.expects, strict=True):
        extent = TextSize.of(encoding, request.unit)
        passes += analysis.passes(parameters, extent, depth) * each
        expected = extent if request.data is None else TextSize(int(tokens), int(tokens))  # as the job does
        own = analysis.passes(parameters, expected, depth)
        work += expected_work(own, tokens, classifier.architecture) * each
    shares = 0 if isinstance(analysis, DataAnalysis) else read.texts * is_generative
    memory = _memory(analysis, classifier, request, read, place) if analysis.only_passes else None
    return Plan(
        forward=passes.forward + shares,
        backward=passes.backward,
        exact=request.data is None and _fixed(analysis, parameters) and not is_generative,
        work=work,
        texts=0 if request.data is None or analysis.selects else read.texts,  # some may be explained several times
        batch=memory.batch if memory else 1,
        peak=memory.peak if memory else None,
        model=classifier.bytes,
        about=read.others or _roughly(analysis, parameters),
    )


def _fixed(analysis: Analysis, parameters: object) -> bool:
    """Whether the passes are known exactly: of a method that neither ends early nor leaves out equal inputs."""
    if analysis.id not in methods() or _roughly(analysis, parameters):
        return False
    return not (analysis.adaptive(parameters) or get_method(analysis.id).deduplicates)


def _roughly(analysis: Analysis, parameters: object) -> bool:
    """Whether there may be more passes: a baseline is chosen first, or early ends of several methods are guessed."""
    chosen = getattr(parameters, "baseline", "") == "max_entropy"
    return chosen or (analysis.id not in methods() and analysis.adaptive(parameters))


def _memory(
    analysis: Analysis, classifier: Classifier, request: CompleteRequest, read: _Read, place: Place
) -> Rehearsed | None:
    """The largest batch, and the most memory: of the methods that are run, each rehearsed, and of all other passes."""
    parameters, depth = analysis.parameters(request), classifier.model.depth
    longest = max(read.encodings, key=len)
    extent, length = TextSize.of(longest, request.unit), len(longest)
    own = MethodSpec(request.question, parameters) if analysis.id in methods() else None
    runs = [own] if own else list(analysis.method_requests(parameters))
    found, rest = [], analysis.passes(parameters, extent, depth)
    for run in runs:
        passes = rest if own else method_passes(run, extent, depth)
        rest = rest + passes * -1
        if passes.forward < 1:
            continue
        fit = place.fit(classifier, length, passes.backward > 0)
        texts = min(read.texts, MOST_TOGETHER, ceil(fit / max(1.0, passes.forward)))
        method = get_method(run.method)
        for member in method.members(run.parameters) or [run]:
            found.append(rehearsed(classifier, member, longest, texts, request, place))
        if method.chosen_by(run.parameters):  # texts without features of maps that are all 0 are equal, and run once
            found.append(_batch(classifier, length, passes.forward - passes.backward, False, place))
    if rest.forward >= 1:
        gradients, together = rest.backward >= 1, min(read.texts, MOST_TOGETHER)
        count = (rest.backward if gradients else rest.forward) * together
        found.append(_batch(classifier, length, count, gradients, place))
    told = [memory for memory in found if memory is not None]
    if len(told) < len(found):
        return None
    return Rehearsed(max(one.batch for one in told), max(one.peak for one in told)) if told else None


def _batch(classifier: Classifier, length: int, count: float, gradients: bool, place: Place) -> Rehearsed:
    """The largest of the batches of ``count`` passes."""
    passes = max(1, ceil(count))
    batch = ceil(passes / ceil(passes / place.fit(classifier, length, gradients)))
    return Rehearsed(batch, _bytes(classifier, length, batch, gradients))


@lru_cache(maxsize=256)
def _bytes(classifier: Classifier, length: int, batch: int, gradients: bool) -> int:
    return batch_bytes(classifier, length, batch, gradients)
