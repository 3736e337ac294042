"""What a decoder believed after every feature of a text, drawn as a map of the probability of the class explained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from explainlab.analyses.integration.step_morph import attribution
from explainlab.figures.heatmap import Heatmap
from explainlab.figures.heatmap import heatmap as drawn_map
from explainlab.figures.palette import DEFAULT
from explainlab.request import Request

LABEL = "Intermediate predictions"
"""What the map is called where a map of scores names its method."""


def beliefs(request: Request, body: dict[str, Any], palette: str = DEFAULT) -> Heatmap:
    """The ``body`` of the study ``intermediate_predictions`` over the text of ``request``.

    A feature's colour is the probability of the target after it, full colour being certainty; its card tells the
    probability of every class there, the likeliest first. Raises ``KeyError`` for a body of another study.
    """
    target = body["target"]["label"]
    probabilities = [position["probabilities"] for position in body["positions"]]
    asked = request.model_copy(update={"question": LABEL, "output": "probability"})
    read = replace(attribution(asked, body, [one[target] for one in probabilities]), signed=False)
    drawn = drawn_map(read, palette, scale=1.0)
    tokens = [
        token.model_copy(
            update={
                "value": _percent(one[target]),
                "told": [(label, _percent(p)) for label, p in sorted(one.items(), key=lambda item: -item[1])],
            }
        )
        for token, one in zip(drawn.tokens, probabilities, strict=True)
    ]
    told = {"limit_value": "100%", "shared": False, "special_share": None}
    scale_label = f"probability of {target}, so far"
    return drawn.model_copy(update={"tokens": tokens, **told, "scale_label": scale_label})


def _percent(probability: float) -> str:
    return f"{100 * probability:.1f}%"
