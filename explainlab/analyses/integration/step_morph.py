"""Heatmaps of one text at many step counts: the payload of the step morph.

The frames share one scale and one set of tokens; a frame holds only the values of its step count. The page moves
between them without another request.
"""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from explainlab.analyses.integration.result import IntegrationErrorText, within
from explainlab.analyses.integration.verdict import text_verdict
from explainlab.attribution.path import Rule, nodes
from explainlab.figures.chart import STYLES, percent
from explainlab.figures.export import component_file, inert, render
from explainlab.figures.heatmap import FrameToken, Heatmap, Record, heatmap, limit
from explainlab.figures.palette import DEFAULT
from explainlab.figures.svg import draw_svg
from explainlab.request import Request

_MOST_PICTURES = 3000  # tokens over all frames up to which every frame brings its picture along


class Frame(Record):
    """The heatmap at one step count; ``alphas`` are the points sampled on the path, ``svg`` a picture or nothing."""

    label: str
    error: str
    within: bool
    alphas: list[float]
    tokens: list[FrameToken]
    svg: str


class StepMorph(Record):
    """All frames of one rule, drawn into ``heatmap``; ``verdict`` is the answer in words, ``name`` names its files."""

    name: ClassVar = "steps"

    heatmap: Heatmap
    rule: str
    frames: list[Frame]
    verdict: str

    def to_csv(self) -> str:
        """Return one row for each token of every frame, in full precision."""
        rows = [
            {
                "rule": self.rule,
                "steps": frame.label,
                "sum": frame.error,
                "text": inert(token.name),
                "start": token.start,
                "end": token.end,
                "special": token.special,
                "score": now.score,
                "error": now.error,
            }
            for frame in self.frames
            for token, now in zip(self.heatmap.tokens, frame.tokens, strict=True)
        ]
        table: str = pd.DataFrame(rows).to_csv(index=False, lineterminator="\r\n")
        return table

    def to_json(self) -> str:
        """Return the record itself, without its pictures."""
        return self.model_dump_json(exclude={"frames": {"__all__": {"svg"}}}, indent=2)

    def to_html(self) -> str:
        """Return a standalone page with the slider; it needs no network."""
        script = "\n".join(component_file(name) for name in ("tokens.js", "step_morph.js"))
        styles = ["token_heatmap", "step_morph"]
        payload = self.model_dump(mode="json")
        return render("step_morph.html.j2", styles, morph=self, payload=payload, script=script)


def step_morph(
    request: Request, body: IntegrationErrorText, rule: Rule, tolerance: float, palette: str = DEFAULT
) -> StepMorph:
    """Return the frames of ``rule`` in the order of their step counts, and the adaptive frame last.

    ``tolerance`` is the error at which a step count is enough.
    """
    rows = sorted((row for row in body.rows if row.rule == rule), key=lambda row: row.steps)
    adaptive = body.adaptive
    last = adaptive.trace[-1]
    attributions = [body.integral(request, row.scores) for row in rows]
    attributions.append(body.integral(request, adaptive.scores, adaptive.errors))
    alphas = [nodes(rule, row.steps)[0].tolist() for row in rows] + [adaptive.alphas]
    labels = [f"{row.steps:,} steps" for row in rows] + [f"adaptive, {last.evaluations:,} evaluations"]
    errors = [row.approximation_error for row in rows] + [last.approximation_error]
    top = limit(attributions)
    drawn = [heatmap(attribution, palette, top) for attribution in attributions]
    pictures = len(drawn) * len(drawn[0].tokens) <= _MOST_PICTURES
    return StepMorph(
        heatmap=drawn[0],
        rule=STYLES[rule].label,
        frames=[
            Frame(
                label=label,
                error=_error_words(error),
                within=within(error, tolerance),
                alphas=[round(alpha, 4) for alpha in points],
                tokens=[FrameToken.of(token) for token in frame.tokens],
                svg=draw_svg(frame) if pictures else "",
            )
            for label, error, points, frame in zip(labels, errors, alphas, drawn, strict=True)
        ],
        verdict=text_verdict(body),
    )


def _error_words(error: float | None) -> str:
    return "no relative error: the change is too small" if error is None else f"error {percent(error)}"
