"""The charts of precision hold its numbers, and a text has its maps in every number format."""

from __future__ import annotations

import pytest

from explainlab import study
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.precision.result import PrecisionData
from tests.conftest import Zoo

TEXTS = ["a stirring, funny film that never loses its way", "the plot is thin and the acting is worse than the plot"]
SPECS = ["gradient", "lime:samples=20"]


@pytest.fixture(scope="module")
def result(zoo: Zoo, tmp_path_factory: pytest.TempPathFactory) -> AnalysisResult[PrecisionData]:
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    path.write_text("text,label\n" + "".join(f'"{text}",0\n' for text in TEXTS))
    return study(zoo("bert"), "precision", data=str(path), methods=SPECS)


def test_a_mark_for_every_format_and_control(result: AnalysisResult[PrecisionData]) -> None:
    charts = figures_of(result).charts
    assert list(charts) == ["precision-rank-correlation", "precision-top-5", "precision-logits"]
    for key in ("rank_correlation", "top_5"):
        chart = charts[f"precision-{key.replace('_', '-')}"]
        shown = {trace.name: list(trace.x) for trace in chart.figure.data}
        for dtype in ("bfloat16", "float16"):
            rows = [row for row in result.body.rows if row.dtype == dtype]
            assert shown[dtype] == [getattr(row, key).mean for row in rows]
        (drawn,) = [own for own in result.body.controls if own.against == "seed"]
        assert shown["float32, another seed"] == [getattr(drawn, key).mean]
        assert len(shown["random maps"]) == len(SPECS)
        assert [row["compared"] for row in chart.rows].count("bfloat16") == len(SPECS)
        low, high = chart.figure.layout.xaxis.range
        assert all(low < x < high for values in shown.values() for x in values)


def test_changed_predictions_are_crossed(result: AnalysisResult[PrecisionData]) -> None:
    body = result.body
    read = [own.model_copy(update={"predicted": "another"}) for own in body.texts[1].read]
    texts = [body.texts[0], body.texts[1].model_copy(update={"read": read})]
    changed = type(result)(**{**vars(result), "body": body.model_copy(update={"texts": texts})})
    chart = figures_of(changed).charts["precision-logits"]
    assert [list(trace.marker.symbol) for trace in chart.figure.data] == [["circle", "x"], ["square", "x"]]
    (note,) = chart.notes
    assert "2 predictions" in note
    assert [row["changed"] for row in chart.rows] == [False, True] * 2


def test_a_text_has_its_maps_in_every_format_on_one_scale(zoo: Zoo) -> None:
    found = study(zoo("bert"), "precision", TEXTS[0], methods=SPECS, dtypes=["bfloat16"])
    maps = [*figures_of(found).maps.values()]
    labels = [own.label for own in found.body.methods]
    assert [own.title for own in maps] == [f"{label}, {dtype}" for label in labels for dtype in ("float32", "bfloat16")]
    assert len({own.drawn.limit for own in maps[:2]}) == 1
    assert all(own.drawn.shared and own.drawn.top_label for own in maps)
    assert maps[0].drawn.tokens != maps[1].drawn.tokens
