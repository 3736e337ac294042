"""Option ``masked``: the predictions of the text whose rest is masked, against passes over such texts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from explainlab import study
from explainlab.analyses.intermediate_predictions.figures import masked_by_position, masked_curves
from explainlab.analyses.intermediate_predictions.masked import apart, distances, mean_apart
from explainlab.analyses.intermediate_predictions.result import Position
from explainlab.analyses.registry import complete, get_study, request_key
from explainlab.reader import ANYBODY
from explainlab.request import Request
from tests.attribution.plain import Plain, close

STUDY, TEXT = "intermediate_predictions", "A funny film. It isn't good!"


@pytest.mark.parametrize("unit", ["token", "word"])
def test_everything_after_a_feature_is_masked(decoder, unit):
    plain = Plain(decoder.id, decoder.tokenizer)
    ids = plain.ids(TEXT)
    result = study(decoder, STUDY, TEXT, unit=unit, masked=True)
    lengths = np.cumsum([len(feature.ids) for feature in result.body.features])
    kept = [i for i, feature in enumerate(result.body.features) if not feature.special]
    content = decoder.encode(TEXT).content
    for i in kept:
        version = torch.tensor(ids).clone()
        rest = (np.arange(len(content)) >= lengths[i]) & content
        version[torch.from_numpy(rest)] = decoder.filler_id("mask")
        expected = plain.model(inputs_embeds=plain.embed(version)).logits[0].softmax(dim=-1)
        close(np.array(list(result.body.positions[i].masked.values())), expected)
    assert [i for i, position in enumerate(result.body.positions) if position.masked is not None] == kept
    assert result.cost.forward == len(kept), "the last masked text is the text itself"


def test_the_distance_is_half_of_all_differences():
    far = Position(
        end=1, logits={}, probabilities={"a": 0.5, "b": 0.3, "c": 0.2}, masked={"a": 0.1, "b": 0.3, "c": 0.6}
    )
    alone = Position(end=1, logits={}, probabilities={"a": 1.0})
    assert apart(far) == pytest.approx(0.4)
    assert apart(alone) is None
    assert distances([far, alone]) == [apart(far)]
    assert mean_apart([alone]) is None


def test_the_headline_and_the_charts_tell_it(decoder, tmp_path):
    body = study(decoder, STUDY, TEXT, unit="word", masked=True)
    assert "rest is masked" in get_study(STUDY).report(body).headline
    chart = masked_curves(body.body)
    assert [row["distance"] for row in chart.rows] == distances(body.body.positions)
    path = tmp_path / "texts.csv"
    path.write_text("text\na good film\nnot good at all\n", encoding="utf-8")
    data = study(decoder, STUDY, data=str(path), masked=True)
    means = [mean_apart(text.positions) for text in data.body.texts]
    assert data.body.summary.apart.mean == pytest.approx(np.mean(means))
    assert "rest is masked" in get_study(STUDY).report(data).headline
    assert len(masked_by_position(data.body).rows) == 10


def test_masked_texts_are_another_question_and_nothing_else_names_them(decoder):
    asked = Request(model=decoder.id, text=TEXT, question=STUDY)
    other = asked.model_copy(update={"parameters": {"masked": True}})
    keys = {request_key(complete(request), decoder.digest, ANYBODY) for request in (asked, other)}
    assert len(keys) == 2
    result = study(decoder, STUDY, TEXT)
    assert "masked" not in result.to_json()["positions"][0]
    assert "rest is masked" not in get_study(STUDY).report(result).headline
