"""The models of one seed: their masks, their training and their predictions."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from explainlab.analyses.base import method_passes
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.roar.data import GridData
from explainlab.analyses.roar.grid import Grid, GridCell
from explainlab.analyses.roar.measures import Measure, concentration, scores_of
from explainlab.analyses.roar.models import Models
from explainlab.analyses.roar.parameters import WHOLE
from explainlab.analyses.roar.result import NodeStatus
from explainlab.analyses.roar.texts import (
    SPLITS,
    TOGETHER,
    Masks,
    Split,
    SplitName,
    count,
    most_important,
    packed,
    unpacked,
)
from explainlab.analyses.training.analysis import alone, is_held
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.method import USUAL_LAYERS, USUAL_TEXT
from explainlab.attribution.registry import get_method, member_versions
from explainlab.errors import ModelError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import FORWARD, SHARE, Body, RunContext
from explainlab.models.reading import logits_of
from explainlab.reader import Reader
from explainlab.request import digest
from explainlab.training import score, training_digest

SHARES = 20
"""Numbers of :func:`explainlab.analyses.roar.measures.concentration`."""


class _Part(NamedTuple):
    """A part of the texts of a split, whose importance is computed together and kept under ``name``.

    ``tokens`` are those of their encodings.
    """

    split: SplitName
    rows: list[int]
    name: str
    tokens: int


@dataclass(frozen=True)
class Selected:
    """The masks at each ratio, by split; ``shares`` float64 [20], the mean concentration of the test texts.

    ``shares`` is None where no test text has any importance. ``seconds`` is the time of the measure.
    """

    masks: Mapping[int, Mapping[SplitName, Masks]]
    shares: np.ndarray | None
    seconds: float


class Selection:
    """The tokens that ``measure`` has masked at ``ratios``, on a model whose texts are masked already.

    ``key`` is the digest of all that decides the model and the measure's scores; a random measure draws from ``seed``.
    """

    def __init__(
        self,
        data: GridData,
        measure: Measure,
        key: str,
        ratios: Sequence[int],
        counted: bool,
        seed: int,
        context: RunContext,
    ) -> None:
        self._data, self._measure, self._ratios, self._counted = data, measure, ratios, counted
        self._seed, self._context = seed, context
        self._parts = [part for name, split in data.splits.items() for part in _parts(name, split, key)]

    def recalled(self) -> Selected | None:
        """Return the selection, if all of it is known."""
        known = self._known()
        return self._joined(known) if len(known) == len(self._keys(self._parts)) else None

    def computed(self, classifier: Classifier, masks: Mapping[SplitName, Masks], phase: str) -> Selected:
        """Return the selection; its unknown parts are computed on the model, whose texts have these ``masks``.

        Raises as :func:`explainlab.attribution.explain.outcomes_of`.
        """
        known = self._known()
        batcher, total = Batcher(classifier, self._context), sum(part.tokens for part in self._parts)
        after = 0
        for part in self._parts:
            before, after = after, after + part.tokens
            if all(key in known for key in self._keys([part])):
                continue
            with batcher.span(before, after, total):
                notes = self._of_part(part, batcher, masks[part.split])
            self._context.cache.put_many(notes)
            self._context.progress.report(round(SHARE * after / total), SHARE, phase)
            known |= notes
        return self._joined(known)

    def _keys(self, parts: Sequence[_Part]) -> list[str]:
        """Return the keys of notes: one of each part and ratio, and one of the rest of each part."""
        kinds: list[int | str] = [*self._ratios, ""]
        return [self._key(part, what) for part in parts for what in kinds]

    def _key(self, part: _Part, what: int | str) -> str:
        return digest([part.name, self._counted, what])

    def _known(self) -> dict[str, Body]:
        return self._context.cache.get_many(self._keys(self._parts))

    def _of_part(self, part: _Part, batcher: Batcher, masks: Masks) -> dict[str, Body]:
        since, gold = batcher.mark().seconds, self._data.gold[part.split].tolist()
        split = self._data.splits[part.split]
        scores = scores_of(batcher, split, part.rows, gold, masks, self._measure, self._seed)
        notes: dict[str, Body] = {}
        for ratio in self._ratios:
            chosen = [
                most_important(own, masks[row], count(len(own), ratio, self._counted))
                for row, own in zip(part.rows, scores, strict=True)
            ]
            notes[self._key(part, ratio)] = {"masked": packed(np.concatenate(chosen))}
        shares = concentration(scores if part.split == "test" else [])
        sums = shares.sum(axis=0).tolist() if len(shares) else None
        seconds = batcher.mark().seconds - since
        notes[self._key(part, "")] = {"shares": sums, "texts": len(shares), "seconds": seconds}
        return notes

    def _joined(self, notes: Mapping[str, Body]) -> Selected:
        facts: list[dict[str, Any]] = [notes[self._key(part, "")] for part in self._parts]
        texts = sum(own["texts"] for own in facts)
        sums = [np.array(own["shares"]) for own in facts if own["shares"] is not None]
        return Selected(
            masks={ratio: self._masks(notes, ratio) for ratio in self._ratios},
            shares=np.sum(sums, axis=0) / texts if texts else None,
            seconds=sum(own["seconds"] for own in facts),
        )

    def _masks(self, notes: Mapping[str, Body], ratio: int) -> dict[SplitName, Masks]:
        joined: dict[SplitName, Masks] = {}
        for name in SPLITS:
            joined[name] = Masks.placed(self._data.splits[name].lengths, self._bits(notes, ratio, name))
        return joined

    def _bits(self, notes: Mapping[str, Body], ratio: int, name: SplitName) -> Iterator[tuple[list[int], np.ndarray]]:
        lengths = np.array(self._data.splits[name].lengths)
        for part in self._parts:
            if part.split == name:
                yield part.rows, unpacked(notes[self._key(part, ratio)]["masked"], lengths[part.rows].sum())


def _parts(name: SplitName, split: Split, key: str) -> Iterator[_Part]:
    """Yield the texts of a split, those of similar length together, the longest first: so batches are even."""
    tokens = np.array(split.tokens)
    order = np.argsort(-tokens, kind="stable")
    for start in range(0, len(split), TOGETHER):
        rows = order[start : start + TOGETHER].tolist()
        yield _Part(name, rows, digest([key, name, "by length", start]), int(tokens[rows].sum()))


SHOWN_TEXTS = 100
"""The test texts that the answer shows."""
_MOST_NAME = 100
"""The most characters of a measure's name in the name of a directory."""
_STORED = "roar/1"  # part of the keys: rises when the stored form of a node changes


@dataclass(frozen=True)
class Node:
    """The known facts of a place: its ``status``, and once it is done its ``performance`` on the test texts.

    ``predicted`` and ``probability`` (that of the own label) are those of the texts that the answer shows. ``seconds``,
    ``epochs`` and ``best_epoch`` are of its training, with the test. ``reason``: why it failed or was not run.
    """

    place: GridCell
    status: NodeStatus = "waiting"
    performance: float | None = None
    predicted: Sequence[int] = ()
    probability: Sequence[float] = ()
    seconds: float | None = None
    epochs: int | None = None
    best_epoch: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Setting:
    """The common inputs of all seeds of a grid; ``weights`` is the folder that keeps all models (None: nowhere)."""

    base: str
    data: GridData
    grid: Grid
    measures: Mapping[str, Measure]
    folder: Path
    weights: Path | None
    context: RunContext
    device: str

    @cached_property
    def facts(self) -> dict[str, list[Any]]:
        """The facts that decide each measure's scores: method, parameters, data, versions, signs."""
        return {name: _facts(measure, self.context.reader) for name, measure in self.measures.items()}


class SeedRun:
    """The nodes of one seed: recalled, or run lane by lane (:meth:`Grid.lanes`); other workers may run some lanes.

    ``nodes`` are known by their places; ``seconds`` and ``shares`` are by place and measure: the time of the measure on
    the model there, and its mean concentration. Finished nodes are kept, and so are finished parts of a selection.
    Weights stay while a measure still needs them; those of whole texts stay for later measures. Where the setting has
    a folder for weights, it keeps copies of all.
    """

    def __init__(self, setting: Setting, seed: int) -> None:
        self._setting, self._seed, self._context = setting, seed, setting.context
        data, grid = setting.data, setting.grid
        settings = data.settings.model_copy(update={"seed": seed})
        examples = {name: split.examples for name, split in data.splits.items()}
        trained = training_digest(examples["train"], setting.base, settings, setting.device, examples["validation"])
        self._identity = digest([_STORED, trained, examples["test"].digest, setting.device])
        self._folder = setting.folder / self._identity
        self._models = Models(
            setting.base, settings, data.splits, data.token, self._folder, setting.context, setting.device
        )
        self.lanes = grid.lanes(seed)
        self.nodes = {place: Node(place) for place in grid.of_seed(seed)}
        self.seconds: dict[tuple[GridCell, str], float] = {}
        self.shares: dict[tuple[GridCell, str], np.ndarray | None] = {}
        self._train_work = float(sum(data.splits["train"].tokens) * settings.epochs)
        self._test_work = FORWARD * sum(data.splits["test"].tokens)

    @property
    def work(self) -> float:
        """The work of the unknown nodes, as :class:`~explainlab.models.context.Receivers` count it."""
        return sum(self._work(place) for place, node in self.nodes.items() if node.status == "waiting")

    def recall(self) -> None:
        """Read the known nodes from the context's memory."""
        missing = [place for place, node in self.nodes.items() if node.status != "done"]
        bodies = self._context.cache.get_many({self._key(place) for place in missing})
        for place in missing:
            self._read(place, bodies.get(self._key(place)))
        for place in self.nodes:
            source = self._setting.grid.before(place)
            if self.nodes[place].status == "done" and source and (source, place.measure) not in self.seconds:
                self._note(source, place.measure, self._selection(source, place.measure).recalled())

    def waiting(self, lane: int) -> list[GridCell]:
        """Return the places of a lane whose nodes are not known."""
        return [place for place in self.lanes[lane] if self.nodes[place].status == "waiting"]

    def seen(self) -> list[Node]:
        """Return all nodes as they are now; the next of a lane that another worker of this machine has is running."""
        begun = set()
        if self._context.shards.workers > 1:
            idle = [lane for lane in self.lanes if all(self.nodes[place].status != "running" for place in lane)]
            waiting = [place for lane in idle for place in lane if self.nodes[place].status == "waiting"]
            firsts = {self._lock(place): place for place in reversed(waiting)}
            begun = {place for lock, place in firsts.items() if is_held(lock)}
        return [Node(place, "running") if place in begun else node for place, node in self.nodes.items()]

    def run(self, lane: int) -> Iterator[None]:
        """Run the nodes of a lane that wait; yields before each, while it is running, and after the last."""
        waiting = self.waiting(lane)
        if not waiting:
            return
        if waiting[0].measured and self.waiting(0):  # others may have it
            yield from self.run(0)
        with self._alone(waiting[0]):
            for place in waiting:
                self.nodes[place] = Node(place, "running")
                yield
                self._context.progress.part(self._work(place))
                self._finish(place)
        yield

    def whole(self) -> Classifier:
        """Return the model of whole texts, trained once more where its weights are gone.

        Raises as :func:`explainlab.training.train`.
        """
        place = GridCell(self._seed, RANDOM, False, 0)
        return self._classifier(place, self.masks(place))

    def kept(self, place: GridCell) -> Path | None:
        """Return the directory for the weights of ``place``, existing or not; None without a folder for weights."""
        if self._setting.weights is None:
            return None
        path, key = "-".join(str(ratio) for ratio in self._setting.grid.path(place)), self._key(place)
        measure = re.sub(r"[^\w.=-]+", "-", place.measure)[:_MOST_NAME]
        return self._setting.weights / f"seed-{place.seed}-{measure}-{path}-{key[:8]}"

    # A node ---------------------------------------------------------------------------------------------------------

    def _key(self, place: GridCell) -> str:
        """Return the key of a place; places with the same masks share one key, recursive or not."""
        facts = self._setting.facts[place.measure] if place.measured else RANDOM
        return digest([self._identity, facts, self._setting.grid.counted, self._setting.grid.path(place)])

    def _alone(self, place: GridCell) -> AbstractContextManager[None]:
        """Keep other jobs from making the model of ``place``, or another of its measure."""
        return alone(self._lock(place), self._context)

    def _lock(self, place: GridCell) -> Path:
        """Return the lock file: one for a measure's lane, one for each model of random words."""
        name = digest(self._setting.facts[place.measure]) if place.measured else self._key(place)
        return self._folder / "locks" / name

    def _recall(self, place: GridCell) -> None:
        self._read(place, self._context.recall(self._key(place)))

    def _read(self, place: GridCell, body: Body | None) -> None:
        """Take the ``body`` that is kept of a node, unless its weights, which are to be kept, are missing."""
        kept = self.kept(place)
        if body is not None and (kept is None or kept.is_dir()):
            data, predicted = self._setting.data, body["predicted"]
            performance = score(data.settings.metric, torch.tensor(predicted), data.gold["test"])
            shown = {name: body[name][:SHOWN_TEXTS] for name in ("predicted", "probability")}
            facts = {name: body[name] for name in ("seconds", "epochs", "best_epoch")}
            self.nodes[place] = Node(place, "done", performance, **shown, **facts)

    def _finish(self, place: GridCell) -> None:
        """Run the node of ``place``, or say why it cannot be."""
        self._recall(place)
        if self.nodes[place].status == "done":  # another place with the same masks
            return
        before = self._setting.grid.before(place)
        if before is not None and self.nodes[before].status != "done":
            reason = f"the model with {self._amount(before)} masked is missing"
            self.nodes[place] = Node(place, "not run", reason=reason)
            return
        try:
            self._run(place, self.masks(place))
            self._recall(place)
            if before is not None and before.measured:  # no other measure needs it
                self._models.forget(self._key(before))
        except ModelError as error:
            self._models.forget(self._key(place))
            self.nodes[place] = Node(place, "failed", reason=error.problem)

    def _run(self, place: GridCell, masks: Mapping[SplitName, Masks]) -> None:
        """Train and test the model of ``place``; one that is known is there for its weights alone."""
        key, kept = self._key(place), self.kept(place)
        if self._context.recall(key) is None:
            self._learn(place, masks)
        if kept is not None and not kept.is_dir():
            self._again(place, masks)
            self._models.copy(key, kept)
        if place.ratio and not (place.measured and self._setting.grid.after(place, place.measure)):
            self._models.forget(key)

    def _learn(self, place: GridCell, masks: Mapping[SplitName, Masks]) -> None:
        key, phase = self._key(place), self._phase(place)
        fitted = self._models.train(key, masks, self._train_work, phase)
        since, test = time.perf_counter(), self._setting.data.splits["test"]
        batcher = Batcher(self._models.classifier(key), self._context)
        logits = logits_of(batcher, test.masked(range(len(test)), masks["test"]), f"{phase}: test", 0, len(test))
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        own = odds[np.arange(len(test)), self._setting.data.gold["test"].numpy()] / odds.sum(axis=1)
        body = {
            "predicted": logits.argmax(axis=1).tolist(),
            "probability": own.round(4).tolist(),
            "seconds": fitted.seconds + time.perf_counter() - since - batcher.paused,
            "epochs": fitted.epochs,
            "best_epoch": fitted.best_epoch,
        }
        self._context.keep(key, body)
        self._models.end(key)

    def _work(self, place: GridCell) -> float:
        """Return the work of a node, and of the measure that selects its mask."""
        source, work = self._setting.grid.before(place), self._train_work + self._test_work
        if source is None or place != self._setting.grid.after(source, place.measure)[0]:
            return work
        request = self._setting.measures[place.measure].request
        tokens = sum(sum(split.tokens) for split in self._setting.data.splits.values())
        return work + tokens * method_passes(request, USUAL_TEXT, USUAL_LAYERS).work

    def _amount(self, place: GridCell) -> str:
        counted = self._setting.grid.counted and 0 < place.ratio < WHOLE
        return f"{place.ratio} tokens" if counted else f"{place.ratio}%"

    def _phase(self, place: GridCell) -> str:
        return f"seed {place.seed}, {place.measure}, {self._amount(place)} masked"

    # Masks ----------------------------------------------------------------------------------------------------------

    def masks(self, place: GridCell) -> Mapping[SplitName, Masks]:
        """Return the masks at ``place`` for each part of the data; a measure may have to run first."""
        splits = self._setting.data.splits
        if place.ratio in (0, WHOLE):
            make = Masks.all if place.ratio else Masks.none
            return {name: make(splits[name].lengths) for name in SPLITS}
        source = self._setting.grid.before(place)
        if source is None:
            return self._drawn(place.ratio)
        return self._selected(source, place.measure).masks[place.ratio]

    def _drawn(self, ratio: int) -> dict[SplitName, Masks]:
        """Draw once a seed, uniformly over [0, 1), for the tokens of all texts: masks of rising ratios are nested."""
        random, masks = np.random.RandomState(self._seed), {}
        for name in SPLITS:
            lengths = self._setting.data.splits[name].lengths
            drawn = (random.random_sample(length) for length in lengths)
            masks[name] = Masks.joined(lengths, (self._highest(own, ratio) for own in drawn))
        return masks

    def _highest(self, scores: np.ndarray, ratio: int) -> np.ndarray:
        nothing = np.zeros(len(scores), dtype=bool)
        return most_important(scores, nothing, count(len(scores), ratio, self._setting.grid.counted))

    def _selected(self, source: GridCell, name: str) -> Selected:
        """Return the selection of the measure ``name`` on the model of ``source``."""
        selection = self._selection(source, name)
        selected = selection.recalled()
        if selected is None:
            masks = self.masks(source)
            selected = selection.computed(self._classifier(source, masks), masks, f"{self._phase(source)}: {name}")
        self._note(source, name, selected)
        return selected

    def _classifier(self, place: GridCell, masks: Mapping[SplitName, Masks]) -> Classifier:
        """Return the model of ``place``, whose texts have these ``masks``; retrain it where its weights are gone.

        A measure's own models are loaded in its lane, those of whole texts in any.
        """
        with nullcontext() if place.measured else self._alone(place):
            self._again(place, masks)
            return self._models.classifier(self._key(place))

    def _again(self, place: GridCell, masks: Mapping[SplitName, Masks]) -> None:
        """Train a finished model once more if its weights are gone."""
        key = self._key(place)
        if not self._models.there(key):
            self._models.train(key, masks, 0.0, f"{self._phase(place)}, once more")
            self._models.end(key)

    def _selection(self, source: GridCell, name: str) -> Selection:
        setting = self._setting
        ratios = list(dict.fromkeys(place.ratio for place in setting.grid.after(source, name)))
        key = digest([self._key(source), setting.facts[name]])
        measure = setting.measures[name]
        return Selection(setting.data, measure, key, ratios, setting.grid.counted, self._seed, self._context)

    def _note(self, source: GridCell, name: str, selected: Selected | None) -> None:
        if selected is not None:
            self.seconds[source, name] = selected.seconds
            self.shares[source, name] = selected.shares


def _facts(measure: Measure, reader: Reader) -> list[Any]:
    parameters = measure.request.parameters.model_dump(mode="json")
    versions = [get_method(measure.request.method).version, *member_versions(measure.request, reader)]
    weighted = ["alpha-weighted"] if measure.alpha_weighted else []
    return [measure.request.method, parameters, data_digest(parameters, reader), versions, measure.absolute, *weighted]
