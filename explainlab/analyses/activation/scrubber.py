"""The activation scrubber's payload: one text that fills in feature by feature.

Every method has its heatmap and both its orders: the page moves, plays and switches without another request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pandas as pd

from explainlab.analyses.activation.figures import WORDS, method_attribution
from explainlab.analyses.activation.result import ActivationText, Curve, Direction, MethodScores
from explainlab.analyses.activation.verdict import text_verdict
from explainlab.figures.export import component_file, inert, render
from explainlab.figures.heatmap import FrameToken, Heatmap, Record, heatmap
from explainlab.figures.palette import DEFAULT
from explainlab.request import Request

MOST_CLASSES = 8
"""More classes than these are drawn as one, with the sum of their probabilities."""
OTHERS = "all other classes"
_DECIMALS = 5


class Reveal(Record):
    """The model's predictions as features are revealed in one order.

    ``order`` holds their indices; ``probabilities`` [n + 1, classes] are those after k = 0..n of them; ``flip`` is the
    k from which on every prediction is the target (None: not at the end).
    """

    direction: Direction
    order: list[int]
    probabilities: list[list[float]]
    auc: str
    flip: int | None


class ScrubbedMethod(Record):
    """One method: its scores, drawn into the scrubber's heatmap, and its two ``reveals``.

    ``name`` is the method with its options; the other fields are those of
    :class:`explainlab.figures.heatmap.Heatmap`.
    """

    name: str
    label: str
    signed: bool
    limit_value: str
    explained: str
    special_share: float | None
    tokens: list[FrameToken]
    reveals: list[Reveal]


class ActivationScrubber(Record):
    """All methods of one text; ``classes`` names the columns of probabilities, ``target`` is the one explained.

    ``start`` is the k to open with, ``verdict`` the answer in words, ``name`` names the files.
    """

    name: ClassVar = "activation"

    heatmap: Heatmap
    methods: list[ScrubbedMethod]
    classes: list[str]
    target: int
    start: int
    verdict: str

    def to_csv(self) -> str:
        """Return a row for each k of every order: the feature just revealed, its score, and the class probabilities."""
        rows = [
            {
                "method": inert(method.name),
                "direction": reveal.direction,
                "k": k,
                "feature": place,
                "text": None if place is None else inert(self.heatmap.tokens[place].name),
                "score": None if place is None else method.tokens[place].score,
                **{f"p({label})": p for label, p in zip(self.classes, probabilities, strict=True)},
            }
            for method in self.methods
            for reveal in method.reveals
            for k, (place, probabilities) in enumerate(zip([None, *reveal.order], reveal.probabilities, strict=True))
        ]
        text: str = pd.DataFrame(rows).astype({"feature": "Int64"}).to_csv(index=False, lineterminator="\r\n")
        return text

    def to_json(self) -> str:
        """Return the record itself."""
        return self.model_dump_json(indent=2)

    def to_html(self) -> str:
        """Return a standalone page with the scrubber; it needs no network."""
        script = "\n".join(component_file(name) for name in ("tokens.js", "activation_scrubber.js"))
        styles = ["token_heatmap", "step_morph", "steering", "activation_scrubber"]
        payload = self.model_dump(mode="json")
        return render("activation_scrubber.html.j2", styles, drawn=self, payload=payload, script=script)


def activation_scrubber(request: Request, body: ActivationText, palette: str = DEFAULT) -> ActivationScrubber:
    """Return the scrubber of the study ``activation`` on one text, from its ``body``.

    ``request`` is that of the study. Each heatmap has a scale of its own: scores of different methods have no
    common unit.
    """
    shown, columns = _classes(body)
    drawn = [heatmap(method_attribution(request, body, method), palette) for method in body.methods]
    reveals: dict[str, list[Reveal]] = {method.method: [] for method in body.methods}
    for curve in body.curves:
        reveals[curve.method].append(_reveal(curve, columns))
    methods = [_method(method, heat, reveals[method.method]) for method, heat in zip(body.methods, drawn, strict=True)]
    first = methods[0].reveals[0]
    return ActivationScrubber(
        heatmap=drawn[0],
        methods=methods,
        classes=shown,
        target=shown.index(body.target.label),
        start=first.flip or max(1, len(first.order) // 3),
        verdict=text_verdict(body, request.unit),
    )


def _classes(body: ActivationText) -> tuple[list[str], list[list[int]]]:
    """Return the drawn classes, the likeliest of the whole text first, and the study's columns that each one sums."""
    likely = body.prediction.probabilities
    labels, target = list(likely), body.target.label
    ranked = sorted(labels, key=lambda label: -likely[label])
    if len(labels) <= MOST_CLASSES:
        return ranked, [[labels.index(label)] for label in ranked]
    others = [label for label in ranked if label != target][MOST_CLASSES - 2 :]
    shown = [label for label in ranked if label not in others]
    columns = [[labels.index(label)] for label in shown]
    return [*shown, OTHERS], [*columns, [labels.index(label) for label in others]]


def _method(scores: MethodScores, drawn: Heatmap, reveals: list[Reveal]) -> ScrubbedMethod:
    return ScrubbedMethod(
        name=scores.method,
        label=scores.label,
        signed=drawn.signed,
        limit_value=drawn.limit_value,
        explained=drawn.explained,
        special_share=drawn.special_share,
        tokens=[FrameToken.of(token) for token in drawn.tokens],
        reveals=reveals,
    )


def _reveal(curve: Curve, columns: Sequence[Sequence[int]]) -> Reveal:
    values = np.array(curve.probabilities)
    probabilities = np.stack([values[:, part].sum(axis=1) for part in columns], axis=1)
    return Reveal(
        direction=curve.direction,
        order=curve.order,
        probabilities=probabilities.round(_DECIMALS).tolist(),
        auc=f"{WORDS[curve.direction]} AUC {curve.auc:.3f}",
        flip=curve.flip,
    )
