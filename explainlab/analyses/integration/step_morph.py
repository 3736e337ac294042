"""Heatmaps of one text at many step counts: the payload of the step morph.

The frames share one scale and one set of tokens; a frame holds only what changes with the step count. The page moves
between them without another request.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pandas as pd

from explainlab.analyses.integration.result import IntegrationErrorText
from explainlab.analyses.integration.verdict import text_verdict
from explainlab.attribution.quadrature import Rule, nodes
from explainlab.attribution.records import Attribution
from explainlab.figures.chart import STYLES, percent
from explainlab.figures.export import component_file, inert, render
from explainlab.figures.heatmap import Heatmap, Record, heatmap, limit, number
from explainlab.figures.palette import DEFAULT
from explainlab.figures.svg import draw_svg
from explainlab.request import Request

_PAGE = Path(__file__).parent / "page"
_MOST_PICTURES = 3000  # tokens over all frames up to which every frame brings its picture along


class FrameToken(Record):
    """What of a :class:`explainlab.figures.heatmap.Token` changes from frame to frame."""

    score: float
    error: float | None
    value: str
    error_value: str | None
    share: float | None
    rank: int | None
    strength: float
    clipped: bool = False


class Frame(Record):
    """The heatmap at one step count; ``alphas`` are the points sampled on the path, ``svg`` a picture or nothing."""

    label: str
    error: str
    within: bool
    alphas: list[float]
    tokens: list[FrameToken]
    svg: str


class StepMorph(Record):
    """All frames of one rule, drawn into ``heatmap``; ``start`` is the frame to open with, ``name`` names its files.

    ``verdict`` is the answer in words.
    """

    name: ClassVar = "steps"

    heatmap: Heatmap
    rule: str
    frames: list[Frame]
    start: int
    verdict: str

    def to_csv(self) -> str:
        """One row a token of every frame, in full precision."""
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
        """The record itself, without its pictures."""
        return self.model_dump_json(exclude={"frames": {"__all__": {"svg"}}}, indent=2)

    def to_html(self) -> str:
        """A standalone page with the slider; it needs no network."""
        script = "\n".join(component_file(name, _PAGE) for name in ("tokens.js", "step_morph.js"))
        styles = ["token_heatmap", "step_morph"]
        payload = self.model_dump(mode="json")
        return render("step_morph.html.j2", styles, _PAGE, morph=self, payload=payload, script=script)


def step_morph(
    request: Request, body: IntegrationErrorText, rule: Rule, palette: str = DEFAULT, tolerance: float = 0.05
) -> StepMorph:
    """The frames of ``rule`` in the order of their step counts, and the adaptive frame last."""
    rows = sorted((row for row in body.rows if row.rule == rule), key=lambda row: row.steps)
    adaptive = body.adaptive
    last = adaptive.trace[-1]
    attributions = [body.integral(request, row.scores) for row in rows]
    attributions.append(body.integral(request, adaptive.scores, adaptive.errors))
    alphas = [nodes(rule, row.steps)[0].tolist() for row in rows] + [adaptive.alphas]
    labels = [f"{row.steps:,} steps" for row in rows] + [f"adaptive, {last.evaluations:,} evaluations"]
    errors = [row.approximation_error for row in rows] + [last.approximation_error]
    top = limit(attributions)
    drawn = heatmap(attributions[0], palette, top)
    pictures = len(attributions) * len(drawn.tokens) <= _MOST_PICTURES
    return StepMorph(
        heatmap=drawn,
        rule=STYLES[rule].label,
        frames=[
            Frame(
                label=label,
                error=_error_words(error),
                within=error is not None and error <= tolerance + 1e-9,
                alphas=[round(alpha, 4) for alpha in points],
                tokens=_frame_tokens(result, top),
                svg=draw_svg(heatmap(result, palette, top)) if pictures else "",
            )
            for label, error, points, result in zip(labels, errors, alphas, attributions, strict=True)
        ],
        start=0,
        verdict=text_verdict(body),
    )


def _error_words(error: float | None) -> str:
    return "no relative error: the change is too small" if error is None else f"error {percent(error)}"


def _frame_tokens(result: Attribution, top: float) -> list[FrameToken]:
    frame = result.to_frame()
    errors = result.errors if result.errors is not None else [None] * len(frame)
    return [
        FrameToken(
            score=float(score),
            error=None if error is None else float(error),
            value=number(float(score)),
            error_value=None if error is None else number(abs(float(error)), signed=False),
            share=None if special else float(share),
            rank=None if special else int(rank),
            strength=min(1.0, abs(float(score)) / top) if top else 0.0,
            clipped=bool(abs(score) > top),
        )
        for score, error, special, share, rank in zip(
            result.scores, errors, frame["special"], frame["share"], frame["rank"], strict=True
        )
    ]
