"""Maps of other libraries: read span by span, judged and drawn as ours.

SHAP and Captum are run. What inseq and ferret give is made by hand, in the forms that these libraries document.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import captum.attr
import numpy as np
import pytest
import torch

from explainlab import Attribution, ExplainLabError, evaluate, explain, show
from explainlab.attribution.elsewhere import spans_of
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier
from tests.conftest import loaded

TEXT = "A stirring, funny film!"


@pytest.fixture(scope="module")
def model() -> Classifier:
    return loaded("embedded:bert-mini-sst2")


def ours(model: Classifier, text: str = TEXT) -> tuple[list[str], np.ndarray]:
    """The tokens of a text, and our own scores of it."""
    return list(model.encode(text).pieces), explain(model, text, "occlusion").scores


def test_shap_of_several_outputs(model: Classifier) -> None:
    import shap  # takes 70 MB

    network, tokenizer = model.model.network, model.tokenizer

    def ask(texts: list[str]) -> np.ndarray:
        with torch.no_grad():
            return network(**tokenizer(list(texts), return_tensors="pt", padding=True)).logits.softmax(-1).numpy()

    explanation = shap.Explainer(ask, shap.maskers.Text(tokenizer), output_names=list(model.labels))(
        [TEXT], silent=True
    )
    column = model.labels.index("positive")
    for given in (explanation, explanation[0], explanation[0][:, column]):
        result = Attribution.from_scores(given, model)
        assert result.request.single_text == TEXT
        assert result.request.question == "SHAP"
        np.testing.assert_allclose(result.scores[result.content], explanation.values[0][1:-1, column])
    against = Attribution.from_scores(explanation, model, target="negative")
    np.testing.assert_allclose(against.scores, -result.scores, atol=1e-4)
    again = Attribution.from_scores(result.to_shap(), model)
    np.testing.assert_array_equal(again.scores[again.content], result.scores[result.content])


def test_to_shap_adds_up_and_is_drawn_by_it(model: Classifier) -> None:
    import shap  # takes 70 MB

    result = explain(model, TEXT, "integrated_gradients")
    given = result.to_shap()
    assert "".join(given.data) == TEXT
    total = given.base_values + given.values.sum()
    assert total == pytest.approx(result.prediction.probabilities[result.target.label])
    assert "stirring" in shap.plots.text(given, display=False)


@pytest.mark.parametrize(
    "how",
    [
        {"method": "kernel_shap", "output": "logit"},
        {"method": "occlusion", "output": "logit", "target": "negative"},
        {"method": "integrated_gradients", "output": "logit", "unit": "word"},
        {"method": "lrp"},
        {"method": "kernel_shap", "output": "logit", "text_pair": "It never loses its way."},
    ],
    ids=["predicted", "other class", "words", "own output", "pair"],
)
def test_to_shap_of_a_logit_adds_up_to_the_logit(how: dict[str, Any], model: Classifier) -> None:
    result = explain(model, TEXT, **how)
    encoding = model.encode(TEXT, how.get("text_pair"))
    with torch.no_grad():
        logits = model.model.network(
            input_ids=torch.from_numpy(encoding.ids)[None], token_type_ids=torch.from_numpy(encoding.types)[None]
        ).logits[0]
    for own in (result, Attribution.from_json(json.loads(json.dumps(result.to_json())))):
        given = own.to_shap()
        assert given.base_values + given.values.sum() == pytest.approx(float(logits[own.target.index]), rel=1e-5)


def test_a_map_of_elsewhere_adds_up_to_the_logit_that_it_explains(model: Classifier) -> None:
    tokens, scores = ours(model)
    made = Attribution.from_scores(scores, model, TEXT, tokens=tokens, output="logit")
    assert made.logit == explain(model, TEXT, "occlusion", output="logit").logit
    assert made.to_shap().base_values + made.to_shap().values.sum() == pytest.approx(made.logit)


def test_a_record_without_its_logit_is_told(model: Classifier) -> None:
    record = explain(model, TEXT, "occlusion", output="logit").to_json()
    assert "logit" not in explain(model, TEXT, "occlusion").to_json()
    del record["logit"]
    with pytest.raises(ExplainLabError, match="which logit") as told:
        Attribution.from_json(record).to_shap()
    assert told.value.remedy


def test_a_tensor_of_captum(model: Classifier) -> None:
    network, encoding = model.model.network, model.encode(TEXT)
    layer = captum.attr.LayerIntegratedGradients(
        lambda ids: network(input_ids=ids).logits.softmax(-1)[:, 1], network.get_input_embeddings()
    )
    ids = torch.from_numpy(encoding.ids)[None]
    tensor = layer.attribute(ids, baselines=torch.full_like(ids, model.tokenizer.mask_token_id), n_steps=16)
    assert tensor.shape[:2] == (1, len(encoding))
    result = Attribution.from_scores(tensor, model, TEXT, tokens=encoding.pieces, method="Captum IG")
    np.testing.assert_allclose(result.scores[result.content], tensor.sum(-1)[0].detach().numpy()[encoding.content])
    drawn = show([result, explain(model, TEXT)]).html
    assert "Captum IG: why positive" in drawn


def test_ferrets_explanation(model: Classifier) -> None:
    tokens, scores = ours(model)
    given = SimpleNamespace(text=TEXT, tokens=tokens, scores=scores, explainer="Partition SHAP", target_pos_idx=1)
    result = Attribution.from_scores(given, model)
    assert result.request.question == "Partition SHAP"
    np.testing.assert_array_equal(result.scores[result.content], scores[result.content])


@pytest.mark.parametrize("decoder", [True, False])
def test_inseqs_json(decoder: bool, model: Classifier, tmp_path: Path) -> None:
    """A map has a step for each generated token, and the first counts; a decoder's map also has its written tokens."""
    tokens, scores = ours(model)
    written = [*tokens, "yes", "."] if decoder else tokens
    matrix = np.full((len(written), 2), np.nan)
    matrix[: len(tokens), 0], matrix[: len(tokens), 1] = scores, 7.0
    cells = [[None if np.isnan(cell) else cell for cell in row] for row in matrix.tolist()]
    records = [{"token": token, "id": i} for i, token in enumerate(written)]
    of, other = ("target", "source") if decoder else ("source", "target")
    body: dict[str, Any] = {
        "sequence_attributions": [{of: records, other: [], f"{of}_attributions": cells, f"{other}_attributions": None}],
        "info": {"attribution_method": "saliency", "attr_pos_start": len(tokens)},
    }
    path = tmp_path / "map.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    for given in (path, str(path), body):
        result = Attribution.from_scores(given, model, TEXT)
        assert result.request.question == "saliency"
        np.testing.assert_array_equal(result.scores[result.content], scores[result.content])


def test_parts_of_words_add_up(model: Classifier) -> None:
    tokens, scores = ours(model)
    result = Attribution.from_scores(scores, model, TEXT, tokens=tokens, unit="word")
    assert result.scores.sum() == pytest.approx(scores[explain(model, TEXT, "occlusion").content].sum())


def test_they_are_judged_beside_ours(model: Classifier) -> None:
    """The same scores given as ours have the same metrics."""
    rows = read_dataset("embedded:sentiment", model.labels, limit=4).rows
    given = [
        Attribution.from_scores(explain(model, row.text, "gradient").scores, model, row.text,
                                tokens=list(model.encode(row.text).pieces), method="theirs")
        for row in rows
    ]  # fmt: skip
    table = evaluate(model, "embedded:sentiment", ["gradient"], ["comprehensiveness"], limit=4, sample="first",
                     attributions=given)  # fmt: skip
    means = {row.method: row.mean for row in table.body.rows}
    assert means["theirs"] == means["gradient"]
    assert means["theirs"] != means["random"]


@pytest.mark.parametrize(
    ("tokens", "text", "spans"),
    [
        (["[CLS]", "un", "##fold", "##ing", "[SEP]"], "Unfolding", [None, (0, 2), (2, 6), (6, 9), None]),
        (["ĠOil", "Ġprices"], "Oil prices", [(0, 3), (4, 10)]),
        (["▁cafe", "▁noir"], "Café noir", [(0, 4), (5, 9)]),
        (["", "a ", "b", ""], "a b", [None, (0, 2 - 1), (2, 3), None]),
        (["[", "x", "]"], "[x]", [(0, 1), (1, 2), (2, 3)]),
        (["ß", "!"], "ß!", [(0, 1), (1, 2)]),
        (["cafe", "\u0301", "s"], "café s", [(0, 4), (0, 4), (5, 6)]),
        (["\u0301", "a"], "a", [None, (0, 1)]),
        (["a", " ", "b", "\n"], "a b\n", [(0, 1), (1, 2), (2, 3), (3, 4)]),
        (["a ", " ", "b", " "], "a  b", [(0, 1), (1, 2), (3, 4), None]),
        ([" ", "a", "\t"], "a", [None, (0, 1), None]),
    ],
)
def test_tokens_are_found_in_their_text(tokens: list[str], text: str, spans: list[Any]) -> None:
    assert spans_of(tokens, text) == spans


@pytest.mark.parametrize(
    ("scores", "named", "said"),
    [
        ([1.0], {"text": "a film"}, "do not say what they are of"),
        ([1.0], {"tokens": ["film"]}, "of which text"),
        ([1.0], {"text": "a film", "tokens": ["a", "film"]}, "1 scores for 2 tokens"),
        ([1.0, float("nan")], {"text": "a film", "tokens": ["a", "film"]}, "not finite"),
        ([1.0, 2.0], {"text": "a film", "tokens": ["the", "film"]}, "Token 0 of the scores, 'the'"),
        ([1.0], {"text": "a film", "tokens": ["a"]}, "has no score for 'film'"),
        ([1.0], {"text": "a film", "tokens": ["a film"]}, "which are not a feature"),
        (object(), {"text": "a film", "tokens": ["a"]}, "holds no map"),
        ({"sequence_attributions": []}, {"text": "a film"}, "not what inseq saves"),
        ("missing.json", {"text": "a film"}, "cannot be read"),
    ],
)
def test_what_does_not_fit_is_told(scores: Any, named: dict[str, Any], said: str, model: Classifier) -> None:
    with pytest.raises(ExplainLabError, match=said) as told:
        Attribution.from_scores(scores, model, **named)
    assert told.value.remedy
