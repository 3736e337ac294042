"""A plan: what a job will take, told before it starts, from shapes and from what earlier jobs took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import torch

from explainlab.analyses.base import Analysis
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import counted, duration
from explainlab.attribution.method import Extent, expected_work
from explainlab.attribution.registry import get_method, methods
from explainlab.data import read_dataset
from explainlab.errors import TextError
from explainlab.models.batching import batch_size
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount
from explainlab.models.footprint import batch_bytes, replay_bytes
from explainlab.models.loading import outline
from explainlab.models.replay import rows_read
from explainlab.reader import Reader
from explainlab.request import CompleteRequest
from explainlab.service.looks import Look, desk
from explainlab.service.paces import Paces
from explainlab.service.questions import job_key
from explainlab.service.users import User
from explainlab.text.encoding import Encoding

Basis = Literal["question", "model", "unknown"]
_BASES: Mapping[Basis, str] = {
    "question": "from {runs} of these settings on this kind of device",
    "model": "from this model's speed in {runs} of other settings on this kind of device",
    "unknown": "no earlier run on this kind of device tells it",
}
_COUNTED, _LOOKED_AT = 1_000, 100
"""Rows at the beginning of a data set that are counted, and those whose lengths stand for those of all."""


@dataclass(frozen=True)
class Plan:
    """What answering takes: ``forward`` passes, of which ``backward`` have gradients, counted per single input.

    ``exact``: neither more nor fewer; else at most so many, or ``about`` where earlier jobs told how many are needed.
    ``batch``: inputs at once; ``peak``: bytes of tensors at once beyond the model, whose weights take ``model`` bytes.
    ``work`` is what the job will expect, in tokens of passes with gradients, about ``texts`` texts. ``seconds`` are
    None where nothing tells; else ``basis`` says what ``runs`` earlier runs were about.
    """

    forward: float
    backward: float
    exact: bool
    batch: int
    peak: int
    model: int
    work: float
    texts: int
    about: bool = False
    seconds: float | None = None
    basis: Basis = "unknown"
    runs: int = 0

    @property
    def passes(self) -> float:
        """All passes, those back through the model too."""
        return self.forward + self.backward

    @property
    def words(self) -> str:
        """The plan in a line."""
        amount = "" if self.exact else "about " if self.about else "at most "
        batch = "one at a time" if self.batch == 1 else f"in batches of {self.batch:,}"
        time = "" if self.seconds is None else f", {_time(self.seconds)}"
        line = f"{amount}{self._passes} {batch}, {_size(self.peak)} beside the model{time}."
        return f"{line[0].upper()}{line[1:]}"

    @property
    def _passes(self) -> str:
        forward, backward = max(1, round(self.forward)), round(self.backward)
        passes = "1 pass" if forward == 1 else f"{forward:,} passes"
        if not backward:
            return passes
        return f"{passes} with gradients" if backward == forward else f"{passes}, {backward:,} with gradients,"

    @property
    def meaning(self) -> str:
        """What its numbers mean, and where they come from."""
        basis = _BASES[self.basis].format(runs=counted(self.runs, "earlier run"))
        alike = "" if self.texts == 1 else f" The {self.texts:,} texts are taken to be as long as the first."
        return (
            f"Passes: {round(self.forward):,} forward, {round(self.backward):,} back through the model, each of one "
            "text; what is stored already is not computed again. Memory: the most that the tensors of a batch take at "
            f"once, by their shapes, beside the model's {_size(self.model)}; the system may keep more. Time: {basis}; "
            f"loading the model is not counted.{alike}"
        )


@dataclass(frozen=True)
class Place:
    """Where passes will run: on ``device``, with so many bytes ``free`` (None: not known)."""

    device: str
    free: int | None


def look(requests: Sequence[CompleteRequest], place: Place, user: User) -> Look[tuple[Plan, ...]]:
    """The plans of ``requests`` as to passes and memory, read on a thread of its own; see :func:`planned`.

    Nothing is loaded but tokenizers. Its answer raises as :func:`outlined`.
    """
    key = ("plan", place.device, *map(job_key, requests))

    def read(reader: Reader) -> tuple[Plan, ...]:
        return tuple(plan for request in requests if (plan := outlined(request, place, reader)) is not None)

    return desk.look(Look(key, user, requests[0].data or "", read))


def outlined(request: CompleteRequest, place: Place, reader: Reader) -> Plan | None:
    """The plan of ``request`` but for its seconds.

    None for a model that would have to be fetched, for a question without one, and for as many rows as a data set has.
    Raises as :func:`explainlab.models.loading.outline`, :meth:`Classifier.encode` and
    :func:`explainlab.data.read_dataset`.
    """
    analysis = get_analysis(request.question)
    known = isinstance(analysis, TextAnalysis) or analysis.id in methods()
    unknown = place.device != "cpu" and place.free is None
    if not known or unknown or request.parameters.get("sample") == "all":
        return None
    classifier = outline(request.model, request.dtype)
    texts, encodings = (0, []) if classifier is None else _texts(classifier, request, reader)
    if classifier is None or not encodings:
        return None
    parameters, each, depth = analysis.parameters(request), texts / len(encodings), classifier.model.depth
    passes, work = PassCount(), 0.0
    for encoding in encodings:
        tokens, extent = len(encoding), Extent.of(encoding, request.unit)
        passes += analysis.passes(parameters, extent, depth) * each
        expected = extent if request.data is None else Extent(tokens, tokens)  # as the job does
        own = analysis.passes(parameters, expected, depth)
        work += expected_work(own, tokens, classifier.architecture) * each
    count = max(1, round(passes.backward or passes.forward))
    layers = get_method(analysis.id).replayed(parameters, depth) if analysis.id in methods() else ()
    batch, peak = _largest(classifier, max(map(len, encodings)), count, passes.backward > 0, layers, place)
    return Plan(
        forward=passes.forward + texts * classifier.architecture.speaks,
        backward=passes.backward,
        exact=request.data is None and _fixed(analysis, parameters) and not classifier.architecture.speaks,
        batch=batch,
        peak=peak,
        model=classifier.bytes,
        work=work,
        texts=texts,
        about=_roughly(analysis, parameters),
    )


def timed(plan: Plan, request: CompleteRequest, paces: Paces) -> Plan:
    """``plan``, of ``request``, with the seconds and the passes that earlier jobs tell.

    Jobs of the same question tell both. Jobs of other questions to the same model tell the seconds of passes whose
    number is known.
    """
    pace = paces.nearest(request)
    if pace is not None:
        known = replace(plan, seconds=pace.seconds * plan.work, basis="question", runs=pace.runs)
        if not _guessed(request):
            return known
        return replace(known, forward=plan.forward * pace.spent, backward=plan.backward * pace.spent, about=True)
    speed = paces.speed(request) if plan.exact else None
    return plan if speed is None else replace(plan, seconds=speed.seconds * plan.work, basis="model", runs=speed.runs)


def together(plans: Sequence[Plan]) -> Plan:
    """The plan of jobs one after another: of one model, or each time of another one."""
    known = [plan.seconds for plan in plans if plan.seconds is not None]
    return Plan(
        forward=sum(plan.forward for plan in plans),
        backward=sum(plan.backward for plan in plans),
        exact=all(plan.exact for plan in plans),
        about=all(plan.exact or plan.about for plan in plans),
        batch=max(plan.batch for plan in plans),
        peak=max(plan.peak for plan in plans),
        model=max(plan.model for plan in plans),
        work=sum(plan.work for plan in plans),
        texts=sum(plan.texts for plan in plans),
        seconds=sum(known) if len(known) == len(plans) else None,
        basis="model" if any(plan.basis == "model" for plan in plans) else plans[0].basis,
        runs=min(plan.runs for plan in plans),
    )


def _texts(classifier: Classifier, request: CompleteRequest, reader: Reader) -> tuple[int, list[Encoding]]:
    """How many texts ``request`` is about, and the text, or some of the data set that can be read."""
    if request.data is None:
        return 1, [classifier.encode(request.single_text, request.text_pair)]
    asked: int = request.parameters["rows"]
    most = min(asked, _COUNTED)
    columns, classes = request.columns, request.classes
    rows = read_dataset(request.data, limit=most, skip_bad=True, columns=columns, classes=classes, reader=reader).rows
    encodings = []
    for row in rows[:_LOOKED_AT]:
        with suppress(TextError):  # left out by the job too
            encodings.append(classifier.encode(row.text, row.text_pair))
    return asked if len(rows) == most else len(rows), encodings


def _fixed(analysis: Analysis, parameters: object) -> bool:
    """Whether the passes are known exactly: of a method that neither ends early nor leaves out equal inputs."""
    if analysis.id not in methods() or _roughly(analysis, parameters):
        return False
    return not (analysis.adaptive(parameters) or get_method(analysis.id).distinct)


def _guessed(request: CompleteRequest) -> bool:
    """Whether how many passes are needed is seen in what earlier jobs spent, rather than known before."""
    analysis = get_analysis(request.question)
    return analysis.id not in methods() or analysis.adaptive(analysis.parameters(request))


def _roughly(analysis: Analysis, parameters: object) -> bool:
    """Whether there may be more passes: a baseline is chosen first, or early ends of several methods are guessed."""
    chosen = getattr(parameters, "baseline", "") == "max_entropy"
    return chosen or (analysis.id not in methods() and analysis.adaptive(parameters))


def _largest(
    classifier: Classifier, length: int, count: int, gradients: bool, layers: Sequence[int], place: Place
) -> tuple[int, int]:
    """The inputs and the bytes of the largest batch of ``count`` inputs of ``length`` tokens; see :class:`Plan`.

    Those above ``layers`` are replays: of the last layer they run the rows that reach the head.
    """
    depth, device = classifier.model.depth, torch.device(place.device)
    rows = [rows_read(classifier.architecture, layer, depth, length) for layer in layers]
    tokens = max((own.stop - own.start for own in rows), default=length)
    each = max(1, count // max(1, len(layers)))
    batch = batch_size(classifier, tokens, each, gradients, on=device, free=place.free)
    return batch, _bytes(classifier, length, batch, gradients, min(layers, default=0))


@lru_cache(maxsize=256)
def _bytes(classifier: Classifier, length: int, batch: int, gradients: bool, layer: int) -> int:
    """Of a batch of passes, or of replays above ``layer`` where there is one."""
    if layer:
        return replay_bytes(classifier, length, batch, layer)
    return batch_bytes(classifier, length, batch, gradients)


def _time(seconds: float) -> str:
    return "under 1 s" if seconds < 1 else f"about {duration(seconds)}"


def _size(size: float) -> str:
    """So many bytes, in MB or GB."""
    return f"{max(1, round(size / 1e6)):,} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"
