"""A decoder's predictions after every feature of a text, as a heatmap of the explained class's probability."""

from __future__ import annotations

from explainlab.analyses.intermediate_predictions.result import IntermediatePredictionsText
from explainlab.figures.heatmap import Heatmap, heatmap
from explainlab.figures.palette import DEFAULT
from explainlab.request import Request

LABEL = "Intermediate predictions"
"""The heatmap's name, in the place of a method's."""


def beliefs(request: Request, body: IntermediatePredictionsText, palette: str = DEFAULT) -> Heatmap:
    """Draw the predictions on the way through the text of ``request``.

    A feature's colour is the probability of the target after it; full colour is certainty. Its card has the probability
    of every class, the likeliest first.
    """
    target = body.target.label
    probabilities = [position.probabilities for position in body.positions]
    drawn_request = request.model_copy(update={"question": LABEL, "output": "probability"})
    read = body.attribution(drawn_request, [by_class[target] for by_class in probabilities], signed=False)
    drawn = heatmap(read, palette, scale=1.0)
    tokens = [
        token.model_copy(
            update={
                "value": _percent(by_class[target]),
                "told": [(label, _percent(p)) for label, p in sorted(by_class.items(), key=lambda item: -item[1])],
            }
        )
        for token, by_class in zip(drawn.tokens, probabilities, strict=True)
    ]
    scale = {"limit_value": "100%", "explained": "", "shared": False, "special_share": None}
    return drawn.model_copy(update={"tokens": tokens, **scale, "scale_label": f"probability of {target}, so far"})


def _percent(probability: float) -> str:
    return f"{100 * probability:.1f}%"
