"""Our numbers of a grid beside those of the paper, where its data set and its model are the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.roar.published.papers import PAPER, PaperGrid, paper_grid, paper_name
from explainlab.analyses.roar.result import CostFacts, RoarData
from explainlab.analyses.roar.verdict import METRICS, estimate_words, is_random, labels_of, whole_areas
from explainlab.analyses.wording import capital, mean_words


class Beside(NamedTuple):
    """A number in words, ours and the paper's, and the paper's table."""

    number: str
    here: str
    paper: str
    source: str


def beside_paper(result: AnalysisResult[RoarData], name: str = "") -> list[Beside]:
    """Return all numbers that both have; none where the paper has another data set or model.

    ``name`` is the data set's name for readers.
    """
    body, paper = result.body, _paper_of(result, name)
    if paper is None:
        return []
    return [*_performance(body, paper), *_of_measures(result, paper), *_sizes(body, paper)]


def setting(result: AnalysisResult[RoarData], name: str = "") -> str:
    """Describe the differences between the paper's setting and ours; empty where it has no numbers for it."""
    paper = _paper_of(result, name)
    if paper is None:
        return ""
    body, model = result.body, {"LSTM": "BiLSTM with attention"}.get(paper.model, paper.model)
    steps = f"{len(body.ratios) - 1} steps here" if not body.counted else "single tokens here"
    return (
        f"{PAPER}: {model} on {paper.data}, 5 seeds ({len(body.seeds)} here), steps of 10% ({steps}), other machines, "
        "and for an LSTM vectors that were trained before, but for bAbI. Of sparsity it has drawings (Figures 5, 6)."
    )


def _paper_of(result: AnalysisResult[RoarData], name: str) -> PaperGrid | None:
    return paper_grid(result.body.base, [name, result.request.data or ""])


def _performance(body: RoarData, paper: PaperGrid) -> Iterator[Beside]:
    if body.metric == paper.metric:
        number = f"{capital(METRICS[body.metric])} of whole texts"
        yield Beside(number, estimate_words(body.performance), mean_words(paper.performance), "Table 1")


def _of_measures(result: AnalysisResult[RoarData], paper: PaperGrid) -> Iterator[Beside]:
    """Yield the paper's measures by Recursive ROAR: faithfulness over shares of all tokens, and time."""
    body, absolute = result.body, result.request.parameters["signs"] == "absolute"
    labels = labels_of(body)
    for row in whole_areas(body):
        published = paper.faithfulness.get(paper_name(row.measure, absolute))
        if published is not None and row.recursive and not body.counted and body.metric == paper.metric:
            yield Beside(f"Faithfulness: {labels[row.measure]}", estimate_words(row), mean_words(published), "Table 2")
    for cost in body.costs:
        minutes = paper.minutes.get(paper_name(cost.measure, absolute))
        seconds = _of_a_model(body, cost)
        if minutes is not None and seconds is not None and (cost.recursive or is_random(body, cost.measure)):
            number = f"Minutes of a masked model: {labels[cost.measure]}"
            yield Beside(number, f"{seconds / 60:.2g}", str(minutes), "Table 7")


def _sizes(body: RoarData, paper: PaperGrid) -> Iterator[Beside]:
    tokens = next((own.mean for own in body.lengths if own.split == "train"), None)
    if tokens is not None:
        yield Beside("Tokens of a text, mean", f"{tokens:.0f}", str(paper.tokens), "Table 1")
        counts = (f"{own.texts:,}" for own in body.lengths)
        published = " / ".join(f"{count:,}" for count in paper.texts)
        yield Beside("Texts to train, validate and test on", " / ".join(counts), published, "Table 3")


def _of_a_model(body: RoarData, cost: CostFacts) -> float | None:
    """Return the mean seconds of one masked model with its importance; None without one."""
    own = [node for node in body.nodes if (node.measure, node.recursive) == (cost.measure, cost.recursive)]
    made = sum(node.status == "done" for node in own)
    return (cost.training + cost.importance) / made if made else None
