"""The numbers of paper 003 for a data set and a model, in ``numbers.json``, and how both are recognised."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.records import Interval
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
    numbers = json.loads((Path(__file__).parent / "numbers.json").read_text(encoding="utf-8"))
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
