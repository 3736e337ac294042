"""The activation study against plain loops: curves, flips, costs, means over a data set, storage and refusals."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainlab import cli, explain, study
from explainlab.analyses.ablation.result import AblationText
from explainlab.analyses.activation.analysis import flip
from explainlab.analyses.activation.result import ActivationText, Curve
from explainlab.analyses.attributions import text_seed
from explainlab.analyses.evaluation.result import EvaluationText
from explainlab.analyses.registry import complete, read_result, request_key
from explainlab.attribution.subject import Subject
from explainlab.errors import Cancelled, RequestError, UnsupportedError
from explainlab.metrics.comparison import bootstrap
from explainlab.models.classifier import Classifier
from explainlab.models.context import MemoryCache
from explainlab.models.loading import load_model
from explainlab.request import Request, Unit
from explainlab.testing.observation import Recorder
from tests.attribution.conftest import Toys
from tests.metrics.conftest import case_of
from tests.metrics.test_activation import Additive, slow_area, slow_curve
from tests.metrics.test_evaluate import runs

TEXT = "A funny and warm film, well worth the evening. The plot is thin."
TEXTS = [(TEXT, "positive"), ("A dull, lifeless and slow evening.", "negative"), ("Fine.", "negative")]
WAYS = ("activation", "inverse_activation")


@pytest.fixture(scope="module")
def trained() -> Classifier:
    return load_model("embedded:bert-mini-sst2", device="cpu")


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *TEXTS])
    return str(path)


def curves_of(body: ActivationText) -> dict[tuple[str, str], Curve]:
    return {(curve.method, curve.direction): curve for curve in body.curves}


# One text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_curves_are_those_of_a_plain_loop(trained: Classifier, unit: Unit) -> None:
    options = {"occlusion": {}, "kernel_shap:samples=4n": {"samples": "4n"}, "random": {}}
    body = study(trained, "activation", TEXT, methods=["occlusion", "kernel_shap:samples=4n"], unit=unit).body
    case, seed = case_of(trained, TEXT, unit=unit), text_seed(Subject(trained, trained.encode(TEXT)))
    assert [one.method for one in body.methods] == list(options)
    assert [(c.method, c.direction) for c in body.curves] == [(name, way) for name in options for way in WAYS]
    for one in body.methods:
        found = explain(trained, TEXT, one.id, unit=unit, seed=seed, **options[one.method])
        np.testing.assert_allclose(one.scores, found.scores, rtol=0, atol=1e-5 * np.abs(found.scores).max())
        for way in WAYS:
            curve = curves_of(body)[one.method, way]
            slow = slow_curve(trained, case, one.scores, way == "inverse_activation", "mask")
            assert np.array(curve.probabilities)[:, case.target] == pytest.approx(slow, abs=2e-6)
            assert curve.auc == pytest.approx(slow_area(slow), abs=2e-6)
            assert curve.k == list(range(len(case.units.content) + 1))
            shown = [one.scores[i] for i in curve.order]
            assert shown == sorted(shown, reverse=way == "activation")
            assert sorted(curve.order) == case.units.content.tolist()


def test_every_class_is_told_at_every_k(encoder: Classifier) -> None:
    first, second = (study(encoder, "activation", TEXT, methods=["random"], target=t).body for t in "01")
    assert len(encoder.labels) == len(first.curves[0].probabilities[0])
    for one, other in zip(first.curves, second.curves, strict=True):
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=2e-6)
        assert one.auc != other.auc
    assert first.prediction.probabilities == pytest.approx(
        dict(zip(encoder.labels, first.curves[0].probabilities[-1], strict=True)), abs=1e-6
    )


def test_the_terms_of_an_additive_model_have_the_best_curves(toys: Toys) -> None:
    body = study(toys(Additive), "activation", TEXT, methods=["occlusion", "input_x_gradient"]).body
    areas = {key: curve.auc for key, curve in curves_of(body).items()}
    rising, falling = ({name: area for (name, way), area in areas.items() if way == asked} for asked in WAYS)
    assert rising["occlusion"] == max(rising.values())
    assert falling["occlusion"] == min(falling.values())
    ends = np.array(body.curves[0].probabilities)[[0, -1], body.target.index].sum()
    assert rising["occlusion"] + falling["occlusion"] == pytest.approx(ends, abs=1e-6)


@pytest.mark.parametrize(
    ("predicted", "target", "expected"),
    [
        ([0, 0, 1, 1], 1, 2),
        ([1, 0, 1, 0, 1], 1, 4),
        ([1, 1, 1], 1, 0),
        ([1, 1, 0], 1, None),
        ([0, 0], 1, None),
        ([2, 0], 0, 1),
    ],
)
def test_a_flip_is_where_the_target_is_reached_for_good(
    predicted: list[int], target: int, expected: int | None
) -> None:
    probabilities = np.full((len(predicted), 3), 0.2)
    probabilities[np.arange(len(predicted)), predicted] = 0.6
    assert flip(probabilities, target) == expected


def test_flips_agree_with_the_model(trained: Classifier) -> None:
    body = study(trained, "activation", TEXT, methods=["occlusion"], unit="word").body
    for curve in body.curves:
        predicted = np.argmax(curve.probabilities, axis=1)
        assert set(predicted[curve.flip :]) == {body.target.index}
        assert curve.flip == 0 or predicted[curve.flip - 1] != body.target.index
    wrong = "negative" if body.prediction.label == "positive" else "positive"
    other = study(trained, "activation", TEXT, methods=["occlusion"], unit="word", target=wrong).body
    assert {curve.flip for curve in other.curves} == {None}


def test_costs_are_passes_and_what_they_are_beyond_the_inference(encoder: Classifier) -> None:
    methods = ["input_x_gradient", "attention_last", "kernel_shap", "kernel_shap:samples=16n"]
    with runs(encoder) as seen:
        result = study(encoder, "activation", TEXT, methods=methods, unit="word")
    n = result.body.curves[0].k[-1]
    costs = {one.method: one.cost for one in result.body.methods}
    assert [costs[name].passes for name in methods] == [2, 1, 2 * n + 2, 16 * n + 2]
    assert (costs["input_x_gradient"].relative, costs["attention_last"].relative) == (1, 0)
    assert (costs["random"].passes, costs["random"].relative) == (1, 0)
    assert (costs["input_x_gradient"].forward, costs["input_x_gradient"].backward) == (1, 1)
    shared = 3  # the passes over the text itself of random and of both kernel_shap are that of the prediction
    assert result.cost.forward == len(seen) + shared
    assert result.cost.seconds > 0


def test_curves_of_many_methods_run_no_input_twice(encoder: Classifier) -> None:
    asked = {"unit": "word", "reference": "occlusion"}
    alone = study(encoder, "activation", TEXT, methods=["occlusion"], **asked)
    both = study(encoder, "activation", TEXT, methods=["occlusion", "occlusion:baseline=unk"], **asked)
    n = len(both.body.curves[0].order)
    more = both.cost.forward - alone.cost.forward
    assert more <= both.body.methods[1].cost.forward + 2 * (n - 1), "the masked text and the text are there"
    assert both.body.curves[: len(WAYS)] == alone.body.curves[: len(WAYS)]


@pytest.mark.parametrize("baseline", ["pad", "unk"])
def test_the_baseline_is_what_stands_for_the_hidden(encoder: Classifier, baseline: str) -> None:
    body = study(encoder, "activation", TEXT, methods=["occlusion"], baseline=baseline).body
    case = case_of(encoder, TEXT)
    slow = slow_curve(encoder, case, body.methods[0].scores, False, baseline)
    assert np.array(body.curves[0].probabilities)[:, case.target] == pytest.approx(slow, abs=2e-6)
    assert body.baseline == baseline


def test_a_text_of_one_word(encoder: Classifier) -> None:
    body = study(encoder, "activation", "film", methods=["kernel_shap"], unit="word", reference="lime").body
    assert {tuple(curve.k) for curve in body.curves} == {(0, 1)}
    assert len({curve.auc for curve in body.curves}) == 1, "there is only one order"
    assert abs(body.similarity["kernel_shap"]) == pytest.approx(1)


def test_the_cosine_with_a_reference(encoder: Classifier) -> None:
    asked = {"methods": ["occlusion", "gradient"], "reference": "kernel_shap:samples=16n"}
    body = study(encoder, "activation", TEXT, unit="word", **asked).body
    content = [i for i, feature in enumerate(body.features) if not feature.special]
    reference = [body.reference.scores[i] for i in content]
    assert body.reference.method == "kernel_shap:samples=16n"
    assert list(body.similarity) == ["occlusion", "gradient", "random"]
    for one in body.methods:
        scores = [one.scores[i] for i in content]
        dot = sum(x * y for x, y in zip(scores, reference, strict=True))
        size = sum(x * x for x in scores) ** 0.5 * sum(y * y for y in reference) ** 0.5
        assert body.similarity[one.method] == pytest.approx(dot / size)
    itself = study(encoder, "activation", TEXT, unit="word", methods=["lime"], reference="lime").body
    assert itself.similarity["lime"] == pytest.approx(1)


# A data set ----------------------------------------------------------------------------------------------------------


def test_a_data_set_has_the_means_of_its_texts_with_intervals(trained: Classifier, data: str) -> None:
    asked = {"methods": ["input_x_gradient", "occlusion"], "unit": "word", "reference": "kernel_shap"}
    body = study(trained, "activation", data=data, **asked).body
    alone = [study(trained, "activation", text, **asked).body for text, _ in TEXTS]
    assert (body.n, body.reference, len(body.grid)) == (3, "kernel_shap", 51)
    for i, curve in enumerate(body.curves):
        found = np.array([on_grid(one.curves[i], one.target.index, body.grid) for one in alone])
        np.testing.assert_allclose(curve.mean, found.mean(axis=0), atol=2e-6)
        for point in (0, 17, 50):
            _, low, high = bootstrap(found[:, point])
            assert (curve.low[point], curve.high[point]) == pytest.approx((low, high), abs=2e-6)
    for row in body.rows:
        for way in WAYS:
            areas = [curves_of(one)[row.method, way].auc for one in alone]
            area = row.area(way)
            assert (area.mean, area.low, area.high) == pytest.approx(bootstrap(areas), abs=2e-6)
            assert [text.auc[row.method][way] for text in body.texts] == pytest.approx(areas, abs=2e-6)
        passes = [next(m.cost.passes for m in one.methods if m.method == row.method) for one in alone]
        assert (row.passes, row.relative) == (np.mean(passes), np.mean(passes) - 1)
        similar = [one.similarity[row.method] for one in alone]
        assert body.similarity[row.method].mean == pytest.approx(np.mean(similar), abs=1e-4)


def on_grid(curve: Curve, target: int, grid: list[float]) -> list[float]:
    """Interpolate by straight lines between neighbouring k/n, segment by segment."""
    values = [row[target] for row in curve.probabilities]
    n, found = len(values) - 1, []
    for x in grid:
        k = min(int(x * n + 1e-9), n - 1)
        found.append(values[k] + (x * n - k) * (values[k + 1] - values[k]))
    return found


def test_one_text_has_no_interval(trained: Classifier, data: str) -> None:
    body = study(trained, "activation", data=data, methods=["random"], rows=1).body
    assert {(curve.low, curve.high) for curve in body.curves} == {(None, None)}
    assert body.rows[0].activation.low is None
    assert body.similarity == {}
    assert body.texts[0].similarity == {}


def test_gold_explains_the_label_of_every_row(trained: Classifier, data: str) -> None:
    body = study(trained, "activation", data=data, methods=["occlusion"], target="gold", unit="word").body
    assert [text.target for text in body.texts] == [label for _, label in TEXTS]
    last = body.texts[-1]
    assert last.predicted != last.target
    assert last.flip["occlusion"] == dict.fromkeys(WAYS)
    named = study(trained, "activation", TEXTS[-1][0], methods=["occlusion"], target="negative", unit="word").body
    assert last.auc["occlusion"]["activation"] == pytest.approx(named.curves[0].auc, abs=2e-6)


def test_equal_masked_texts_of_a_data_set_are_run_once(encoder: Classifier, tmp_path: Path) -> None:
    path = tmp_path / "twins.csv"
    path.write_text("text\na good film\na good story\n", encoding="utf-8")
    with runs(encoder) as seen:
        result = study(encoder, "activation", data=str(path), methods=["random"])
    originals = sum(seen.count(tuple(encoder.encode(text).ids.tolist())) for text in ("a good film", "a good story"))
    perturbed = [ids for ids in seen if encoder.tokenizer.mask_token_id in ids]
    assert len(perturbed) == len(set(perturbed)) == len(seen) - originals
    assert result.cost.forward == len(seen) + 2  # random needs the prediction too, which is known


def test_a_stopped_study_goes_on_where_it_was(encoder: Classifier, data: str, monkeypatch) -> None:
    monkeypatch.setattr("explainlab.analyses.text_analysis.GROUP_EVALUATIONS", 1)

    memory, recorder, asked = MemoryCache(), Recorder(), {"data": data, "methods": ["occlusion"], "unit": "word"}

    def stop() -> None:
        if memory.bodies:
            raise Cancelled

    context = replace(recorder.context, cache=memory, results=memory)
    with pytest.raises(Cancelled):
        study(encoder, "activation", context=replace(context, check_cancelled=stop), **asked)
    kept = dict(memory.bodies)
    assert kept
    with runs(encoder) as seen:
        result = study(encoder, "activation", context=context, **asked)
    assert recorder.seen[-1] == (3, 3, "texts")
    assert recorder.seen == sorted(recorder.seen), "progress never goes back"
    assert kept.keys() <= memory.bodies.keys()
    whole = study(encoder, "activation", **asked)
    assert len(seen) < whole.cost.forward
    assert [row.activation for row in result.body.rows] == [row.activation for row in whole.body.rows]
    assert read_result(json.loads(json.dumps(result.to_json(), allow_nan=False))).body == result.body


def test_equal_questions_have_equal_keys_and_other_data_another(tmp_path: Path) -> None:
    data = tmp_path / "texts.csv"
    data.write_text("text\na good film\n", encoding="utf-8")

    def key(*methods: str, **parameters) -> str:
        asked = {"methods": list(methods), **parameters}
        return request_key(complete(Request(question="activation", model="m", text=TEXT, parameters=asked)), "0" * 64)

    assert key("lime") == key("lime:samples=200") == key("lime", "random") != key("lime:samples=100")
    assert key("lime") != key("lime", reference="kernel_shap")
    method = f"occlusion:baseline=max_entropy:baseline_data={data}"
    before = key(method)
    data.write_text("text\nanother film\n", encoding="utf-8")
    assert key(method) != before


# Refusals and the command line ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"methods": "occlusoin"}, "Did you mean occlusion"),
        ({"methods": ["lime", "lime:samples=200"]}, "each once"),
        ({"methods": []}, "one or more methods"),
        ({"methods": "lime:samples=0"}, "lime: samples = '0' is not accepted"),
        ({"reference": "kernel_shap:sample=16n"}, "kernel_shap has no parameter 'sample'"),
        ({"baseline": "zero"}, "baseline = 'zero'"),
    ],
)
def test_what_cannot_be_is_named(encoder: Classifier, parameters: dict, told: str) -> None:
    with pytest.raises(RequestError) as refused:
        study(encoder, "activation", TEXT, **parameters)
    assert told in str(refused.value)


def test_what_the_model_cannot_support_is_refused_before_anything_runs(zoo) -> None:
    t5, gpt2 = zoo("t5"), zoo("gpt2")
    with pytest.raises(UnsupportedError, match="Attention rollout cannot run"):
        study(t5, "activation", TEXT, methods=["occlusion", "attention_rollout"])
    with runs(gpt2) as seen, pytest.raises(UnsupportedError, match="has no unk token"):
        study(gpt2, "activation", TEXT, methods=["occlusion"], baseline="unk")
    assert not seen


def test_random_path_integration_is_judged_and_chosen_by_areas(encoder: Classifier) -> None:
    asked = {"metrics": ["activation_auc", "inverse_activation_auc", "comprehensiveness"], "samples": 3, "steps": 2}
    body = study(encoder, "rpi_candidates", TEXT, **asked).body
    values = {key: [candidate.metrics[key] for candidate in body.candidates] for key in body.winners}
    assert list(values) == asked["metrics"]
    assert body.winners["activation_auc"] == int(np.argmax(values["activation_auc"]))
    assert body.winners["inverse_activation_auc"] == int(np.argmin(values["inverse_activation_auc"]))
    best = explain(encoder, TEXT, "rpi", samples=3, steps=2, select_by="activation_auc")
    assert best.scores.tolist() == body.candidates[body.winners["activation_auc"]].scores


def run(monkeypatch, capsys, *arguments: str) -> str:
    monkeypatch.setattr("sys.argv", ["explainlab", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    return capsys.readouterr().out


def test_the_command_line_prints_the_contract_and_a_table(monkeypatch, capsys, zoo_path, data: str) -> None:
    asked = ["study", "activation", "--model", str(zoo_path("bert")), "--unit", "word"]
    asked += ["--set", "methods=occlusion,kernel_shap:samples=4n", "--set", "reference=kernel_shap:samples=16n"]
    found = json.loads(run(monkeypatch, capsys, *asked, "--text", TEXT, "--json"))
    assert found["study"] == "activation"
    assert found["parameters"]["methods"] == ["occlusion", "kernel_shap:samples=4n", "random"]
    assert all(c.keys() >= {"method", "direction", "order", "k", "probabilities", "auc"} for c in found["curves"])
    head, *lines = run(monkeypatch, capsys, *asked, "--text", TEXT).splitlines()[-4:]
    assert head.split() == ["method", "AS", "AUC", "IAS", "AUC", "flips", "at", "passes"]
    assert [line.split()[0] for line in lines] == found["parameters"]["methods"]
    assert float(lines[0].split()[1]) == pytest.approx(found["curves"][0]["auc"], abs=1e-4)
    printed = json.loads(run(monkeypatch, capsys, *asked, "--data", data, "--json"))
    table = run(monkeypatch, capsys, *asked, "--data", data)
    assert f"{printed['rows'][0]['activation']['mean']:.4f} [" in table
    assert "Cosine with kernel_shap:samples=16n" in table


def test_evaluate_judges_by_both_areas(monkeypatch, capsys, zoo_path, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('text,label\n"a good film, a great story",0\nnot a good film,1\n', encoding="utf-8")
    asked = ["evaluate", "--model", str(zoo_path("bert")), "--data", str(path), "--methods", "occlusion", "--json"]
    found = json.loads(run(monkeypatch, capsys, *asked, "--metrics", "activation_auc,inverse_activation_auc"))
    rows = {(row["method"], row["metric"]): row for row in found["rows"]}
    assert len(rows) == 6, "occlusion is there reversed too"
    body = study(load_model(str(zoo_path("bert"))), "activation", data=str(path), methods=["occlusion"]).body
    for row in body.rows:
        for way in WAYS:
            assert rows[row.method, f"{way}_auc"]["mean"] == pytest.approx(row.area(way).mean, abs=2e-6)
            assert rows[row.method, f"{way}_auc"]["preset"] == ""


@pytest.mark.parametrize("question", ["activation", "evaluation", "ablation"])
def test_an_output_that_is_chosen_is_that_of_all_methods(encoder: Classifier, question: str) -> None:
    """LRP and the reference preset of RPI explain the logit by themselves."""
    rpi = {"preset": "reference", "samples": 2, "steps": 2}
    asked: dict[str, Any] = {
        "activation": {"methods": "lrp"},
        "evaluation": {"methods": "lrp", "metrics": "log_odds"},
        "ablation": {"methods": "rpi", "settings": {"rpi": rpi}, "samples": 2, "metrics": "log_odds"},
    }
    own, logit, probability = (
        _of_first(study(encoder, question, TEXT, **asked[question], output=output).body)
        for output in (None, "logit", "probability")
    )
    assert own == logit != probability
    if question != "ablation":
        expected = explain(encoder, TEXT, "lrp", output="probability").scores
        np.testing.assert_allclose(probability, expected, rtol=1e-5, atol=1e-8)


def _of_first(body: ActivationText | EvaluationText | AblationText) -> Any:
    """Return the scores of the first method; for an ablation, which keeps none, its selection."""
    if isinstance(body, EvaluationText):
        return body.scores["lrp"]
    return body.methods[0].scores if isinstance(body, ActivationText) else body.methods[0].selection
