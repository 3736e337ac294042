"""Requests and their records: targets, outputs, units, table, JSON, and error messages."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from explainlab import Attribution, explain, load_model, methods
from explainlab.attribution.explain import answer, answer_targets
from explainlab.attribution.methods.paths import IntegratedGradients
from explainlab.attribution.records import Completeness
from explainlab.attribution.subject import Subject, class_index
from explainlab.errors import ModelError, RequestError, TextError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.request import Request
from explainlab.settings import ASSETS
from tests.attribution.conftest import Toys
from tests.attribution.test_contract import cheap
from tests.conftest import ON_ENCODERS, Zoo, loaded
from tests.failures import check_each
from tests.toys import Broken, with_network
from tests.zoo import LABELS

TEXT = "A funny film. It isn't good!"


@pytest.fixture(scope="module")
def result(encoder: Classifier) -> Attribution:
    return explain(encoder, TEXT, tolerance=0.02)


# Targets and outputs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", ["neutral", "NEUTRAL", " Neutral ", "1", 1])
def test_a_target_by_name_or_index(encoder: Classifier, asked: str | int) -> None:
    found = explain(encoder, TEXT, "gradient", target=asked)
    assert (found.target.index, found.target.label) == (1, "neutral")
    assert np.array_equal(found.scores, explain(encoder, TEXT, "gradient", target="neutral").scores)


@pytest.mark.parametrize("asked", ["joy", "3", "-1", "1.0", "", "²", "neg"])
def test_an_unknown_target_is_told_the_classes(encoder: Classifier, asked: str) -> None:
    with pytest.raises(RequestError, match=f"^'{asked}' is not a class .*negative, neutral, positive"):
        explain(encoder, TEXT, "gradient", target=asked)


@pytest.mark.parametrize(
    ("asked", "labels", "index"),
    [
        ("1", ("2", "1", "0"), 1),  # a name before an index
        ("0", ("2", "1", "3"), 0),
        ("US", ("us", "US"), 1),
        ("us", ("us", "US"), 0),
        ("predicted", ("asked", "predicted"), 1),
        ("straße", ("STRASSE", "other"), 0),
    ],
)
def test_names_come_before_indices_and_case_counts_where_it_must(asked: str, labels: tuple, index: int) -> None:
    assert class_index(asked, labels) == index


def test_an_ambiguous_case_is_refused() -> None:
    with pytest.raises(RequestError, match="'Us' is not a class"):
        class_index("Us", ("us", "US"))


def test_the_predicted_class_stays_the_target_along_the_path(zoo: Zoo) -> None:
    """At the baseline this model predicts another class."""
    classifier = zoo("llama")
    subject = Subject(classifier, classifier.encode(TEXT))
    baseline = classifier.logits(subject.inputs, subject.baseline("mask")[None])[0]
    assert int(baseline.argmax()) != subject.target.index
    found, named = (explain(classifier, TEXT, steps=8, target=target) for target in ("predicted", subject.target.label))
    assert np.array_equal(found.scores, named.scores)
    assert found.target == named.target == subject.target


def test_probability_is_explained_by_default_and_logits_where_methods_are_defined_on_them(model_for: Zoo) -> None:
    def check(method: str) -> None:
        found = explain(model_for(method), "film", method, **cheap(method))
        expected = "logit" if method in ("sp_pi", "mp_pi", "gae", "lrp", "decompx") else "probability"
        assert found.request.output == methods()[method].output == expected

    check_each(check, methods())


def test_outputs_differ_by_what_is_expected(encoder: Classifier) -> None:
    for target, label in enumerate(LABELS):
        by_output = {
            out: explain(encoder, TEXT, steps=64, target=target, output=out) for out in ("probability", "logit")
        }
        for output, found in by_output.items():
            values = []
            for ids in (encoder.encode(TEXT).ids, _masked(encoder)):
                logits = encoder.model.network(torch.tensor(ids)[None]).logits[0]
                values.append(float((logits.softmax(dim=0) if output == "probability" else logits)[target]))
            assert found.completeness.expected == pytest.approx(values[0] - values[1], rel=1e-4, abs=1e-6)
        assert by_output["probability"].target.label == label


def _masked(classifier: Classifier) -> np.ndarray:
    encoding = classifier.encode(TEXT)
    return np.where(encoding.special, encoding.ids, classifier.tokenizer.mask_token_id)


def sure(times: float) -> Classifier:
    """Return a small real model whose head is scaled, so that it is surer of the same class."""
    path = ASSETS / "models" / "bert-mini-sst2"
    network = AutoModelForSequenceClassification.from_pretrained(path).float()
    with torch.no_grad():
        network.classifier.weight.mul_(times)
        network.classifier.bias.mul_(times)
    return load_model(network, tokenizer=AutoTokenizer.from_pretrained(path))


def test_a_probability_that_nothing_moves_is_told_with_the_remedy() -> None:
    text = "a wonderful, warm, moving and brilliant film"
    models = {1: loaded("embedded:bert-mini-sst2"), 12: sure(12)}

    def check(case: tuple[int, str, str, str, str]) -> None:
        times, method, target, output, digit = case
        found = explain(models[times], text, method, target=target, output=output)
        told = [words for words in found.warnings if words.startswith("Nothing moves")]
        expected = f"Nothing moves the probability of “{target}” here: it is {digit} to the last digit. "
        assert told == ([f"{expected}Explain the logit instead."] if digit else [])

    check_each(
        check,
        [
            (12, "occlusion", "positive", "probability", "1"),
            (12, "occlusion", "negative", "probability", "0"),
            (12, "kernel_shap", "positive", "probability", "1"),
            (12, "lime", "positive", "probability", "1"),
            (12, "gradient", "positive", "probability", "1"),
            (1, "occlusion", "positive", "probability", ""),
            (12, "occlusion", "positive", "logit", ""),
            (12, "kernel_shap", "negative", "logit", ""),
            (12, "attention_last", "positive", "probability", ""),
            (12, "random", "positive", "probability", ""),
        ],
    )


# Units ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["word", "sentence"])
@pytest.mark.parametrize("method", ["integrated_gradients", "input_x_gradient", "attention_last"])
def test_a_unit_scores_the_sum_of_its_tokens(encoder: Classifier, method: str, unit: str) -> None:
    tokens, units = explain(encoder, TEXT, method), explain(encoder, TEXT, method, unit=unit)
    for feature, score in zip(units.features, units.scores, strict=True):
        inside = [
            i
            for i, token in enumerate(tokens.features)
            if token.special == feature.special and feature.start <= token.start and token.end <= feature.end
            if not feature.special or token.pieces == feature.pieces
        ]
        assert score == pytest.approx(tokens.scores[inside].sum(), abs=1e-12)
        assert feature.special or TEXT[feature.start : feature.end] == feature.text


# The record ----------------------------------------------------------------------------------------------------------


def test_the_table(result: Attribution) -> None:
    table = result.to_frame()
    assert list(table) == ["text", "start", "end", "part", "special", "score", "error", "spread", "share", "rank"]
    assert np.array_equal(table["score"], result.scores)
    assert np.array_equal(table["error"], result.errors)
    content = table[~table["special"]]
    assert list(content["text"]) == ["A", "funny", "film", ".", "It", "isn", "'", "t", "good", "!"]
    assert [TEXT[a:b] for a, b in zip(content["start"], content["end"], strict=True)] == list(content["text"])
    assert content["share"].sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(content["share"], content["score"].abs() / content["score"].abs().sum())
    assert sorted(content["rank"]) == list(range(1, 11))
    assert (content.sort_values("rank")["score"].abs().diff().dropna() <= 0).all()
    assert table[table["special"]][["share", "rank"]].isna().all(axis=None)


def test_special_tokens_take_no_share_and_no_rank(result: Attribution) -> None:
    loud = replace(result, scores=np.where([f.special for f in result.features], 1e6, result.scores))
    pd.testing.assert_frame_equal(
        loud.to_frame().drop(columns="score"), result.to_frame().drop(columns="score"), check_exact=False
    )


def test_ties_rank_in_the_order_of_the_text_and_zeros_share_nothing(result: Attribution) -> None:
    table = replace(result, scores=np.zeros(len(result.scores))).to_frame()
    assert table["rank"].dropna().tolist() == list(range(1, 11))
    assert (table["share"].dropna() == 0).all()


def test_errors_are_shown_where_there_are_some(result: Attribution) -> None:
    errors = np.linspace(0, 1e-3, len(result.scores))
    assert np.array_equal(replace(result, errors=errors).to_frame()["error"], errors)


def test_json_keeps_every_bit(result: Attribution) -> None:
    """Scores over all magnitudes, the smallest and a negative zero among them."""
    scores = (
        np.random.default_rng(0).normal(size=len(result.scores))
        * 10.0 ** np.arange(-300, 301, 50)[: len(result.scores)]
    )
    scores[:3] = -0.0, np.nextafter(0, 1), np.nextafter(1, 2)
    rich = replace(
        result, scores=scores, errors=np.abs(scores[::-1]), cut=3, warnings=("a", "b — ü"), notes=("ä",), signed=False
    )  # fmt: skip
    back = Attribution.from_json(json.loads(json.dumps(rich.to_json(), allow_nan=False)))
    assert back.scores.tobytes() == scores.tobytes()
    assert back.errors.tobytes() == rich.errors.tobytes()
    for name in vars(rich).keys() - {"scores", "errors"}:
        assert getattr(back, name) == getattr(rich, name)


def test_the_spread_of_an_ensemble_is_stored_and_older_results_have_none(result: Attribution) -> None:
    body = json.loads(json.dumps(result.to_json()))
    assert all(feature["spread"] is None for feature in body["features"])
    assert result.to_frame()["spread"].isna().all()
    for feature in body["features"]:
        del feature["spread"]
    assert Attribution.from_json(body).spread is None
    mean = replace(result, spread=np.abs(result.scores) / 3)
    assert np.array_equal(mean.to_frame()["spread"], mean.spread)
    assert Attribution.from_json(json.loads(json.dumps(mean.to_json()))).spread.tobytes() == mean.spread.tobytes()


def test_json_has_the_keys_of_the_contract(result: Attribution) -> None:
    body = result.to_json()
    assert body.keys() >= {
        "model", "text", "text_pair", "prediction", "target", "output", "unit", "method", "parameters", "seed",
        "features", "completeness", "cost", "truncated", "warnings", "versions",
    }  # fmt: skip
    assert body["features"][0].keys() >= {"text", "start", "end", "part", "special", "score", "error", "spread"}
    assert body["completeness"].keys() == {"sum", "expected", "approximation_error"}
    assert body["cost"].keys() == {"forward", "backward", "seconds"}
    assert body["target"] == {"index": result.target.index, "label": result.target.label}


def test_a_method_that_promises_nothing_says_so(encoder: Classifier) -> None:
    found = explain(encoder, TEXT, "gradient")
    assert found.completeness is None
    assert found.to_json()["completeness"] is None
    assert Attribution.from_json(found.to_json()).completeness is None


def test_versions_name_all_that_the_numbers_depend_on(encoder: Classifier, result: Attribution) -> None:
    assert result.versions.keys() == {
        "torch", "transformers", "tokenizers", "numpy", "captum", "scipy", "method", "model", "device",
    }  # fmt: skip
    assert torch.__version__.startswith(result.versions["torch"])  # which leaves out the +cu128 of a wheel from PyPI
    assert (result.versions["model"], result.versions["device"]) == (encoder.digest, "cpu")
    assert result.versions["method"] == str(methods()["integrated_gradients"].version)


def test_the_request_is_complete(encoder: Classifier, result: Attribution) -> None:
    assert result.request == Request(
        model=encoder.id,
        text=TEXT,
        question="integrated_gradients",
        parameters={**IntegratedGradients.Parameters().model_dump(), "tolerance": 0.02},
    )
    assert np.array_equal(answer(encoder, result.request).scores, result.scores)


# Messages ------------------------------------------------------------------------------------------------------------


ARABIC = "هذا الفيلم جميل جدا وقصته ممتعة للغاية."


def test_a_text_that_the_model_cannot_read_is_told() -> None:
    (warning,) = explain(loaded("embedded:bert-mini-sst2"), ARABIC, "gradient").warnings
    assert warning.startswith("The model cannot read this text")


def test_the_label_share_of_a_prompt_is_told(speaker: Zoo, encoder: Classifier) -> None:
    classifier = speaker("gpt2")
    found = explain(classifier, TEXT, "input_x_gradient")
    assert found.label_share == pytest.approx(classifier.label_share(classifier.encode(TEXT)), rel=1e-4)
    assert any("label words" in warning for warning in found.warnings)
    assert Attribution.from_json(found.to_json()).label_share == found.label_share
    assert (found.cost.forward, found.cost.backward) == (2, 1)
    assert explain(classifier, TEXT, "occlusion").cost.forward == 1 + int(found.content.sum())
    alone = explain(encoder, TEXT, "input_x_gradient")
    assert alone.label_share is None
    assert "label_share" not in alone.to_json()


def test_targets_of_a_prompted_text_read_it_once_and_cost_what_each_takes_alone(speaker: Zoo) -> None:
    classifier, read = speaker("gpt2"), []
    requests = [
        Request(model=classifier.id, text=TEXT, question="input_x_gradient", target=label)
        for label in classifier.labels
    ]
    vocabulary = classifier.model.network.get_output_embeddings()
    hook = vocabulary.register_forward_hook(lambda _, __, output: read.append(len(output)))
    try:
        together = answer_targets(classifier, requests)
    finally:
        hook.remove()
    assert read == [1]
    for request, attribution in zip(requests, together, strict=True):
        alone = answer(classifier, request)
        assert attribution.label_share == alone.label_share
        assert (attribution.cost.forward, attribution.cost.backward) == (alone.cost.forward, alone.cost.backward)
        np.testing.assert_allclose(attribution.scores, alone.scores, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    ("total", "expected", "within", "told"),
    [
        (-0.107, 0.578, 0.05, "−0.107, not +0.578 (off by 119%)"),
        (0.51, 0.5, 0.05, ""),
        (0.51, 0.5, 0.01, "+0.51, not +0.5 (off by 2%)"),
        (0.5, 0.5 * (1 + 8.7e-16), 0.01, ""),
        (0.04, 1e-4, 0.05, ""),  # scores of a total size of 1 that cancel
        (0.06, 1e-4, 0.05, "+0.06, not +0.0001"),
    ],
)
def test_a_sum_fails_beyond_what_is_promised(total: float, expected: float, within: float, told: str) -> None:
    sums = Completeness(total, expected, abs(total / expected - 1))
    assert sums.failure(within, size=1.0) == told


def test_a_failing_sum_is_a_warning() -> None:
    classifier, text = loaded("embedded:bert-mini-sst2"), "The first act drags, but the ending is so beautiful."
    for method, settings, beginning, remedy in (
        ("deep_lift", {}, "DeepLift's scores add up to ", "Its rule does not cover"),
        ("integrated_gradients", {"rule": "right", "steps": 2}, "Integrated gradients' scores add", "This text needs"),
    ):
        result = explain(classifier, text, method, **settings)
        (warning,) = result.warnings
        assert warning.startswith(beginning)
        assert f"(off by {100 * result.completeness.approximation_error:,.0f}%). {remedy}" in warning
    assert explain(classifier, text).warnings == ()
    assert explain(classifier, text, "kernel_shap").warnings == ()
    assert explain(classifier, text, rule="gauss_legendre", steps=100).warnings == ()


def test_a_cut_text_is_told_with_its_count(encoder: Classifier) -> None:
    found = explain(encoder, "film " * 50, "gradient")
    assert (found.cut, found.truncated, len(found.features)) == (4, True, 48)
    (warning,) = found.warnings
    assert "48 tokens; the last 4 of the text were cut" in warning
    assert found.to_json()["truncated"] is True
    whole = explain(encoder, "film " * 46, "gradient")
    assert (whole.cut, whole.truncated, whole.warnings) == (0, False, ())


def test_scores_of_a_damaged_model_are_refused(encoder: Classifier) -> None:
    model = copy.deepcopy(encoder.model.network)
    model.bert.pooler.dense.weight[0, 0] = torch.nan

    def check(method: str) -> None:
        with pytest.raises(ModelError, match=r"not finite numbers\. Its weight 'bert\.pooler\.dense\.weight'"):
            explain(with_network(encoder, model), "film", method, **cheap(method))

    check_each(check, ON_ENCODERS)


def test_scores_that_are_no_numbers_are_refused(toys: Toys) -> None:
    for method in ("input_x_gradient", "integrated_gradients", "deep_lift"):
        with pytest.raises(ModelError, match=r"on toy .* not finite .* dtype float32"):
            explain(toys(Broken), TEXT, method)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "gradient_descent"}, RequestError),
        ({"unit": "letter"}, RequestError),
        ({"output": "loss"}, RequestError),
        ({"seed": -1}, RequestError),
        ({"steps": 0}, RequestError),
        ({"text": " "}, TextError),
        ({"text": "[MASK] [SEP]"}, TextError),
        ({"text_pair": ""}, TextError),
    ],
)
def test_what_cannot_be_answered_is_refused_on_one_line(encoder: Classifier, options: dict, error: type) -> None:
    with pytest.raises(error) as caught:
        explain(encoder, **{"text": TEXT, **options})
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def test_a_filler_that_the_tokenizer_lacks_is_refused(decoder: Classifier) -> None:
    with pytest.raises(UnsupportedError, match="has no unk token"):
        explain(decoder, TEXT, baseline="unk")
