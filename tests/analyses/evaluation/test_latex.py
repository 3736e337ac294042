"""The LaTeX of a table: marked cells, separate controls, and names of which no character is read as a command."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.latex import MOST_COLUMNS, latex
from tests.analyses.evaluation.conftest import HOSTILE
from tests.figures.test_latex import well_formed

C = "comprehensiveness:preset=rpi"


@pytest.fixture
def wrap(evaluated):
    def wrapped(body) -> AnalysisResult:
        return replace(evaluated, body=body)

    return wrapped


def test_the_best_is_bold_and_what_is_not_told_apart_is_underlined(table, wrap) -> None:
    body = table({C: {"lime": 0.5, "occlusion": 0.45, "gradient": 0.2, "random": 0.1}}, ("gradient", "random"))
    document = latex(wrap(body))
    well_formed(document)
    assert r"LIME & $\mathbf{0.500} \pm 0.050$ \\" in document
    assert r"Occlusion & \underline{$0.450 \pm 0.050$} \\" in document
    assert r"Gradient & $0.200 \pm 0.050$ \\" in document
    assert document.index("Gradient &") < document.index("Random &")
    assert document.startswith("\\documentclass")
    assert r"\usepackage{booktabs}" in document


def test_the_caption_names_model_data_n_and_presets(table, wrap) -> None:
    document = latex(wrap(table({C: {"lime": 0.5, "random": 0.1}})), data="my_data 100%")
    caption = r"model embedded:bert{-}mini{-}sst2, data my\_data 100\%, n = 10 texts; presets of the metrics: rpi"
    assert caption in document


def test_rationale_metrics_and_many_metrics_have_tables_of_their_own(table, wrap) -> None:
    column = {"lime": 0.5, "random": None}
    faithful = {f"comprehensiveness:preset=rpi:k={k}": column for k in range(10, 10 + MOST_COLUMNS + 1)}
    document = latex(wrap(table({**faithful, "auprc": column})))
    well_formed(document)
    assert document.count(r"\begin{table}") == 3
    assert document.count("Agreement with people, not faithfulness") == 1
    assert "Random & --" in document


def test_hostile_names_stay_within_their_cell(table, wrap) -> None:
    document = latex(wrap(table({C: {HOSTILE: 0.5, "random": 0.1}})), data=HOSTILE)
    well_formed(document)
    assert r"\{\_\%\$\} \textbackslash{} 50\%" in document
    assert r"\textless{}script\textgreater{}" in document


def test_a_real_result_is_well_formed(evaluated) -> None:
    document = latex(evaluated)
    well_formed(document)
    assert document.count(r"\mathbf") == 2
