"""The table of all cells: coloured from random to the best of a row; a press selects the model and the data set."""

from __future__ import annotations

from explainlab.analyses.sets.table import set_cells, set_frame, set_table
from tests.analyses.sets.conftest import LARGE, SMALL, MakeAccuracies, MakeSet

ONE, TWO = {"lime": 0.5, "occlusion": 0.3, "random": 0.1}, {"lime": 0.1, "occlusion": 0.4, "random": 0.2}


def test_each_row_runs_from_random_to_its_best(make_set: MakeSet) -> None:
    chart = set_table(make_set({(SMALL, "d:a"): ONE, (LARGE, "d:a"): TWO, (LARGE, "d:b"): ONE}), "activation")
    shares = [(row["model"], row["data"], row["of"], round(row["from_random"], 3)) for row in chart.rows]
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
    drawn = str(set_cells(make_set({(SMALL, "d:a"): ONE, (LARGE, "d:a"): None}), "activation"))
    assert "'model': 'made:1', 'data': 'd:a'" in drawn
    assert "dir/large" not in drawn


def test_numbers_of_the_model_itself_stand_models_by_data_sets(make_accuracies: MakeAccuracies) -> None:
    made = make_accuracies({(SMALL, "d:a"): 0.7, (SMALL, "d:b"): None, (LARGE, "d:a"): 0.9, (LARGE, "d:b"): 0.8})
    words = set_table(made, "accuracy").figure.data[1]
    placed = {(x, y): text.split("<br>")[0] for x, y, text in zip(words.x, words.y, words.text, strict=True)}
    assert placed == {(0, 0): "70.0%", (1, 0): "", (0, 1): "90.0%", (1, 1): "80.0%"}
    assert set_table(made, "accuracy").notes == ()
    assert set_frame(made, "accuracy")[0] == {"Model": "made:1 on a", "Accuracy ↑": 0.7}
