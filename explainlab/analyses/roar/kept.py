"""The stored state of a grid after every model: enough to show a stopped grid without its data and its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.roar.grid import Grid, GridCell
from explainlab.analyses.roar.judging import Judge
from explainlab.analyses.roar.parameters import WHOLE, RoarParameters
from explainlab.analyses.roar.result import MeasureFacts, NodeFacts, RoarData
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
