"""The charts and the sentence of layer randomisation: their numbers are the result's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explainlab import study
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.layer_randomisation.figures import rho_by_unit
from explainlab.analyses.layer_randomisation.result import RandomisationData, verdict
from explainlab.analyses.records import Interval
from explainlab.models.classifier import Classifier

GXI, ATTENTION = "input_x_gradient", "attention_average"
TEXT = "A funny film. It isn't good!"


@pytest.fixture(scope="module")
def result(encoder: Classifier, tmp_path_factory: pytest.TempPathFactory) -> AnalysisResult[Any]:
    file: Path = tmp_path_factory.mktemp("rows") / "rows.csv"
    file.write_text(f'text\n"{TEXT}"\n"a good film, a great story"\n"the plot is thin"\n')
    return study(encoder, "layer_randomisation", data=str(file), methods=f"{GXI}+{ATTENTION}", draws=2)


def rows(body: RandomisationData, method: str, mode: str, absolute: bool) -> list[Any]:
    return [own for own in body.rows if (own.method, own.mode, own.absolute) == (method, mode, absolute)]


@pytest.mark.parametrize("mode", ["cascading", "independent"])
@pytest.mark.parametrize("absolute", [False, True])
def test_a_line_a_method_with_its_band_its_draws_and_both_controls(
    result: AnalysisResult[Any], mode: Any, absolute: bool
) -> None:
    body = result.body
    traces = rho_by_unit(body, mode, absolute).figure.data
    controls = [own for own in body.controls if own.absolute == absolute]
    grey, n = traces[0], len(body.units)
    assert set(grey.y[:n]) == {max(own.random.high for own in controls)}
    assert set(grey.y[n:]) == {min(own.random.low for own in controls)}
    for control in controls:
        own = rows(body, control.method, mode, absolute)
        dashed, band, *draws, line = [trace for trace in traces if trace.legendgroup == control.method]
        assert dashed.line.dash == "dash"
        assert set(dashed.y) == {control.order.mean}
        ends = [(one.mean, one.mean) if one.low is None else (one.low, one.high) for one in own]
        assert list(band.y) == [high for _, high in ends] + [low for low, _ in ends[::-1]]
        assert [list(trace.y) for trace in draws] == [[one.draws[i] for one in own] for i in range(2)]
        assert (list(line.x), list(line.y)) == (body.units, [one.mean for one in own])
        assert line.line.width > max(trace.line.width for trace in draws)


def test_the_numbers_of_a_chart_have_all_that_is_drawn(result: AnalysisResult[Any]) -> None:
    chart = rho_by_unit(result.body, "cascading", False)
    assert len(chart.rows) == 2 * len(result.body.units)
    first, own = chart.rows[0], rows(result.body, GXI, "cascading", False)[0]
    assert (first["mean"], first["low"], first["draw_2"]) == (own.mean, own.low, own.draws[1])
    assert first["order"] == next(c.order.mean for c in result.body.controls if c.method == GXI)


def test_one_mode_has_its_own_charts_and_values_that_are_missing_are_told(encoder: Classifier) -> None:
    found = study(encoder, "layer_randomisation", "film", methods=GXI, draws=1, mode="independent")
    charts = figures_of(found).charts
    assert list(charts) == ["independent-signed", "independent-absolute"]
    assert charts["independent-signed"].notes[1].startswith("5 of 5 values")
    assert charts["independent-signed"].alt.endswith("none is defined.")


def test_a_text_has_the_map_of_the_model_and_of_the_one_with_all_units_random(encoder: Classifier) -> None:
    found = study(encoder, "layer_randomisation", TEXT, methods=GXI, draws=1)
    titles = [drawn.title for drawn in figures_of(found).maps.values()]
    assert titles == ["Input × gradient", "Input × gradient, all random down to embeddings"]


# In words ------------------------------------------------------------------------------------------------------------


def changed(body: RandomisationData, rho: dict[str, tuple[float, float, float]]) -> RandomisationData:
    """Return the body with these mean, low and high of absolute rows; random maps reach 0.1, the order gives 0.5."""
    values = [dict(zip(("mean", "low", "high"), rho[own.method], strict=True)) for own in body.rows]
    random, order = Interval(mean=0, low=-0.1, high=0.1), Interval(mean=0.5, low=0.4, high=0.6)
    return body.model_copy(
        update={
            "rows": [own.model_copy(update=value) for own, value in zip(body.rows, values, strict=True)],
            "controls": [own.model_copy(update={"random": random, "order": order}) for own in body.controls],
        }
    )


def test_the_sentence_names_what_survives_beyond_random_maps(result: AnalysisResult[Any]) -> None:
    survives = changed(result.body, {GXI: (0.12, 0.09, 0.2), ATTENTION: (0.9, 0.8, 0.95)})
    assert verdict(survives) == (
        "Over 3 texts, with all from head to embeddings random, something is left of the rankings of |scores| by "
        "Attention, average (ρ 0.90 (0.80 to 0.95), the mere order of the text 0.50), and nothing of those by Input × "
        "gradient (random maps: ρ up to 0.10)."
    )
    nothing = changed(result.body, {GXI: (0.12, 0.09, 0.2), ATTENTION: (-0.9, -1, -0.8)})
    assert verdict(nothing) == (
        "Over 3 texts, with all from head to embeddings random, no ranking of |scores| survives: the highest is that "
        "of Input × gradient (ρ 0.12 (0.09 to 0.20); random maps: up to 0.10)."
    )


def test_units_that_are_random_alone_have_a_mean(result: AnalysisResult[Any]) -> None:
    body = changed(result.body, {GXI: (0.25, 0.2, 0.3), ATTENTION: (0.5, 0.4, 0.6)})
    alone = body.model_copy(update={"rows": [own for own in body.rows if own.mode == "independent"]})
    assert verdict(alone) == (
        "Over 3 texts, with one of 5 units random at a time, the mean ρ of |scores| is: "
        "Attention, average 0.50 and Input × gradient 0.25."
    )
