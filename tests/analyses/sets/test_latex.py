"""A set of studies in LaTeX: models by methods, or by data sets, with the best in bold."""

from __future__ import annotations

from dataclasses import replace

from explainlab.analyses.sets.table import MOST_COLUMNS, set_latex
from tests.analyses.sets.conftest import HOSTILE, LARGE, SEED, SMALL, MakeAccuracies, MakeSet
from tests.figures.test_latex import well_formed

ONE, TWO = {"lime": 0.5, "occlusion": 0.3, "random": 0.1}, {"lime": 0.2, "occlusion": 0.4, "random": 0.2}


def test_methods_are_columns_and_the_best_of_a_row_is_bold(make_set: MakeSet) -> None:
    document = set_latex(make_set({(SMALL, "d:a"): ONE, (SEED, "d:a"): TWO, (LARGE, "d:a"): TWO, (LARGE, "d:b"): None}))
    well_formed(document)
    higher, lower = document.split(r"\end{table}")[:2]
    assert r"AS AUC $\uparrow$: means and half the width of their 95\% intervals; n = 10 texts or 2 models." in higher
    assert r"Model & \shortstack{LIME} & \shortstack{Occlusion} & \shortstack{Random} \\" in higher
    assert "BERT, 2 seeds on a &" in higher
    assert r"large on a & $0.200 \pm 0.050$ & $\mathbf{0.400} \pm 0.050$ & $0.200 \pm 0.050$ \\" in higher
    assert r"large on a & $0.800 \pm 0.050$ & $\mathbf{0.600} \pm 0.050$ & $0.800 \pm 0.050$ \\" in lower
    assert "the best of a row" in higher


def test_numbers_of_the_model_itself_stand_models_by_data_sets(make_accuracies: MakeAccuracies) -> None:
    document = set_latex(
        make_accuracies({(SMALL, "d:a"): 0.7, (SMALL, "d:b"): None, (LARGE, "d:a"): 0.9, (LARGE, "d:b"): 0.8})
    )
    well_formed(document)
    accuracy, macro_f1, _ = document.split(r"\end{table}")[:3]
    assert r"Model & \shortstack{a} & \shortstack{b} \\" in accuracy
    assert r"made:1 & $70.0\% \pm 5.0\%$ & -- \\" in accuracy
    assert r"large & $\mathbf{90.0\%} \pm 5.0\%$ & $80.0\% \pm 5.0\%$ \\" in accuracy
    assert "the best of a column" in accuracy
    assert "half the width" not in macro_f1, "it has no interval"


def test_many_methods_have_tables_of_their_own_and_names_stay_words(make_set: MakeSet) -> None:
    many = {f"m{i}": i / 10 for i in range(MOST_COLUMNS + 1)}
    document = set_latex(make_set({(SMALL, "d:a"): ONE, (replace(LARGE, name=HOSTILE), f"d:{HOSTILE}"): many}))
    well_formed(document)
    assert r"\textless{}script\textgreater{}" in document
    assert document.count(r"\begin{table}") == 2 * 2
    assert document.count(r"\mathbf") == 2 * 2


def test_models_of_two_recipes_that_are_called_alike_stay_apart(make_accuracies: MakeAccuracies) -> None:
    others = [replace(SMALL, id=f"made:{i}", alike="another") for i in (3, 4)]
    values = dict(zip([SMALL, SEED, *others], (0.7, 0.7, 0.9, 0.9), strict=True))
    document = set_latex(make_accuracies({(model, "d:a"): value for model, value in values.items()}))
    assert document.count("BERT, 2 seeds &") == 2 * 3
