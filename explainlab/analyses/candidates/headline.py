"""The sentence that says what choosing among the maps is worth."""

from __future__ import annotations

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.candidates.figures import told
from explainlab.figures.heatmap import number


def headline(result: AnalysisResult) -> str:
    """The best map of one text by the first metric, beside the mean of all maps."""
    body = result.body
    key, best = next(iter(body["winners"].items()))
    values = [candidate["metrics"][key] for candidate in body["candidates"]]
    reached, mean = number(values[best]), number(sum(values) / len(values))
    return f"The best of {len(values)} maps by {told(body)[key]['label']} reaches {reached}, the mean of them {mean}."
