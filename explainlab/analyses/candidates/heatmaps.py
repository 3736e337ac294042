"""Heatmaps of candidates: many small ones in one payload, the winners side by side, and the open one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from explainlab.analyses.candidates.result import TOP, CandidateAttribution, CandidatesText
from explainlab.analyses.records import metric_of
from explainlab.attribution.records import Attribution
from explainlab.figures.export import inert
from explainlab.figures.heatmap import Heatmap, Record, heatmap, limit, number
from explainlab.request import Request

MARK = f"no other winner ranks this among its top {TOP}"


class SmallMap(Record):
    """One candidate among many: its number in the result, its name and value in words, and its heatmap."""

    candidate: int
    name: str
    value: str
    heatmap: Heatmap


class SmallMaps(Record):
    """Small heatmaps in drawing order."""

    maps: list[SmallMap]


@dataclass(frozen=True)
class Winner:
    """The best candidate by the metrics ``keys``; ``drawn`` marks features that no other winner ranks in its top 3."""

    candidate: int
    keys: tuple[str, ...]
    drawn: Heatmap


def candidate_attribution(request: Request, body: CandidatesText, candidate: int) -> Attribution:
    """Return one candidate as an attribution that can be drawn and exported."""
    best = [metric_of(body.metrics, key).label for key, winner in body.chosen.items() if winner == candidate]
    notes = [body.candidates[candidate].name, *([f"best by {', '.join(best)}"] if best else [])]
    return replace(body.attribution(request, body.candidates[candidate].scores), notes=tuple(notes))


def open_map(request: Request, body: CandidatesText, candidate: int, palette: str) -> Heatmap:
    """Draw the heatmap of one candidate on its own scale."""
    return _named(heatmap(candidate_attribution(request, body, candidate), palette), body.candidates[candidate])


def small_maps(
    request: Request, body: CandidatesText, candidates: Sequence[int], key: str, palette: str, shared: bool
) -> SmallMaps:
    """Draw ``candidates`` with their values of the metric ``key``; ``shared``: on one scale for the text."""
    top = limit([candidate_attribution(request, body, i) for i in range(len(body.candidates))]) if shared else None
    small = [
        SmallMap(
            candidate=i,
            name=body.candidates[i].name,
            value=f"{metric_of(body.metrics, key).label} {number(body.candidates[i].metrics[key])}",
            heatmap=heatmap(candidate_attribution(request, body, i), palette, top),
        )
        for i in candidates
    ]
    return SmallMaps(maps=small)


def winner_maps(request: Request, body: CandidatesText, palette: str) -> list[Winner]:
    """Draw one heatmap for every candidate that some metric chooses, all on one scale."""
    groups: dict[int, list[str]] = {}
    for key, candidate in body.chosen.items():
        groups.setdefault(candidate, []).append(key)
    attributions = {candidate: candidate_attribution(request, body, candidate) for candidate in groups}
    tops = {candidate: _top(attribution) for candidate, attribution in attributions.items()}
    often = Counter(feature for top in tops.values() for feature in top)
    scale = limit(list(attributions.values()))
    winners = []
    for candidate, keys in groups.items():
        only = [feature for feature in tops[candidate] if len(groups) > 1 and often[feature] == 1]
        drawn = heatmap(attributions[candidate], palette, scale, dict.fromkeys(only, MARK))
        winners.append(Winner(candidate, tuple(keys), _named(drawn, body.candidates[candidate])))
    return winners


def _top(attribution: Attribution) -> list[int]:
    """Return the content features ranked highest, ties in the order of the text."""
    content = np.flatnonzero(attribution.content)
    top: list[int] = content[np.argsort(-attribution.scores[content], kind="stable")[:TOP]].tolist()
    return top


def _named(drawn: Heatmap, candidate: CandidateAttribution) -> Heatmap:
    """Give the heatmap a file name of its own."""
    return drawn.model_copy(update={"file_name": f"{drawn.file_name}-layer-{candidate.layer}-draw-{candidate.draw}"})


def scores_csv(request: Request, body: CandidatesText) -> str:
    """Return one row for each feature of every candidate, in full precision."""
    tables = []
    for i, candidate in enumerate(body.candidates):
        frame = candidate_attribution(request, body, i).to_frame()
        origin = {"candidate": i, "layer": candidate.layer, "timestep": candidate.timestep, "draw": candidate.draw}
        for place, (name, value) in enumerate(origin.items()):
            frame.insert(place, name, value)
        frame["text"] = frame["text"].map(inert)
        tables.append(frame)
    csv: str = pd.concat(tables).to_csv(index=False, lineterminator="\r\n")
    return csv
