"""Grids of several bases and data sets: each data set with its own test data, and small charts with shared axes."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab.analyses.cells import parameters_on
from explainlab.analyses.roar.analysis import Roar
from explainlab.analyses.roar.figures import set_charts
from explainlab.analyses.run import study
from explainlab.analyses.sets.charts import by_model
from explainlab.analyses.sets.records import SetCell, SetModel, StudySet
from explainlab.analyses.sets.table import set_frame
from explainlab.analyses.sets.verdict import overview
from explainlab.app.pages.roar.form import RoarView
from explainlab.errors import RequestError
from tests.analyses.roar.bodies import roar_body, roar_result
from tests.analyses.roar.grids import SETTINGS, Watching, written
from tests.training.test_train import sentences


def studies(models: int, sources: int) -> StudySet:
    """Return a set of grids made by hand; that of the last model on the last data set has failed."""
    cells = [
        SetCell(
            SetModel(f"base-{i}", f"Base {i}", "", 0, f"base-{i}"),
            f"data-{j}",
            f"<b>Data {j}</b>",
            None if (i, j) == (models - 1, sources - 1) else roar_result(roar_body(seeds=3 + i)),
            "It failed." if (i, j) == (models - 1, sources - 1) else "",
        )
        for i in range(models)
        for j in range(sources)
    ]
    return StudySet(tuple(cells))


@pytest.mark.parametrize(
    ("models", "sources", "columns", "shape"),
    [
        (2, 2, 3, (2, 2)),
        (1, 5, 3, (2, 3)),
        (2, 2, 1, (3, 1)),
        (2, 5, 3, (3, 3)),
        (3, 1, 3, (1, 2)),
    ],
)
def test_every_cell_has_a_small_chart_on_equal_axes(
    models: int, sources: int, columns: int, shape: tuple[int, int]
) -> None:
    drawn = studies(models, sources)
    (chart,) = set_charts(drawn, columns)
    figure = chart.figure
    axes = [axis for axis in figure.select_yaxes() if axis.visible is not False]
    assert len(axes) == len(drawn.done)
    assert len({tuple(axis.range) for axis in axes}) == 1
    assert (len(figure._grid_ref), len(figure._grid_ref[0])) == shape
    titles = [note.text for note in figure.layout.annotations if note.text]
    assert len(titles) == len(drawn.done)
    assert not any("<b>" in title for title in titles)
    named = [trace.name for trace in figure.data if trace.showlegend is not False and trace.name]
    assert len(named) == len(set(named)) == 5
    assert len(chart.rows) == len(drawn.done) * 4 * 11
    assert {(row["model"], row["data"]) for row in chart.rows} == {(c.model.name, c.data_name) for c in drawn.done}


def test_each_data_set_may_have_its_own_test_data(tmp_path: Path) -> None:
    data = [written(tmp_path / f"train-{i}.csv", sentences(40, i)) for i in range(2)]
    tests = [written(tmp_path / f"test-{i}.csv", sentences(10 + i, 5 + i)) for i in range(2)]
    given = {"base": "bilstm_attention", "settings": {**SETTINGS, "epochs": 1}, "measures": "gradient", "seeds": 1}
    given |= {"ratios": [0, 50, 100], "context": Watching(tmp_path / "made").context}
    for test, counts in ((tests, [10, 11]), ("0.25", [10, 10]), (",".join(tests), [10, 11])):
        cells = study(None, "roar", data=data, test=test, **given)
        assert [cell.status for cell in cells] == ["done", "done"]
        splits = [{own.split: own.texts for own in cell.result.body.lengths} for cell in cells]
        assert [own["test"] for own in splits] == counts
    assert splits[0]["train"] + splits[0]["validation"] == 40
    with pytest.raises(RequestError, match="test names 2 data sets for 3"):
        parameters_on(Roar(), {"test": "a.csv,b.csv"}, 0, 3)


def test_the_page_asks_the_same_of_each_data_set() -> None:
    view = RoarView(source="a.csv", sources=("b.csv", "c.csv"), test="a-test.csv", validation="a-dev.csv")
    view = view.model_copy(update={"tests": {"b.csv": "b-test.csv"}, "models": ("bert",)})
    asked = [view.of_cell(*cell) for cell in view.cells]
    assert [own.base for own in asked] == ["bilstm_attention"] * 3 + ["bert"] * 3
    assert [own.test for own in asked[:3]] == ["a-test.csv", "b-test.csv", "0.2"]
    assert [own.validation for own in asked[:3]] == ["a-dev.csv", "0.15", "0.15"]
    assert view.model_copy(update={"test": "0.3", "tests": {}}).test_of("c.csv") == "0.3"
    assert len(asked[0].cells) == 1


def test_numbers_of_measures_and_of_the_model_stand_apart() -> None:
    drawn = studies(1, 3)
    assert list(drawn.measures) == ["faithfulness_recursive", "performance"]
    assert list(drawn.series_of("performance")) == [""]
    assert len(drawn.series_of("faithfulness_recursive")) == 3
    words = overview(drawn, "performance")
    assert words.startswith("Over 2 of 3 cells (1 model × 3 data sets), macro F1 of whole texts runs from")
    assert "; ," not in words
    assert overview(drawn).count("the highest faithfulness by Recursive ROAR in a cell runs from") == 1
    chart = by_model(drawn, "performance", "data-0")
    assert not chart.figure.layout.showlegend
    assert [list(row) for row in set_frame(drawn, "performance")] == [["Model", "Macro F1 of whole texts ↑"]] * 2
