"""The trust study: closed forms, the very map that is shown, a slow recount, data sets, and refusals."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explainlab import cli, explain, study
from explainlab.analyses.registry import answer, complete, get_study, request_key, studies
from explainlab.analyses.trust.figures import beaten
from explainlab.analyses.trust.verdict import NONE_LONG
from explainlab.errors import RequestError, UnsupportedError
from explainlab.metrics.evaluate import RANDOM_MAPS, TIE
from explainlab.models.batching import HALVED
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Request
from explainlab.text.units import group
from tests.attribution.conftest import Toys
from tests.attribution.test_baselines import room_for
from tests.metrics.slow import slow
from tests.metrics.test_perturbation import Bag, Constant

TEXT = "I did not like this film at all. It isn't funny, and the acting is worse than the plot!"


def test_the_best_order_beats_all_random_maps(toys: Toys) -> None:
    body = study(toys(Bag), "trust", TEXT, method="input_x_gradient", output="logit").body
    removed, kept = body.metrics
    assert (removed.metric, kept.metric) == ("comprehensiveness", "sufficiency")
    assert (removed.beaten, kept.beaten) == (1, 1)
    assert removed.value > removed.high >= removed.median >= removed.low
    assert kept.value < kept.low


def test_under_a_constant_model_every_map_ties(toys: Toys) -> None:
    for one in study(toys(Constant), "trust", TEXT, method="random").body.metrics:
        assert (one.beaten, one.value, one.median) == (0.5, 0, 0)
        assert one.counted > 0


@pytest.mark.parametrize(
    ("method", "settings", "common"),
    [
        ("gradient_shap", {"samples": 3, "noise": 0.1}, {"seed": 5, "unit": "word"}),
        ("kernel_shap", {}, {"seed": 2, "text_pair": "A good film."}),
        ("rpi", {"samples": 3, "steps": 2, "preset": "reference"}, {"output": "logit", "target": "1"}),
        ("random", {}, {"seed": 9}),
    ],
)
def test_the_map_is_the_one_that_explain_gives(encoder: Classifier, method: str, settings: dict, common: dict) -> None:
    body = study(encoder, "trust", TEXT, method=method, settings=settings, **common).body
    shown = explain(encoder, TEXT, method=method, **settings, **{"output": "probability", **common})
    np.testing.assert_allclose(body.scores, shown.scores, rtol=0, atol=1e-5 * np.abs(shown.scores).max())
    assert body.target.index == shown.target.index
    assert [feature.text for feature in body.features] == [feature.text for feature in shown.features]


@pytest.mark.parametrize(
    ("method", "settings"),
    [("lrp", {}), ("gae", {}), ("rpi", {"preset": "reference", "samples": 2, "steps": 2}), ("occlusion", {})],
)
def test_without_a_choice_it_is_the_methods_own_output(encoder: Classifier, method: str, settings: dict) -> None:
    result, shown = (
        study(encoder, "trust", TEXT, method=method, settings=settings),
        explain(encoder, TEXT, method, **settings),
    )
    assert result.request.output == shown.request.output == ("probability" if method == "occlusion" else "logit")
    np.testing.assert_allclose(result.body.scores, shown.scores, rtol=0, atol=1e-5 * np.abs(shown.scores).max())
    written = study(encoder, "trust", TEXT, method=method, settings=json.dumps(settings))
    assert written.request.output == shown.request.output


@pytest.mark.parametrize("method", ["occlusion", "random"])
def test_a_slow_recount_agrees(encoder: Classifier, method: str) -> None:
    body = study(encoder, "trust", TEXT, method=method, seed=4).body
    encoding, target = encoder.encode(TEXT), body.target.index
    units = group(encoding, "token")
    seed = int(np.random.SeedSequence([4, zlib.crc32(f"{TEXT}\x00None".encode())]).generate_state(1)[0])
    maps = [body.scores, *np.random.default_rng(seed).random((RANDOM_MAPS, len(units.features))).tolist()]
    for one, sign in zip(body.metrics, (1, -1), strict=True):
        value, *usual = (slow(one.metric, "rpi", encoder, encoding, units, target, scores) for scores in maps)
        ahead = [sign * (value - other) for other in usual]
        assert one.value == pytest.approx(value, abs=2e-6)
        assert one.beaten == pytest.approx(np.mean([0.5 if abs(by) <= TIE else by > 0 for by in ahead]))
        assert one.median == pytest.approx(np.median(usual), abs=2e-6)
        assert (one.low, one.high) == pytest.approx(tuple(np.percentile(usual, [5, 95])), abs=2e-6)
        assert one.label.endswith("(RPI)")


def test_the_steps_tell_what_was_read(encoder: Classifier) -> None:
    body = study(encoder, "trust", TEXT, method="occlusion", unit="word").body
    before = body.prediction.probabilities[body.target.label]
    words = [feature.text for feature in body.features if not feature.special]
    removed, kept = body.metrics
    (without,), (only,) = removed.steps, kept.steps
    assert len(without.removed) == removed.counted == kept.counted == len(words) * 20 // 100
    assert sorted(without.removed + only.removed) == sorted(words)
    assert removed.value == pytest.approx(before - without.probability, abs=1e-6)
    assert kept.value == pytest.approx(before - only.probability, abs=1e-6)
    assert without.text != only.text


def test_a_text_too_short_counts_nothing_and_ties(encoder: Classifier) -> None:
    for one in study(encoder, "trust", "good film", method="occlusion").body.metrics:
        assert (one.counted, one.value, one.beaten) == (0, 0, 0.5)
        assert one.steps[0].removed == []


def test_warnings_of_the_map_are_kept(encoder: Classifier) -> None:
    told = study(encoder, "trust", TEXT, method="rpi", settings={"samples": 2, "steps": 2}).warnings
    assert any("best of 2 maps" in warning for warning in told)


def test_a_data_set_tells_the_mean_share_beaten(encoder: Classifier, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    texts = [TEXT, "A good film with a good plot and good acting.", "good film"]
    path.write_text("text\n" + "".join(f'"{text}"\n' for text in texts), encoding="utf-8")
    result = study(encoder, "trust", data=str(path), method="occlusion")
    body = result.body
    alone = [study(encoder, "trust", text, method="occlusion").body.metrics for text in texts]
    assert body.summary.n == 3
    for i, one in enumerate(body.summary.metrics):
        assert one.beaten.mean == pytest.approx(np.mean([found[i].beaten for found in alone[:2]]))
        assert one.value.mean == pytest.approx(np.mean([found[i].value for found in alone[:2]]), abs=1e-6)
        assert one.beaten.low <= one.beaten.mean <= one.beaten.high
        assert one.counted == 2
    assert [text.metrics[0].counted for text in body.texts] == [found[0].counted for found in alone]
    labels = " and ".join(metric.label for metric in body.summary.metrics)
    said = f"Left out by {labels}: 1 of 3 texts, as 20% of a text is less than one feature: choose a larger share."
    assert studies()["trust"].report(result).headline.endswith(said)
    assert beaten(body).rows == [
        {"metric": metric.label, "row": row, "beaten": alone[row - 1][i].beaten}
        for i, metric in enumerate(body.summary.metrics)
        for row in (1, 2)
    ]


def test_a_data_set_of_short_texts_alone_tells_nothing(encoder: Classifier, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("text\ngood film\ndull\n", encoding="utf-8")
    result = study(encoder, "trust", data=str(path), method="occlusion")
    words = studies()["trust"].report(result).headline
    assert words.startswith(f"{NONE_LONG} Left out by ")
    assert "2 of 2 texts" in words
    assert beaten(result.body).rows == []


def test_equal_questions_have_equal_keys_and_other_data_another(tmp_path: Path) -> None:
    data = tmp_path / "texts.csv"
    data.write_text("text\na good film\n", encoding="utf-8")

    def key(**settings) -> str:
        parameters = {"method": "occlusion", "settings": settings}
        return request_key(complete(Request(question="trust", model="m", text=TEXT, parameters=parameters)), "0" * 64)

    assert key() == key(baseline="mask") != key(baseline="zero")
    before = key(baseline="max_entropy", baseline_data=str(data))
    data.write_text("text\nanother film\n", encoding="utf-8")
    assert key(baseline="max_entropy", baseline_data=str(data)) != before


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"method": "occlusionn"}, "There is no method 'occlusionn'. Did you mean occlusion"),
        ({"method": "lime", "settings": {"samples": 0}}, "lime: samples = 0 is not accepted"),
        ({"method": "lime", "settings": {"sample": 5}}, "lime has no parameter 'sample'"),
        ({"settings": "{steps"}, "trust: settings = '{steps' is not accepted"),
        ({"method": 3}, "trust: method = 3 is not accepted"),
    ],
)
def test_what_cannot_be_is_named(encoder: Classifier, parameters: dict, told: str) -> None:
    with pytest.raises(RequestError) as refused:
        study(encoder, "trust", TEXT, **parameters)
    assert told in str(refused.value)


def test_a_method_that_the_model_cannot_support_is_refused(zoo) -> None:
    with pytest.raises(UnsupportedError, match="Attention rollout cannot run"):
        study(zoo("t5"), "trust", TEXT, method="attention_rollout")


def test_the_command_line_takes_settings_as_json(monkeypatch, capsys, zoo_path) -> None:
    asked = ["trust", "--model", str(zoo_path("bert")), "--text", TEXT, "--set", "method=gradient_shap"]
    monkeypatch.setattr("sys.argv", ["explainlab", "study", *asked, "--set", 'settings={"samples": 2}', "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    found = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    assert found["parameters"]["settings"]["samples"] == 2
    assert [one["asked"] for one in found["metrics"]] == ["comprehensiveness:preset=rpi", "sufficiency:preset=rpi"]


def test_a_stored_attribution_is_compared_and_not_run_again(encoder: Classifier) -> None:
    context = RunContext()
    request = complete(Request(model=encoder.id, text=TEXT, question="occlusion"))
    stored = answer(encoder, request, context)
    asked = complete(Request(model=encoder.id, text=TEXT, question="trust", parameters={"method": "occlusion"}))
    alone = get_study("trust").run(encoder, asked, RunContext())
    opposite = replace(stored, scores=-stored.scores)
    context.results.put_many({request_key(request, encoder.digest): opposite.to_json()})
    again = get_study("trust").run(encoder, asked, context)
    assert again.body.scores == opposite.scores.tolist()
    assert (again.cost.forward, again.cost.backward) == (alone.cost.forward, alone.cost.backward)


def test_the_pass_of_the_text_is_counted_once(encoder: Classifier) -> None:
    """Store an attribution of a named class: the text stays unread until it is compared."""
    context, named = RunContext(), {"model": encoder.id, "text": TEXT, "target": "0"}
    request = complete(Request(**named, question="occlusion"))
    context.results.put_many({request_key(request, encoder.digest): answer(encoder, request).to_json()})
    asked = complete(Request(**named, question="trust", parameters={"method": "occlusion"}))
    again, alone = (get_study("trust").run(encoder, asked, own) for own in (context, RunContext()))
    assert again.cost.forward == alone.cost.forward


def test_memory_that_ran_out_is_told_once(encoder: Classifier) -> None:
    with room_for(encoder, 8):
        warnings = study(encoder, "trust", TEXT, method="occlusion").warnings
        evaluated = study(encoder, "evaluation", TEXT, methods="occlusion").warnings
    assert [warning for warning in warnings if HALVED in warning] == [HALVED]
    assert [warning for warning in evaluated if HALVED in warning] == [HALVED]
