"""The sentence that says whose order tells soonest what the model will say."""

from __future__ import annotations

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.parameters import RANDOM


def headline(result: AnalysisResult) -> str:
    """The method with the largest area for one text, beside a random order."""
    body = result.body
    labels = {method["method"]: method["label"] for method in body["methods"]}
    areas = {curve["method"]: curve["auc"] for curve in body["curves"] if curve["direction"] == "activation"}
    best = max(areas, key=lambda method: areas[method])
    told = f"The order of {labels[best]} tells “{body['target']['label']}” soonest, with an area of {areas[best]:.3f}"
    return f"{told}." if best == RANDOM or RANDOM not in areas else f"{told}; a random order has {areas[RANDOM]:.3f}."
