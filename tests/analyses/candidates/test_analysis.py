"""The rpi_candidates study: every number once more by a slow loop; data sets and progress."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from explainlab import explain, study
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.candidates.heatmaps import winner_maps
from explainlab.analyses.candidates.result import CandidatesText
from explainlab.analyses.figures import figures_of
from explainlab.analyses.records import Interval
from explainlab.analyses.registry import studies
from explainlab.attribution.methods.randomized import Rpi
from explainlab.attribution.subject import Subject
from explainlab.declared import parse
from explainlab.metrics.comparison import bootstrap
from explainlab.metrics.evaluate import Case, MetricResult, evaluate
from explainlab.metrics.registry import parse_metric
from explainlab.models import batching
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import Receivers, RunContext
from tests.attribution.drawn import candidates
from tests.attribution.plain import close
from tests.conftest import Zoo

TEXT = "A funny film. It isn't good, and the plot is thin!"
SEED = 7
CHEAP = {"samples": 4, "steps": 3, "seed": SEED}
LOWER = ("sufficiency", "log_odds", "aopc_sufficiency")
FIVE = ("sufficiency", "comprehensiveness", "log_odds", "aopc_sufficiency", "aopc_comprehensiveness")


@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_units_are_sums_of_tokens(zoo: Zoo, body: CandidatesText, unit: str) -> None:
    units = study(zoo("bert"), "rpi_candidates", TEXT, layers="all", unit=unit, **CHEAP).body
    starts = np.array([-1 if feature.special else feature.start for feature in body.features])
    for candidate, tokens in zip(units.candidates, body.candidates, strict=True):
        for feature, score in zip(units.features, candidate.scores, strict=True):
            if not feature.special:
                inside = (starts >= feature.start) & (starts < feature.end)
                close(score, np.array(tokens.scores)[inside].sum())


every_metric = pytest.mark.parametrize("metric", FIVE)


@pytest.fixture(scope="module")
def result(zoo: Zoo) -> AnalysisResult[CandidatesText]:
    return study(zoo("bert"), "rpi_candidates", TEXT, layers="all", **CHEAP)


@pytest.fixture(scope="module")
def body(result: AnalysisResult[CandidatesText]) -> CandidatesText:
    return result.body


def alone(classifier: Classifier, scores: list[float], metric: str, text: str = TEXT) -> MetricResult:
    """Evaluate one map by one metric with nothing beside it."""
    subject = Subject(classifier, classifier.encode(text))
    case = Case(subject.encoding, subject.units, subject.original, subject.target.index, np.array([scores]))
    return evaluate([case], [parse_metric(metric)], Batcher(classifier, RunContext()))[0][0][0]


def best(metric: str, values: list[float]) -> float:
    return min(values) if metric.startswith(LOWER) else max(values)


def first_of(body: CandidatesText, values: list[float], metric: str) -> int:
    """Return the candidate with the best of ``values``; among equal ones the lowest layer's first draw."""
    tied = [i for i, value in enumerate(values) if value == pytest.approx(best(metric, values), abs=1e-6)]
    return min(tied, key=lambda i: (body.candidates[i].layer, body.candidates[i].draw))


def column(body: CandidatesText, metric: str) -> list[float]:
    return [candidate.metrics[metric] for candidate in body.candidates]


# One text ------------------------------------------------------------------------------------------------------------


def test_candidates_are_those_of_rpi_first_draws_first(encoder: Classifier, body: CandidatesText) -> None:
    parameters = parse(Rpi, {"samples": 4, "steps": 3, "layers": "all"})
    expected = candidates(Subject(encoder, encoder.encode(TEXT), seed=SEED), parameters)
    found = {(one.layer, one.draw): one for one in body.candidates}
    assert list(found) == [(layer, draw) for draw in range(4) for layer in (3, 2, 1)]
    for candidate in expected:
        one = found[candidate.layer, candidate.draw]
        assert one.timestep == candidate.timestep
        close(np.array(one.scores), candidate.scores, 1e-6)


@every_metric
def test_every_candidate_has_the_value_it_has_alone(encoder: Classifier, body: CandidatesText, metric: str) -> None:
    judged = [alone(encoder, one.scores, metric) for one in body.candidates]
    assert column(body, metric) == pytest.approx([one.value for one in judged], abs=1e-6)
    assert body.counted[metric] == judged[0].counted > 0
    assert body.winners[metric] == first_of(body, column(body, metric), metric)


@every_metric
def test_expected_best_is_the_mean_over_all_subsets(body: CandidatesText, metric: str) -> None:
    values, found = column(body, metric), body.by_draws[metric]
    assert len(set(values)) > 1
    for r in range(1, len(values) + 1):
        every = [best(metric, list(subset)) for subset in combinations(values, r)]
        assert found.expected[r - 1] == pytest.approx(np.mean(every), abs=1e-12)
        assert found.nested[r - 1] == best(metric, values[:r])
    assert len(found.expected) == len(found.nested) == len(values)


@every_metric
def test_more_draws_are_never_worse(encoder: Classifier, body: CandidatesText, metric: str) -> None:
    for kind in ("nested", "expected"):
        gains = np.diff(getattr(body.by_draws[metric], kind)) * (-1 if metric in LOWER else 1)
        assert (gains >= -1e-12).all()
    fewer = study(encoder, "rpi_candidates", TEXT, metrics=metric, layers="all", **{**CHEAP, "samples": 2}).body
    assert column(fewer, metric) == pytest.approx(column(body, metric)[:6], abs=1e-6)
    assert fewer.selection[metric].best == pytest.approx(body.by_draws[metric].nested[5], abs=1e-6)


@every_metric
def test_the_choice_is_told_honestly(encoder: Classifier, body: CandidatesText, metric: str) -> None:
    values, told = column(body, metric), body.selection[metric]
    assert told.first == values[0]
    assert told.mean == pytest.approx(np.mean(values), abs=1e-12)
    assert told.best == best(metric, values)
    levels = [] if metric.startswith("aopc") else [f"{metric}:k=10", f"{metric}:k=50"]
    assert set(told.held_out) == {*FIVE, *levels} - {metric}
    for other, value in told.held_out.items():
        judged = [alone(encoder, one.scores, other).value for one in body.candidates]
        assert value == pytest.approx(values[first_of(body, judged, other)], abs=1e-6)


@every_metric
def test_layers_and_sets_of_layers(body: CandidatesText, metric: str) -> None:
    expected = {
        "alone": [[1], [2], [3]],
        "top_down": [[3], [2, 3], [1, 2, 3]],
        "bottom_up": [[1], [1, 2], [1, 2, 3]],
    }
    assert {name: [row.layers for row in rows] for name, rows in body.by_layer.items()} == expected
    for row in (row for rows in body.by_layer.values() for row in rows):
        union = [one.metrics[metric] for one in body.candidates if one.layer in row.layers]
        assert row.best[metric] == best(metric, union)
        assert row.maps == len(union)


def ranks(scores: list[float]) -> list[float]:
    """Average ranks, by counting."""
    return [sum(x < y for x in scores) + (sum(x == y for x in scores) + 1) / 2 for y in scores]


def test_winners_are_compared(body: CandidatesText) -> None:
    content = [i for i, feature in enumerate(body.features) if not feature.special]
    assert [(one.first, one.second) for one in body.agreement] == list(combinations(FIVE, 2))
    assert any(one.only_first for one in body.agreement)
    for one in body.agreement:
        maps = [body.candidates[body.winners[getattr(one, side)]].scores for side in ("first", "second")]
        correlation = np.corrcoef(*(ranks([scores[i] for i in content]) for scores in maps))[0, 1]
        assert one.rank_correlation == pytest.approx(correlation, abs=1e-12)
        tops = [sorted(content, key=lambda i, scores=scores: -scores[i])[:3] for scores in maps]
        assert one.only_first == [i for i in tops[0] if i not in tops[1]]
        assert one.only_second == [i for i in tops[1] if i not in tops[0]]


def test_passes_are_counted(encoder: Classifier, result: AnalysisResult[CandidatesText]) -> None:
    names = {*FIVE, *(f"{metric}:k={k}" for metric in FIVE[:3] for k in (10, 50))}
    read = {
        step.text for one in result.body.candidates for name in names for step in alone(encoder, one.scores, name).steps
    }
    read -= {encoder.tokenizer.decode(encoder.encode(TEXT).ids.tolist())}
    points = 4 * 3 * 3
    assert result.cost.backward == points
    assert result.cost.forward == 1 + points + len(read)


def test_one_layer_has_no_sets_and_a_word_too_short_is_told(encoder: Classifier) -> None:
    found = study(encoder, "rpi_candidates", "film", metrics=["comprehensiveness", "log_odds"], **CHEAP).body
    assert found.by_layer == {}
    assert found.counted == {"comprehensiveness": 0, "log_odds": 0}
    assert found.winners == {"comprehensiveness": 0, "log_odds": 0}
    assert found.agreement[0].rank_correlation is None


def test_metrics_that_cannot_tell_maps_apart_choose_none(encoder: Classifier) -> None:
    """20% of 4 tokens is no token; 50% are two."""
    metrics = ["comprehensiveness", "log_odds:k=50"]
    result = study(encoder, "rpi_candidates", "A good film.", metrics=metrics, layers="all", **CHEAP)
    body, (blind, seeing) = result.body, metrics
    assert body.undecided == [blind]
    assert body.chosen == {seeing: body.winners[seeing]}
    assert (body.agreement[0].rank_correlation, body.agreement[0].only_first) == (None, [])
    mean = np.mean(column(body, seeing))
    assert body.selection[seeing].held_out[blind] == pytest.approx(mean)
    assert body.selection[seeing].held_out["log_odds:k=10"] == pytest.approx(mean), "10% of 4 tokens is none either"
    assert studies()["rpi_candidates"].report(result).headline == (
        "Comprehensiveness (RPI) cannot tell the 12 maps apart: it is 0.0000 for all of them."
    )
    (winner,) = winner_maps(result.request.model_copy(update={"question": "rpi"}), body, "green_red")
    assert winner.keys == (seeing,)
    single = study(encoder, "rpi_candidates", "A good film.", metrics=metrics, **{**CHEAP, "samples": 1}).body
    assert single.undecided == [], "there is nothing to choose"


def test_a_data_set_leaves_out_texts_that_are_too_short(encoder: Classifier, tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f'text\n"{TEXT}"\nA good film.\n', encoding="utf-8")
    result = study(encoder, "rpi_candidates", data=str(path), metrics="comprehensiveness", **CHEAP)
    long, short = result.body.texts[0].selection["comprehensiveness"], result.body.texts[1].selection
    assert not short["comprehensiveness"].decided
    means = result.body.selection["comprehensiveness"]
    assert (means.first.mean, means.mean.mean, means.best.mean) == pytest.approx((long.first, long.mean, long.best))
    assert result.body.by_draws["comprehensiveness"].nested[-1].mean == pytest.approx(long.best)
    assert result.body.undecided("comprehensiveness") == 0
    said = studies()["rpi_candidates"].report(result).headline
    assert said.endswith(": 1 of 2 texts, as 20% of a text is less than one feature: choose a larger share.")
    assert "In 1 of them" not in said


@pytest.mark.parametrize("family", ["rpi", "rpi_g", "rpi_ig", "rpi_sig"])
def test_the_first_of_every_family_is_its_only_map(encoder: Classifier, family: str) -> None:
    found = study(encoder, "rpi_candidates", TEXT, family=family, metrics="log_odds", **CHEAP).body.candidates
    only = explain(encoder, TEXT, family, **{**CHEAP, "samples": 1})
    close(np.array(found[0].scores), only.scores, 1e-6)
    assert [one.draw for one in found] == [0, 1, 2, 3]


def test_an_adaptive_search_stays_in_its_order(encoder: Classifier) -> None:
    asked = {**CHEAP, "samples": 3, "layers": "all", "search": "adaptive"}
    found = study(encoder, "rpi_candidates", TEXT, metrics="comprehensiveness", **asked).body
    parameters = parse(Rpi, {name: value for name, value in asked.items() if name != "seed"})
    expected = candidates(Subject(encoder, encoder.encode(TEXT), seed=SEED), parameters)
    drawn = [(one.layer, one.draw, one.timestep) for one in found.candidates]
    assert drawn == [(one.layer, one.draw, one.timestep) for one in expected]
    assert found.by_draws["comprehensiveness"].expected is None
    held = {row.layers[0]: row.maps for row in found.by_layer["alone"]}
    assert sum(held.values()) == 9


def test_metrics_go_by_what_makes_them_unusual(encoder: Classifier) -> None:
    metrics = "comprehensiveness:k=10:preset=rpi,comprehensiveness:preset=ferret,aopc_sufficiency:bins=5+50"
    found = study(encoder, "rpi_candidates", TEXT, metrics=metrics, **CHEAP)
    keys = ["comprehensiveness:k=10", "comprehensiveness:preset=ferret", "aopc_sufficiency:bins=5+50"]
    assert list(found.body.winners) == keys
    assert set(found.body.selection[keys[0]].held_out) == {*keys[1:], "comprehensiveness:k=50"}
    told = {one.key: one.asked for one in found.body.metrics}
    assert [told[key] for key in keys] == found.request.parameters["metrics"]
    assert all(parse_metric(key).name == asked for key, asked in told.items())


# A data set ----------------------------------------------------------------------------------------------------------

TEXTS = [TEXT, "a good film, a great story and wonderful acting", "film"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "texts.csv"
    path.write_text("text\n" + "".join(f'"{text}"\n' for text in TEXTS), encoding="utf-8")
    return str(path)


def test_a_data_set_has_means_with_intervals(encoder: Classifier, data: str) -> None:
    asked = {**CHEAP, "layers": "2,3", "metrics": ["comprehensiveness", "sufficiency"]}
    found = study(encoder, "rpi_candidates", data=data, **asked).body
    texts = [study(encoder, "rpi_candidates", text, **asked).body for text in TEXTS]

    def check(mean: Interval, values: list[float]) -> None:
        assert [mean.mean, mean.low, mean.high] == pytest.approx(bootstrap(values), abs=1e-6)

    assert found.summary.n == 3
    assert found.summary.counted == {"comprehensiveness": 2, "sufficiency": 2}
    for metric, mean in found.summary.selection.items():
        long_enough = [text for text in texts if text.counted[metric]]
        for part in ("first", "mean", "best"):
            check(getattr(mean, part), [getattr(text.selection[metric], part) for text in long_enough])
        for other, one in mean.held_out.items():
            values = [text.selection[metric].held_out[other] for text in long_enough]
            check(one, values)
            same = [value == text.selection[metric].best for value, text in zip(values, long_enough, strict=True)]
            assert one.also_best == pytest.approx(sum(same) / 2)
        for kind in ("nested", "expected"):
            for r, one in zip(found.draws, getattr(found.by_draws[metric], kind), strict=True):
                check(one, [getattr(text.by_draws[metric], kind)[r - 1] for text in long_enough])
        for name, rows in found.by_layer.items():
            for i, row in enumerate(rows):
                check(row.best[metric], [text.by_layer[name][i].best[metric] for text in long_enough])
    (pair,) = found.summary.agreement
    correlations = [text.agreement[0].rank_correlation for text in texts]
    check(pair.rank_correlation, [one for one in correlations if one is not None])


def test_a_data_set_keeps_a_short_record_of_every_text(encoder: Classifier, data: str) -> None:
    asked = {**CHEAP, "metrics": ["log_odds"]}
    whole = study(encoder, "rpi_candidates", data=data, **asked)
    results = [study(encoder, "rpi_candidates", text, **asked) for text in TEXTS]
    for number, (record, one) in enumerate(zip(whole.body.texts, results, strict=True), 1):
        winner = one.body.candidates[one.body.winners["log_odds"]]
        assert (record.row, record.text) == (number, TEXTS[number - 1])
        told = record.winners["log_odds"]
        assert (told.layer, told.draw, told.timestep) == (winner.layer, winner.draw, winner.timestep)
        assert told.value == pytest.approx(winner.metrics["log_odds"], abs=1e-6)
    assert whole.cost.forward == sum(one.cost.forward for one in results)
    json.dumps(whole.to_json(), allow_nan=False)


def test_progress_never_goes_back(encoder: Classifier, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    spent: list[float] = []

    progress = Receivers(report=lambda done, total, _: shares.append(done / total), spend=spent.append)
    context = RunContext(progress=progress)
    monkeypatch.setattr(batching, "batch_size", lambda classifier, length, count, *rest: min(4, count))
    for source in ({"text": TEXT}, {"data": data}):
        shares.clear()
        spent.clear()
        study(encoder, "rpi_candidates", **source, context=context, layers="1,2,3", metrics="log_odds", **CHEAP)
        assert shares == sorted(shares)
        assert 0.5 < shares[-1] <= 1
        assert len(spent) >= 8
        assert min(spent) > 0


def test_a_data_set_of_short_texts_alone_has_no_mean(encoder: Classifier, tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text\ngood film\ndull\n", encoding="utf-8")
    result = study(encoder, "rpi_candidates", data=str(path), metrics="comprehensiveness,sufficiency", **CHEAP)
    means = result.body.selection["comprehensiveness"]
    assert means.best.mean is means.held_out["sufficiency"].also_best is None
    assert {value.mean for value in result.body.by_draws["comprehensiveness"].nested} == {None}
    said = studies()["rpi_candidates"].report(result).headline
    assert said.startswith("Left out by ")
    assert "2 of 2 texts" in said
    assert json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert figures_of(result).charts
    assert studies()["rpi_candidates"].report(result).lines
