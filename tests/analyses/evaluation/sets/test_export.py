"""A set of evaluations in LaTeX."""

from __future__ import annotations

from dataclasses import replace

from explainlab.analyses.evaluation.sets.export import set_latex
from tests.analyses.evaluation.conftest import HOSTILE
from tests.analyses.evaluation.sets.conftest import LARGE, SMALL, MakeSet
from tests.analyses.evaluation.test_latex import well_formed

ONE = {"lime": 0.5, "occlusion": 0.3, "random": 0.1}


def test_the_latex_is_well_formed(make_set: MakeSet) -> None:
    hostile = replace(LARGE, name=HOSTILE)
    document = set_latex(make_set({(SMALL, "d:a"): ONE, (hostile, "d:a"): {f"m{i}": i / 10 for i in range(8)}}))
    well_formed(document)
    assert r"made:1 & $\mathbf{0.500} \pm 0.050$" in document
    assert r"\textless{}script\textgreater{}" in document
    assert document.count(r"\begin{table}") == 2 * 2
