"""Charts and maps of candidates, from a real study of a tiny model: every number once more by a slow loop."""

from __future__ import annotations

import csv
import io
import json

import pytest

from explainlab import study
from explainlab.analyses.candidates import figures as candidates
from explainlab.analyses.candidates.heatmaps import (
    TOP,
    candidate_attribution,
    open_map,
    scores_csv,
    small_maps,
    winner_maps,
)
from explainlab.analyses.candidates.result import CandidatesData, CandidatesText
from explainlab.analyses.registry import complete
from explainlab.figures.chart import Chart
from explainlab.request import Request
from tests.conftest import Zoo

TEXT = "A <b>funny</b> film. It isn't good, and the plot is thin!"
METRICS = "sufficiency,comprehensiveness,log_odds:k=50"
ASKED = {"samples": 3, "steps": 2, "layers": "1,3", "metrics": METRICS, "seed": 7}
REQUEST = Request(model="tiny", text=TEXT, question="rpi")


@pytest.fixture(scope="module")
def body(zoo: Zoo) -> CandidatesText:
    return study(zoo("bert"), "rpi_candidates", TEXT, **ASKED).body


@pytest.fixture(scope="module")
def data(zoo: Zoo, tmp_path_factory: pytest.TempPathFactory) -> CandidatesData:
    file = tmp_path_factory.mktemp("rows") / "rows.csv"
    file.write_text('text\n"A dull film, and long."\n"A lovely evening."\n"Not a good plot at all, sadly."\n')
    return study(zoo("bert"), "rpi_candidates", data=str(file), **ASKED).body


def values(body: CandidatesText, key: str) -> list[float]:
    return [one.metrics[key] for one in body.candidates]


def every_chart(body: candidates.Body, key: str) -> list[Chart]:
    return [candidates.by_draws(body, key), candidates.by_layer(body, key), candidates.selection(body, key)]


def line(chart: Chart, name: str):
    return next(trace for trace in chart.figure.data if trace.name == name)


@pytest.mark.parametrize("key", METRICS.split(","))
def test_every_chart_gives_its_numbers_away(body: CandidatesText, data: CandidatesData, key: str) -> None:
    charts = [*every_chart(body, key), *every_chart(data, key)]
    charts += [candidates.scatter(body, "sufficiency", key, 0), candidates.same_winners(data)]
    for chart in charts:
        assert chart.figure.layout.xaxis.title.text
        assert chart.figure.layout.yaxis.title.text
        rows = list(csv.DictReader(io.StringIO(chart.to_csv())))
        assert len(rows) == len(chart.rows) == len(json.loads(chart.to_json())["rows"]) > 0


@pytest.mark.parametrize("key", METRICS.split(","))
def test_candidates_are_ordered_best_first(body: CandidatesText, key: str) -> None:
    order = candidates.ordered(body, key)
    assert sorted(order) == list(range(6))
    higher = key == "comprehensiveness"
    assert order == sorted(order, key=lambda i: values(body, key)[i], reverse=higher)
    assert values(body, key)[order[0]] == (max if higher else min)(values(body, key))


def test_every_candidate_is_a_point_that_names_itself(body: CandidatesText) -> None:
    chart = candidates.scatter(body, "sufficiency", "comprehensiveness", 4)
    points = [trace for trace in chart.figure.data if trace.customdata is not None]
    found = {data[0]: (x, y) for one in points for x, y, data in zip(one.x, one.y, one.customdata, strict=True)}
    pairs = zip(values(body, "sufficiency"), values(body, "comprehensiveness"), strict=True)
    assert found == dict(enumerate(pairs))
    assert len({trace.marker.symbol for trace in points}) == len(points) == 2
    ring = line(chart, "The open map")
    assert (ring.x[0], ring.y[0]) == found[4]


def test_lines_against_draws_and_layers_are_the_studys(body: CandidatesText, data: CandidatesData) -> None:
    drawn = line(candidates.by_draws(body, "sufficiency"), candidates.DRAWS["nested"].label)
    assert list(drawn.y) == [min(values(body, "sufficiency")[:r]) for r in range(1, 7)]
    mean = line(candidates.by_draws(data, "sufficiency"), candidates.DRAWS["expected"].label)
    assert list(mean.x) == data.draws
    assert max(mean.error_y.array) > 0
    layers = candidates.by_layer(body, "sufficiency")
    alone = line(layers, candidates.LAYERS["alone"].label)
    wanted = [min(v.metrics["sufficiency"] for v in body.candidates if v.layer == layer) for layer in (1, 3)]
    assert dict(zip(alone.x, alone.y, strict=True)) == dict(zip(("1", "3"), wanted, strict=True))
    assert list(line(layers, candidates.LAYERS["top_down"].label).x) == ["1, 3"]
    assert not line(layers, candidates.LAYERS["bottom_up"].label).x, "the same set is drawn once"


def test_an_oracle_is_called_one(body: CandidatesText) -> None:
    choices = dict(candidates.choices(body.selection["sufficiency"], body))
    assert choices[candidates.FIRST].mean == values(body, "sufficiency")[0]
    assert choices[candidates.MEAN].mean == pytest.approx(sum(values(body, "sufficiency")) / 6)
    assert choices[candidates.BEST].mean == min(values(body, "sufficiency"))
    other = body.winners["comprehensiveness"]
    assert choices["Chosen by Comprehensiveness (RPI)"].mean == values(body, "sufficiency")[other]
    assert "oracle" in candidates.BEST


def test_same_winners_are_shares_of_texts(data: CandidatesData) -> None:
    rows = {(row["reported"], row["chosen_by"]): row["share"] for row in candidates.same_winners(data).rows}
    assert len(rows) == 9
    for (reported, other), share in rows.items():
        if reported != other:
            held = [text.selection[reported] for text in data.texts]
            assert share == pytest.approx(sum(one.held_out[other] == one.best for one in held) / 3)


def test_winners_are_marked_where_only_one_of_them_ranks_a_token_high(body: CandidatesText) -> None:
    winners = winner_maps(REQUEST, body, "green_red")
    assert {key for winner in winners for key in winner.keys} == body.winners.keys()
    tops = {}
    for winner in winners:
        scores = body.candidates[winner.candidate].scores
        content = [i for i, feature in enumerate(body.features) if not feature.special]
        tops[winner.candidate] = set(sorted(content, key=lambda i, s=scores: -s[i])[:TOP])
    for winner in winners:
        others = set().union(*(top for candidate, top in tops.items() if candidate != winner.candidate))
        marked = {i for i, token in enumerate(winner.drawn.tokens) if token.conflict}
        assert marked == (tops[winner.candidate] - others if len(winners) > 1 else set())
    assert len({winner.drawn.limit for winner in winners}) == 1
    assert len({winner.drawn.file_name for winner in winners}) == len(winners)


def test_small_maps_share_one_scale_or_have_their_own(body: CandidatesText) -> None:
    for shared in (True, False):
        small = small_maps(REQUEST, body, [4, 0, 2], "sufficiency", "green_red", shared)
        assert [one.candidate for one in small.maps] == [4, 0, 2]
        assert (len({one.heatmap.limit for one in small.maps}) == 1) == shared
        assert small.maps[0].value.startswith("Sufficiency (RPI)")
        json.dumps(small.model_dump(mode="json"), allow_nan=False)
    assert open_map(REQUEST, body, 4, "green_red").tokens[3].score == body.candidates[4].scores[3]


def test_all_scores_are_given_away(body: CandidatesText) -> None:
    rows = list(csv.DictReader(io.StringIO(scores_csv(REQUEST, body))))
    assert len(rows) == 6 * len(body.features)
    for row in rows[:: len(body.features)]:
        assert float(row["score"]) == body.candidates[int(row["candidate"])].scores[0]
    best = body.winners["sufficiency"]
    assert any("best by Sufficiency" in note for note in candidate_attribution(REQUEST, body, best).notes)


@pytest.mark.parametrize("family", ["rpi", "rpi_ig"])
def test_the_maps_of_candidates_name_the_settings_of_their_method(family: str) -> None:
    asked = complete(Request(model="tiny", text=TEXT, question="rpi_candidates", parameters={"family": family}))
    drawn = candidates.family_request(asked)
    assert drawn.question == family
    assert drawn.parameters.items() <= asked.parameters.items()
    assert {"steps", "timesteps", "samples"} <= drawn.parameters.keys()
    assert ("preset" in drawn.parameters) == ("layers" in drawn.parameters) == (family == "rpi")
    assert complete(drawn) == drawn
