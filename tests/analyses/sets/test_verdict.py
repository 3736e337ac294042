"""A set in words: the range of its numbers, and the number of cells that tell methods apart."""

from __future__ import annotations

import pytest

from explainlab.analyses.sets.verdict import overview, points
from tests.analyses.sets.conftest import LARGE, SEED, SMALL, MakeAccuracies, MakeSet

LIME, OCCLUSION = {"lime": 0.5, "occlusion": 0.3, "random": 0.1}, {"lime": 0.3, "occlusion": 0.6, "random": 0.2}
NEAR = {"lime": 0.5, "occlusion": 0.48, "random": 0.2}


def test_methods_are_counted_over_cells(make_set: MakeSet) -> None:
    made = make_set({(SMALL, "d:a"): LIME, (SMALL, "d:b"): NEAR, (LARGE, "d:a"): OCCLUSION, (LARGE, "d:b"): None})
    assert overview(made) == (
        "Over 3 of 4 cells (2 models × 2 data sets), the highest AS AUC in a cell runs from 0.500 (0.450 to 0.550; "
        "made:1 on a) to 0.600 (0.550 to 0.650; large on a); LIME is best in 1 cell, Occlusion is best in 1 cell and "
        "the best ones cannot be distinguished in 1 cell."
    )
    assert "the lowest IAS AUC in a cell runs from 0.400" in overview(made, "inverse_activation")
    assert points(made)[-1] == "large on b: It <b>failed</b>."


def test_models_are_compared_on_each_data_set(make_accuracies: MakeAccuracies) -> None:
    cells = {(SMALL, "d:a"): 0.7, (SMALL, "d:b"): 0.8, (LARGE, "d:a"): 0.9, (LARGE, "d:b"): 0.75}
    assert overview(make_accuracies(cells)) == (
        "Over 4 cells (2 models × 2 data sets), accuracy runs from 70.0% (65.0% to 75.0%; made:1 on a) to 90.0% "
        "(85.0% to 95.0%; large on a); large is best on 1 data set and the best ones cannot be distinguished on 1 "
        "data set."
    )


def test_a_cell_alone_is_compared_with_nothing(make_accuracies: MakeAccuracies, make_set: MakeSet) -> None:
    assert overview(make_accuracies({(SMALL, "d:a"): 0.7, (LARGE, "d:a"): None})) == (
        "Over 1 of 2 cells (2 models × 1 data set), accuracy is 70.0% (65.0% to 75.0%; made:1)."
    )
    assert overview(make_set({(SMALL, "d:a"): None, (LARGE, "d:a"): None})) == "None of 2 cells has a result."


def test_on_a_single_data_set_the_models_are_named(make_accuracies: MakeAccuracies) -> None:
    assert overview(make_accuracies({(SMALL, "d:a"): 0.7, (LARGE, "d:a"): 0.9})).endswith(
        "large); large is best; made:1 is worse."
    )
    near = overview(make_accuracies({(SMALL, "d:a"): 0.8, (LARGE, "d:a"): 0.85}))
    assert near.endswith("; made:1 and large cannot be distinguished.")


@pytest.mark.parametrize(("last", "said"), [(100, "large is best; made:1 is worse."), (101, "be distinguished.")])
def test_models_are_compared_text_by_text_where_they_read_the_same(
    make_accuracies: MakeAccuracies, last: int, said: str
) -> None:
    """Give one model 6 of 100 texts that it alone reads right: no chance, though the intervals of the two overlap."""
    rows = {SMALL: [*range(1, 101)], LARGE: [*range(1, 100), last]}
    made = make_accuracies({(SMALL, "d:a"): 0.8, (LARGE, "d:a"): 0.86}, rows)
    assert overview(made).endswith(said)


def test_means_of_several_models_are_of_no_texts(make_accuracies: MakeAccuracies) -> None:
    rows = {model: [*range(1, 101)] for model in (SMALL, SEED, LARGE)}
    made = make_accuracies({(SMALL, "d:a"): 0.8, (SEED, "d:a"): 0.82, (LARGE, "d:a"): 0.84}, rows)
    assert overview(made).endswith("BERT, 2 seeds and large cannot be distinguished.")
