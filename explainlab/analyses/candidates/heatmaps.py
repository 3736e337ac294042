"""Maps of candidates: many small ones on one payload, the winners beside each other, and the one that is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from explainlab.analyses.candidates.figures import candidate_name, told
from explainlab.analyses.integration.step_morph import attribution
from explainlab.attribution.records import Attribution
from explainlab.figures.export import inert
from explainlab.figures.heatmap import Heatmap, Record, heatmap, limit, number
from explainlab.request import Request

TOP = 3
"""The paper marks what only one winner ranks so high (Barkan et al. 2024, Table 1)."""
MARK = f"does not rank this among its top {TOP}"

Body = dict[str, Any]


class SmallMap(Record):
    """One candidate among many: its number in the study, its name and value in words, and the drawing."""

    candidate: int
    name: str
    value: str
    heatmap: Heatmap


class SmallMaps(Record):
    """Small maps in the order in which they are drawn; ``key`` changes with text and candidates."""

    key: str
    maps: list[SmallMap]


@dataclass(frozen=True)
class Winner:
    """The best candidate by the metrics ``keys``; ``drawn`` marks what no other winner ranks in its top 3."""

    candidate: int
    keys: tuple[str, ...]
    drawn: Heatmap


def candidate_map(request: Request, body: Body, candidate: int) -> Attribution:
    """The scores of one candidate as a record that can be drawn and exported."""
    found = attribution(request, body, body["candidates"][candidate]["scores"])
    best = [told(body)[key]["label"] for key, winner in body["winners"].items() if winner == candidate]
    notes = [candidate_name(body, candidate), *([f"best by {', '.join(best)}"] if best else [])]
    return replace(found, notes=tuple(notes))


def open_map(request: Request, body: Body, candidate: int, palette: str) -> Heatmap:
    """The drawing of one candidate on its own scale."""
    return _named(heatmap(candidate_map(request, body, candidate), palette), body, candidate)


def small_maps(
    request: Request, body: Body, candidates: Sequence[int], key: str, palette: str, shared: bool
) -> SmallMaps:
    """``candidates`` with their values of the metric ``key``; with ``shared``, one scale for all of the study's."""
    every = range(len(body["candidates"]))
    top = limit([candidate_map(request, body, i) for i in every]) if shared else None
    maps = [
        SmallMap(
            candidate=i,
            name=candidate_name(body, i),
            value=f"{told(body)[key]['label']} {number(body['candidates'][i]['metrics'][key])}",
            heatmap=heatmap(candidate_map(request, body, i), palette, top),
        )
        for i in candidates
    ]
    return SmallMaps(key=maps[0].heatmap.key if maps else "", maps=maps)


def winner_maps(request: Request, body: Body, palette: str) -> list[Winner]:
    """One map for every candidate that wins by some metric, all on one scale."""
    groups: dict[int, list[str]] = {}
    for key, candidate in body["winners"].items():
        groups.setdefault(candidate, []).append(key)
    maps = {candidate: candidate_map(request, body, candidate) for candidate in groups}
    tops = {candidate: _top(found) for candidate, found in maps.items()}
    often = Counter(feature for top in tops.values() for feature in top)
    scale = limit(list(maps.values()))
    return [
        Winner(candidate, tuple(keys), _named(_marked(maps, tops, often, candidate, palette, scale), body, candidate))
        for candidate, keys in groups.items()
    ]


def _marked(
    maps: dict[int, Attribution], tops: dict[int, list[int]], often: Counter, candidate: int, palette: str, scale: float
) -> Heatmap:
    only = [feature for feature in tops[candidate] if len(maps) > 1 and often[feature] == 1]
    return heatmap(maps[candidate], palette, scale, only, MARK)


def _top(found: Attribution) -> list[int]:
    """The content features ranked highest, ties in the order of the text."""
    content = np.array([i for i, feature in enumerate(found.features) if not feature.special], dtype=int)
    return content[np.argsort(-found.scores[content], kind="stable")[:TOP]].tolist()


def _named(drawn: Heatmap, body: Body, candidate: int) -> Heatmap:
    """With a file name of its own."""
    one = body["candidates"][candidate]
    return drawn.model_copy(update={"file_name": f"{drawn.file_name}-layer-{one['layer']}-draw-{one['draw']}"})


def scores_csv(request: Request, body: Body) -> str:
    """One row a feature of every candidate, in full precision."""
    tables = []
    for candidate, one in enumerate(body["candidates"]):
        frame = candidate_map(request, body, candidate).to_frame()
        for place, name in enumerate(("layer", "timestep", "draw")):
            frame.insert(place, name, one[name])
        frame.insert(0, "candidate", candidate)
        frame["text"] = frame["text"].map(inert)
        tables.append(frame)
    return pd.concat(tables).to_csv(index=False, lineterminator="\r\n")
