"""Published results of ROAR, and ours beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.records import Interval
from explainlab.analyses.roar.result import CostFacts, RoarData
from explainlab.analyses.roar.verdict import METRICS, estimate_words, is_random, labels_of, whole_areas
from explainlab.analyses.wording import capital, mean_words
from explainlab.attribution.registry import parse_spec

PAPER = "Madsen et al. 2022 (paper 003)"
_DATA = {
    "SST": r"(?<![a-z])sst(?![a-z])",
    "IMDB": r"(?<![a-z])imdb",
    "SNLI": r"(?<![a-z])snli",
    "Anemia": r"anemia",
    "Diabetes": r"diabetes",
    **{f"bAbI-{task}": rf"babi[-_ ]?(qa|task)?[-_ ]?{task}(?!\d)" for task in (1, 2, 3)},
}
"""Patterns of a data set's name and of the last folder of its path."""
_MODELS = {"LSTM": r"^bilstm_attention$", "RoBERTa": r"(^|/)roberta[-_]base$"}
"""Patterns of a model's id."""
_METRICS = {"SNLI": "micro_f1", **dict.fromkeys(("bAbI-1", "bAbI-2", "bAbI-3"), "accuracy")}
"""Metrics of performance, where it is not macro F1."""
_NAMES = {
    RANDOM: "Random",
    "attention_last": "Attention",
    "attention_average": "Attention",
    "gradient": "Gradient",
    "input_x_gradient": "Input times Gradient",
    "integrated_gradients": "Integrated Gradient",
}
"""The paper's names of our measures."""
_OPTIONS = {"Gradient": {"norm": "one_hot"}, "Integrated Gradient": {"rule": "right", "baseline": "zero"}}
"""The required options of these; the others have the paper's meaning with any."""


@dataclass(frozen=True)
class PaperGrid:
    """The paper's numbers for a ``model`` on its ``data`` set.

    ``tokens`` of a text; ``texts`` to train, validate and test on; ``performance`` of whole texts by ``metric``, and
    by the paper's names of measures their ``faithfulness`` by Recursive ROAR and the ``minutes`` of one masked model
    with its importance. Shares are fractions, intervals 95% over five seeds.
    """

    data: str
    model: str
    metric: str
    tokens: int
    texts: tuple[int, ...]
    performance: Interval
    faithfulness: Mapping[str, Interval]
    minutes: Mapping[str, int]


@cache
def paper_grids() -> dict[tuple[str, str], PaperGrid]:
    """Read Tables 1, 2, 3 and 7, by data set and model."""
    numbers = json.loads((Path(__file__).with_suffix(".json")).read_text(encoding="utf-8"))
    return {
        (data, model): PaperGrid(
            data,
            model,
            _METRICS.get(data, "macro_f1"),
            facts["tokens"],
            tuple(facts["texts"]),
            _interval(own["performance"]),
            {name: _interval(value) for name, value in own["faithfulness"].items()},
            own["minutes"],
        )
        for data, facts in numbers.items()
        for model, own in facts["models"].items()
    }


def paper_grid(base: str, names: Iterable[str]) -> PaperGrid | None:
    """Find the paper's grid of the model that begins as ``base`` on the data set with these ``names`` or this path.

    None for a model or a data set that is not the paper's.
    """
    about = " ".join("/".join(name.split("/")[-2:]) for name in names)
    data = next((name for name, pattern in _DATA.items() if re.search(pattern, about, re.IGNORECASE)), "")
    model = next((name for name, pattern in _MODELS.items() if re.search(pattern, base, re.IGNORECASE)), "")
    return paper_grids().get((data, model))


def paper_name(measure: str, absolute: bool) -> str:
    """Return the paper's name for a measure, ``absolute`` or by its signs; empty for one that it does not have."""
    request = parse_spec(measure)
    name, options = _NAMES.get(request.method, ""), request.parameters.model_dump()
    usual = all(options[option] == value for option, value in _OPTIONS.get(name, {}).items())
    signed = not absolute and name in ("Input times Gradient", "Integrated Gradient")
    return name if usual and not signed else ""


def _interval(numbers: list[float]) -> Interval:
    """Read a mean in per cent, and how far its interval goes up and down."""
    mean, up, down = numbers
    return Interval(mean=mean / 100, low=(mean - down) / 100, high=(mean + up) / 100)


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
