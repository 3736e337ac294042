"""Models by methods: coloured from random to the best of a row; a press tells the model and the data set."""

from __future__ import annotations

from explainlab.analyses.evaluation.sets.table import models_by_methods, set_cells
from tests.analyses.evaluation.sets.conftest import LARGE, SMALL, C, MakeSet

ONE, TWO = {"lime": 0.5, "occlusion": 0.3, "random": 0.1}, {"lime": 0.1, "occlusion": 0.4, "random": 0.2}


def test_each_row_runs_from_random_to_its_best(make_set: MakeSet) -> None:
    chart = models_by_methods(make_set({(SMALL, "d:a"): ONE, (LARGE, "d:a"): TWO, (LARGE, "d:b"): ONE}), C)
    shares = [(row["model"], row["data"], row["method"], round(row["from_random"], 3)) for row in chart.rows]
    assert shares[:6] == [
        ("made:1", "a", "lime", 1.0),
        ("made:1", "a", "occlusion", 0.5),
        ("made:1", "a", "random", 0.0),
        ("large", "a", "lime", -0.5),
        ("large", "a", "occlusion", 1.0),
        ("large", "a", "random", 0.0),
    ]
    assert "large on a: Occlusion" in chart.alt
    assert "made:1 on a: LIME" in chart.alt


def test_a_cell_knows_its_model_and_data_set(make_set: MakeSet) -> None:
    drawn = str(set_cells(make_set({(SMALL, "d:a"): ONE, (LARGE, "d:a"): None}), C))
    assert "'model': 'made:1', 'data': 'd:a'" in drawn
    assert "dir/large" not in drawn
