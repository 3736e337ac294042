"""A matrix has the same cells as a chart and as cells that can be pressed, whatever its words are."""

from __future__ import annotations

import json

import pytest

from explainlab.figures.matrix import FULL, Cell, Matrix

NAMES = ['<script>alert("x")</script>', "a\\b' \u2028", "Controls", "the same", "the same"]


@pytest.fixture
def matrix() -> Matrix:
    shares = {0: 1.0, 1: -0.5, 3: 0.0, 4: None}
    cells = [
        Cell(row, 0, {"method": f"{row} {NAMES[row]}"}, share, ("0.5", "0.4 to 0.6"), "<i>a sentence</i>")
        for row, share in shares.items()
    ]
    return Matrix(NAMES, ["A metric\nwith two lines ↑"], cells, faint_from=2)


def test_the_chart_has_every_cell_in_its_place_and_none_in_a_heading(matrix) -> None:
    cells, words, faint = matrix.figure().data
    assert [row[0] for row in cells.z] == [1.0, -0.5, None, 0.0, None]
    assert list(faint.y) == [2, 3, 4]
    assert words.opacity > faint.opacity
    assert words.text[0].startswith("0.5<br>")
    assert "<script" not in str(matrix.figure().to_dict())
    assert "<i>" not in str(matrix.figure().to_dict())


def test_pressable_cells_have_the_same_colours_and_one_is_framed(matrix) -> None:
    spec = json.loads(json.dumps(matrix.pressable({"method": f"1 {NAMES[1]}"})))
    (records,) = spec["datasets"].values()
    assert [(record["kind"], record["opacity"]) for record in records] == [
        ("above", FULL),
        ("below", FULL / 2),
        ("above", 0),
        ("above", 0),
    ]
    assert [record["framed"] for record in records] == [False, True, False, False]
    assert "config" not in spec


def test_equal_and_hostile_names_stay_labels_of_their_rows(matrix) -> None:
    axis = matrix.pressable({})["layer"][0]["encoding"]["y"]
    listed = axis["axis"]["labelExpr"].removeprefix("split(").partition("[datum.value]")[0]
    names = [name.replace("\n", "") for name in json.loads(listed)]
    assert names == [name.replace("\u2028", "") for name in NAMES], "long ones in two lines"
    assert axis["scale"]["domain"] == [0, 1, 2, 3, 4]
    assert "\u2028" not in listed, "it would end a line of the expression"
