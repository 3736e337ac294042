"""Published tables as records: their layout, and the numbers in ``numbers.json``, copied from the papers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_RPI = {
    "RPI": "rpi",
    "SIG": "sequential_integrated_gradients",
    "ALTI": "alti",
    "DCMP": "decompx",
    "LIFT": "deep_lift",
    "GLOB": "globenc",
    "SHAP": "gradient_shap",
    "GXI": "input_x_gradient",
    "IG": "integrated_gradients",
    "LIME": "lime",
    "LLM": "llm_ranking",
}
_PI = {
    "Random": "random",
    "A-Last": "attention_last",
    "SP-PI": "sp_pi",
    "GAE": "gae",
    "Inp × Grad": "input_x_gradient",
    "LRP": "lrp",
    "Int. Grad": "integrated_gradients",
    "Kernel SHAP": "kernel_shap",
    "MP-PI": "mp_pi",
}
_PI_COSTS = {"Random": "0", "A-Last": "0", "SP-PI": "0", "GAE": "1", "Inp × Grad": "1", "LRP": "1"}
"""The cost of a method in passes, by the paper; all others 2n for n features."""
_RPI_METRICS = {
    "Suff ↓": "sufficiency",
    "LO ↓": "log_odds",
    "Comp ↑": "comprehensiveness",
    "A-S ↓": "aopc_sufficiency",
    "A-C ↑": "aopc_comprehensiveness",
}
_PI_DATA = {
    "IMDB": "GPT-2 (124M)",
    "SST-2": "GPT-2 (355M)",
    "AG-news": "Llama-2 (7B)",
    "Twitter-Fin": "Llama-2 (7B)",
    "Twitter-Sen": "GPT-2 (124M)",
    "Twitter-Emo": "GPT-2 (124M)",
    "TrueTeacher": "GPT-2 (1.5B)",
}
"""Table 1 of paper 002: the model of each data set."""
_RPI_PAPER, _PI_PAPER = "Barkan et al. 2024 (paper 001)", "Kariyappa et al. 2024 (paper 002)"
_RPI_ROWS = (
    "The paper does not say how many texts it averages. It chooses RPI's map anew for each metric: add "
    "rpi:select_by=METRIC for each."
)
_PI_ROWS = "The paper averages 500 random test texts, explains the true class, and scores words or sentences."


@dataclass(frozen=True)
class Column:
    """A column under its ``heading``: of a ``model`` and a ``metric``, and of a ``data`` set unless rows are."""

    heading: str
    model: str
    metric: str
    data: str = ""


@dataclass(frozen=True)
class PaperRow:
    """A method, by the paper's name and by our id, with its ``values`` in the order of the columns.

    ``data`` is empty where the columns are of a data set each.
    """

    data: str
    name: str
    method: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class PaperTable:
    """A published table; ``setting`` says how its setting differs from ours, or that it is not known."""

    id: str
    source: str
    title: str
    setting: str
    columns: tuple[Column, ...]
    rows: tuple[PaperRow, ...]


@cache
def paper_tables() -> dict[str, PaperTable]:
    """Return Tables 2 and 4 of paper 001, and Tables 2 and 3 of paper 002, by id."""
    numbers = json.loads((Path(__file__).parent / "numbers.json").read_text(encoding="utf-8"))
    encoders, decoders = ("RoBERTa", "DistilBERT", "BERT"), ("Llama2", "Mistral")
    tables = (
        _table("001-2", _RPI_PAPER, "Table 2", _RPI_ROWS, _by_model(encoders), _RPI, numbers),
        _table("001-4", _RPI_PAPER, "Table 4", _RPI_ROWS, _by_model(decoders), _RPI, numbers),
        _table("002-2", _PI_PAPER, "Table 2, AUC ↑", _PI_ROWS, _by_data("activation_auc"), _PI, numbers),
        _table(
            "002-3", _PI_PAPER, "Table 3, inverse AUC ↓", _PI_ROWS, _by_data("inverse_activation_auc"), _PI, numbers
        ),
    )
    return {table.id: table for table in tables}


def _table(
    name: str,
    source: str,
    title: str,
    setting: str,
    columns: tuple[Column, ...],
    methods: dict[str, str],
    numbers: dict[str, dict[str, dict[str, list[float]]]],
) -> PaperTable:
    rows = [
        PaperRow(data, label if data else f"{label}, cost {_PI_COSTS.get(label, '2n')}", methods[label], tuple(values))
        for data, block in numbers[name].items()
        for label, values in block.items()
    ]
    return PaperTable(name, source, title, setting, columns, tuple(rows))


def _by_model(models: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(
        Column(f"{model}\n{label}", model, metric) for model in models for label, metric in _RPI_METRICS.items()
    )


def _by_data(metric: str) -> tuple[Column, ...]:
    return tuple(Column(data, model, metric, data) for data, model in _PI_DATA.items())
