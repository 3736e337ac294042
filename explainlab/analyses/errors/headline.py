"""The sentence that says how often the model is wrong, and what it takes for what."""

from __future__ import annotations

from explainlab.analyses.base import AnalysisResult


def headline(result: AnalysisResult) -> str:
    """The accuracy on a data set, and the most frequent mistake."""
    body = result.body
    rows, labels = f"{body['n']:,} row{'' if body['n'] == 1 else 's'}", body["labels"]
    told = f"The model is right about {100 * body['accuracy']['mean']:.1f}% of {rows}"
    cells = [(count, i, j) for i, row in enumerate(body["confusion"]) for j, count in enumerate(row) if i != j]
    count, true, predicted = max(cells, key=lambda cell: cell[0])
    if not count:
        return f"{told}."
    times = "once" if count == 1 else f"{count:,} times"
    return f"{told}; its most frequent mistake is to take {labels[true]} for {labels[predicted]}, {times}."
