"""The intermediate_predictions study: every position against a plain pass over the text that ends there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from explainlab import cli, explain, study
from explainlab.analyses.intermediate_predictions.result import IntermediatePredictionsText, TextPositions
from explainlab.errors import UnsupportedError
from explainlab.models.classifier import Classifier
from tests.attribution.plain import Plain, close
from tests.conftest import Zoo
from tests.zoo import LABELS

TEXT = "A funny film. It isn't good!"
STUDY = "intermediate_predictions"


@pytest.fixture(params=["gpt2", "llama", "mistral"])
def classifier(request: pytest.FixtureRequest, zoo: Zoo) -> Classifier:
    return zoo(request.param)


def logits(body: IntermediatePredictionsText | TextPositions) -> np.ndarray:
    """Return the logits [n_features, classes]."""
    return np.array([list(position.logits.values()) for position in body.positions])


@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_every_position_is_a_pass_over_the_text_up_to_it(classifier: Classifier, unit: str) -> None:
    plain = Plain(classifier.id, classifier.tokenizer)
    ids = plain.ids(TEXT)
    body = study(classifier, STUDY, TEXT, unit=unit).body
    lengths = np.cumsum([len(feature.ids) for feature in body.features])
    expected = torch.cat([plain.model(inputs_embeds=plain.embed(ids[:length])).logits for length in lengths])
    close(logits(body), expected)
    probabilities = [list(position.probabilities.values()) for position in body.positions]
    close(np.array(probabilities), expected.softmax(dim=-1))
    assert all(tuple(position.logits) == LABELS for position in body.positions)
    assert body.positions[-1].probabilities == body.prediction.probabilities


def test_ends_are_where_features_end(zoo: Zoo) -> None:
    body = study(zoo("llama"), STUDY, TEXT, unit="word").body
    assert body.features[0].special
    ends = [0 if feature.special else feature.end for feature in body.features]
    assert [position.end for position in body.positions] == ends
    assert ends == sorted(ends)
    assert ends[-1] == len(TEXT)


def test_differences_are_single_pass_progressive_inference(classifier: Classifier) -> None:
    body = study(classifier, STUDY, TEXT, unit="word", target=1).body
    scores = explain(classifier, TEXT, "sp_pi", unit="word", target=1, start="zero").scores
    special = [feature.special for feature in body.features]
    close(np.diff(logits(body)[np.logical_not(special), 1], prepend=0), scores[np.logical_not(special)], 1e-5)


def test_one_pass_a_text(decoder: Classifier) -> None:
    cost = study(decoder, STUDY, TEXT).cost
    assert (cost.forward, cost.backward) == (1, 0)
    assert cost.seconds > 0


def test_a_data_set_runs_together_and_tells_when_predictions_settle(decoder: Classifier, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    texts = ["a good film", "not good at all, I did not like this film", "film"]
    path.write_text("text\n" + "\n".join(f'"{text}"' for text in texts) + "\n", encoding="utf-8")
    found = study(decoder, STUDY, data=str(path))
    assert found.cost.forward == len(texts)
    for text, body in zip(texts, found.body.texts, strict=True):
        alone = study(decoder, STUDY, text).body
        close(logits(body), logits(alone), 1e-5)
        classes = logits(alone).argmax(axis=1).tolist()
        settled = next(i for i in range(len(classes)) if set(classes[i:]) == {classes[-1]})
        assert body.settled == pytest.approx((settled + 1) / len(classes))
    assert found.body.summary.n == len(texts)
    assert found.body.summary.settled.mean == pytest.approx(np.mean([body.settled for body in found.body.texts]))


@pytest.mark.parametrize("name", ["bert", "modernbert", "t5"])
def test_other_models_are_refused_with_the_reason(zoo: Zoo, name: str) -> None:
    family = zoo(name).architecture.family
    with pytest.raises(UnsupportedError, match=f"A {family} model makes no .*: it is not a causal decoder"):
        study(zoo(name), STUDY, TEXT)


def test_the_command_line_prints_the_contract(monkeypatch, capsys, zoo_path) -> None:
    options = ["--model", str(zoo_path("gpt2")), "--text", TEXT, "--unit", "word"]
    monkeypatch.setattr("sys.argv", ["explainlab", "study", STUDY, *options, "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    found = json.loads(capsys.readouterr().out)
    assert not ended.value.code
    assert found.keys() >= {"study", "parameters", "seed", "features", "positions"}
    assert len(found["positions"]) == len(found["features"])
    assert all(position.keys() == {"end", "logits", "probabilities"} for position in found["positions"])


def test_a_prompt_that_asks_after_the_text_is_warned_of(zoo: Zoo, speaker: Zoo) -> None:
    share, warning = study(speaker("gpt2"), STUDY, TEXT).warnings
    assert "label words" in share
    assert "only at its end" in warning
    assert not study(zoo("gpt2"), STUDY, TEXT).warnings
