"""Verdicts on a set of evaluations."""

from __future__ import annotations

from explainlab.analyses.evaluation.sets import set_overview, set_paragraphs
from tests.analyses.evaluation.sets.conftest import LARGE, SMALL, MakeSet

LIME, OCCLUSION = {"lime": 0.5, "occlusion": 0.4, "random": 0.3}, {"lime": 0.3, "occlusion": 0.6, "random": 0.5}


def test_the_sentence_counts_in_how_many_cells_each_is_best(make_set: MakeSet) -> None:
    cells = {(SMALL, "d:a"): LIME, (LARGE, "d:a"): OCCLUSION}
    over, every = "Over 2 cells (2 models × 1 data set) and 2 metrics", ("lime", "occlusion", "random")
    made = make_set(cells, every)
    assert set_overview(made) == (
        f"{over}, LIME is best in 2 of 4 comparisons, Occlusion is best in 1 of 4 comparisons and a random map is best "
        "in 1 of 4 comparisons."
    )
    by_comprehensiveness, by_sufficiency = set_paragraphs(made)
    assert by_comprehensiveness.endswith(", LIME is best in 1 of 2 cells and Occlusion is best in 1 of 2 cells.")
    assert "a random map is best in 1 of 2 cells" in by_sufficiency
    assert set_overview(make_set(cells)) == f"{over}, the best ones cannot be distinguished in all 4 comparisons."
    assert set_overview(make_set({(SMALL, "d:a"): LIME}, ("occlusion",))).endswith("in all 2 comparisons.")


def test_agreement_with_people_tells_not_which_method_is_best(make_set: MakeSet, with_rationales: MakeSet) -> None:
    assert set_overview(with_rationales({(SMALL, "d:a"): LIME})) == set_overview(make_set({(SMALL, "d:a"): LIME}))
    *_, words = set_paragraphs(with_rationales({(SMALL, "d:a"): LIME}))
    assert words.startswith("By Ground-truth overlap (ExplainLab), agreement with people, the best ones cannot")


def test_cells_that_failed_are_not_counted(make_set: MakeSet) -> None:
    assert "Over 1 of 2 cells" in set_overview(make_set({(SMALL, "d:a"): LIME, (LARGE, "d:a"): None}))
    assert set_overview(make_set({(SMALL, "d:a"): None})) == "None of 1 cell has a result."
