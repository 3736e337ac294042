"""The answer of the study from the known results of its models, finished or not, and its stored state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.roar.grid import Grid, GridCell
from explainlab.analyses.roar.judging import Judge
from explainlab.analyses.roar.measures import FIRST_TOKENS
from explainlab.analyses.roar.nodes import SHOWN_TEXTS, Node, SeedRun, Setting
from explainlab.analyses.roar.parameters import WHOLE, RoarParameters
from explainlab.analyses.roar.result import (
    CostFacts,
    Expected,
    MaskedBy,
    MeasureFacts,
    NodeFacts,
    RoarData,
    RoarText,
    Sparsity,
    SplitFacts,
    TokenSpan,
)
from explainlab.analyses.roar.timing import grid_seconds, known_timing
from explainlab.attribution.registry import label_of
from explainlab.models.context import Body, RunContext
from explainlab.request import digest

_STORED = "roar so far/1"  # part of the key: rises when the stored form changes
_PLACE = set(GridCell._fields)


def judged(parameters: RoarParameters, grid: Grid, nodes: Sequence[NodeFacts]) -> dict[str, Any]:
    """Return the fields of an answer that its models decide; ``nodes`` are all of the ``grid``."""
    performance = {GridCell(**node.model_dump(include=_PLACE)): node.performance for node in nodes}
    judge, statuses = Judge(grid, performance, parameters.clip), [node.status for node in nodes]
    return {
        "metric": parameters.metric,
        "seeds": grid.seeds,
        "measures": [
            MeasureFacts(name=name, label=label_of(name), random=name == RANDOM)
            for name in (*parameters.measures, RANDOM)
        ],
        "recursive": parameters.kinds,
        "ratios": grid.steps,
        "counted": grid.counted,
        "performance": judge.at(RANDOM, False, 0),
        "lower_bound": judge.at(RANDOM, False, WHOLE),
        "curves": judge.curves(),
        "faithfulness": judge.faithfulness(),
        "leakage": judge.leaks(),
        "nodes": list(nodes),
        "unfinished": statuses.count("waiting") + statuses.count("running"),
        "failed": statuses.count("failed") + statuses.count("not run"),
    }


def keep(key: str, labels: Sequence[str], nodes: Sequence[NodeFacts], context: RunContext) -> None:
    """Keep the known results of the models of the request with this ``key``."""
    ended = [node.model_dump() for node in nodes if node.status not in ("waiting", "running")]
    context.cache.put_many({_note(key): {"labels": list(labels), "nodes": ended}}, renew=True)


def recalled(key: str, base: str, parameters: RoarParameters, seed: int, context: RunContext) -> RoarData | None:
    """Return the answer of the models that have ended, without texts, lengths and costs; None where none has."""
    body: Body | None = context.recall(_note(key))
    if body is None or not body["nodes"]:
        return None
    grid = Grid(parameters, seed)
    ended = [NodeFacts.model_validate(node) for node in body["nodes"]]
    known = {GridCell(**node.model_dump(include=_PLACE)): node for node in ended}
    nodes = [known.get(place) or NodeFacts(**place._asdict(), status="waiting") for place in grid.places()]
    nothing: dict[str, Any] = {"sparsity": [], "lengths": [], "costs": [], "texts": [], "short": 0}
    return RoarData(base=base, labels=body["labels"], **judged(parameters, grid, nodes), **nothing)


def _note(key: str) -> str:
    return digest([_STORED, key])


class Answer:
    """The answer of a grid as far as it is known, from the ``runs`` of its seeds."""

    def __init__(self, setting: Setting, parameters: RoarParameters, runs: Sequence[SeedRun]) -> None:
        self._setting, self._parameters, self._runs = setting, parameters, runs
        self._masked: dict[GridCell, list[np.ndarray]] = {}
        self._expected = _expected(setting)
        self._body: RoarData | None = None

    def look(self) -> None:
        """Refresh the answer, with the masks of the shown texts; :meth:`body` reads nothing."""
        run, self._body = self._runs[0], None
        for place, node in run.nodes.items():
            if node.status == "done" and place not in self._masked:
                masks = run.masks(place)["test"]
                self._masked[place] = [masks[row] for row in range(min(SHOWN_TEXTS, len(masks)))]

    def body(self) -> RoarData:
        """Return the record of the answer at the last look."""
        body = self._body = self._body or self._made()
        return body

    def nodes(self) -> list[NodeFacts]:
        """Return the known facts of every model."""
        return [self._node(run, node) for run in self._runs for node in run.seen()]

    def _made(self) -> RoarData:
        setting, grid = self._setting, self._setting.grid
        most, tests = max(grid.between), setting.data.splits["test"].lengths
        return RoarData(
            base=setting.base,
            labels=list(setting.data.labels),
            **judged(self._parameters, grid, self.nodes()),
            sparsity=self._sparsity(),
            lengths=[
                SplitFacts(
                    split=name,
                    texts=len(split),
                    mean=float(np.mean(split.lengths)),
                    deviation=float(np.std(split.lengths)),
                )
                for name, split in setting.data.splits.items()
            ],
            costs=self._costs(),
            short=sum(length < most for length in tests) if grid.counted else 0,
            texts=self._texts(),
            expected=self._expected,
        )

    def _node(self, run: SeedRun, node: Node) -> NodeFacts:
        asked = [seconds for (place, _), seconds in list(run.seconds.items()) if place == node.place]
        return NodeFacts(
            **node.place._asdict(),
            status=node.status,
            seconds=node.seconds,
            importance=sum(asked) if asked else None,
            epochs=node.epochs,
            best_epoch=node.best_epoch,
            performance=node.performance,
            reason=node.reason,
            weights=str(run.kept(node.place) or "") if node.status == "done" else "",
        )

    def _sparsity(self) -> list[Sparsity]:
        """Return each measure's concentration on the models of whole texts, as the mean over the seeds known."""
        found = []
        for name in self._parameters.measures:
            places = [(run, (GridCell(seed, RANDOM, False, 0), name)) for run, seed in self._seeds()]
            known = [shares for run, at in places if (shares := run.shares.get(at)) is not None]
            if known:
                mean = np.mean(known, axis=0).tolist()
                found.append(Sparsity(measure=name, tokens=mean[:FIRST_TOKENS], percents=mean[FIRST_TOKENS:]))
        return found

    def _seeds(self) -> list[tuple[SeedRun, int]]:
        return list(zip(self._runs, self._setting.grid.seeds, strict=True))

    def _costs(self) -> list[CostFacts]:
        """Return the seconds of each curve's own models and of its measure; shared models count as random's."""
        costs = []
        for measure, recursive in ((RANDOM, False), *((n, r) for r, n in self._setting.grid.curves)):
            training = importance = 0.0
            for run in self._runs:
                own = [
                    node
                    for node in run.nodes.values()
                    if (node.place.measure, node.place.recursive) == (measure, recursive)
                ]
                training += sum(node.seconds or 0.0 for node in own)
                sources = {(self._setting.grid.before(node.place), measure) for node in own}
                importance += sum(seconds for at, seconds in list(run.seconds.items()) if at in sources)
            costs.append(CostFacts(measure=measure, recursive=recursive, training=training, importance=importance))
        return costs

    # Texts ----------------------------------------------------------------------------------------------------------

    def _texts(self) -> list[RoarText]:
        """Return the first test texts, as the first seed masks and reads them."""
        split, gold, run = self._setting.data.splits["test"], self._setting.data.gold["test"], self._runs[0]
        texts = []
        for place in range(min(SHOWN_TEXTS, len(split))):
            read = split.read(place)
            spans = read.encoding.offsets[read.candidates].tolist()
            texts.append(
                RoarText(
                    row=split.examples.row(place),
                    text=read.encoding.text,
                    text_pair=read.encoding.text_pair,
                    label=int(gold[place]),
                    tokens=[TokenSpan(start=start, end=end) for start, end in spans],
                    masked=[self._masked_by(run, curve, place) for curve in self._curves()],
                )
            )
        return texts

    def _curves(self) -> list[tuple[str, bool]]:
        return [(RANDOM, False), *((name, recursive) for recursive, name in self._setting.grid.curves)]

    def _masked_by(self, run: SeedRun, curve: tuple[str, bool], row: int) -> MaskedBy:
        measure, recursive = curve
        places = self._setting.grid.curve(self._setting.grid.seeds[0], measure, recursive)
        nodes = [run.nodes[place] for place in places]
        at: list[int | None] = [None] * self._setting.data.splits["test"].lengths[row]
        for number, place in reversed(list(enumerate(places))):
            if place in self._masked:
                hidden = self._masked[place][row]
                at = [number if own else before for own, before in zip(hidden, at, strict=True)]
        return MaskedBy(
            measure=measure,
            recursive=recursive,
            at=at,
            predicted=[node.predicted[row] if node.predicted else None for node in nodes],
            probability=[node.probability[row] if node.probability else None for node in nodes],
        )


def _expected(setting: Setting) -> Expected | None:
    """Return the expected seconds of the grid; None without an earlier estimate."""
    timed = known_timing(setting)
    if timed is None:
        return None
    training, measures = grid_seconds(setting.grid, timed, setting.data.settings.epochs)
    return Expected(training=training, importance=sum(measures.values()))
