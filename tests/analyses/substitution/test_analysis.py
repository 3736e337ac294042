"""The substitution study: its greedy search against a slow one, its contract, its warnings, gaps and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from explainlab import explain, study
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import get_study
from explainlab.analyses.substitution.result import SubstitutionText
from explainlab.errors import Cancelled, RequestError
from explainlab.metrics.edits import Neighbours, cased_as, single
from explainlab.models.classifier import Classifier, Prediction
from explainlab.models.context import Receivers, RunContext
from explainlab.testing.observation import Recorder, unchanged, watched
from tests.conftest import loaded

TEXT = "A funny film, though the plot is thin."
SMALL = {"neighbours": 3, "k": 30, "budget": 30}


@pytest.fixture(scope="module")
def trained() -> Classifier:
    return loaded("embedded:bert-mini-sst2")


def share(scores: np.ndarray, content: np.ndarray, listed: list[int]) -> float:
    sizes = np.abs(scores)
    return float(sizes[listed].sum() / sizes[content].sum())


def slowly(classifier: Classifier, body: SubstitutionText, method: str, tolerance: float) -> tuple[str, float]:
    """Return the text and the share after one round: every text is predicted and explained alone."""
    original = explain(classifier, TEXT, method=method)
    content = np.flatnonzero(original.content)
    encoding, near = classifier.encode(TEXT), Neighbours(classifier, 3)
    before = original.prediction.probabilities[original.prediction.label]
    best, text = share(original.scores, content, body.original.listed), TEXT
    for word in single(encoding):
        for token, other in near.of(int(encoding.ids[word.place])):
            written = TEXT[: word.start] + cased_as(other, TEXT[word.start : word.end]) + TEXT[word.end :]
            ids = classifier.encode(written).ids
            if len(ids) != len(encoding) or ids[word.place] != token or (ids != encoding.ids).sum() != 1:
                continue
            made = explain(classifier, written, method=method, target=original.prediction.label)
            change = abs(made.prediction.probabilities[original.prediction.label] - before)
            if made.prediction.label != original.prediction.label or change > tolerance:
                continue
            if share(made.scores, content, body.original.listed) < best - 1e-7:
                best, text = share(made.scores, content, body.original.listed), written
    return text, best


@pytest.mark.parametrize(("method", "objective"), [("gradient", "unconstrained"), ("occlusion", "constrained")])
def test_a_round_finds_what_a_slow_search_finds(trained: Classifier, method: str, objective: str) -> None:
    asked = {**SMALL, "budget": 1, "method": method, "objective": objective, "tolerance": 0.01}
    body = study(trained, "substitution", TEXT, **asked).body
    (own,) = body.texts
    text, best = slowly(trained, body, method, 0.01 if objective == "constrained" else 1.0)
    assert own.text == text
    assert not own.failed
    content = np.array([i for i, feature in enumerate(body.features) if not feature.special])
    assert share(np.array(own.scores), content, body.original.listed) == pytest.approx(best, rel=1e-4)
    assert own.measures.top_k_sum_change == pytest.approx(body.original.top_k_sum - best, rel=1e-3)


def test_a_text_prints_the_contract_and_what_was_replaced(trained: Classifier) -> None:
    result = study(trained, "substitution", TEXT, **SMALL)
    record, body = result.to_json(), result.body
    for text, own in zip(record["texts"], body.texts, strict=True):
        assert text.keys() >= {"row", "objective", "measures", "steps", "stopped", "scores", "replaced", "text"}
        assert 0 < len(text["replaced"]) <= 2
        assert own.measures.replaced_share == len(text["replaced"]) / 8
        words = {feature.text: i for i, feature in enumerate(body.features)}
        for word in text["replaced"]:
            assert word.keys() == {"feature", "from", "to"}
            assert words[word["from"]] == word["feature"]
            assert word["to"] in text["text"]
    maps = [*figures_of(result).maps.values()]
    ends = {text.text: {word.after for word in text.replaced} for text in body.texts}
    assert len(maps) == 2 * len(ends)
    for place, (end, put_in) in enumerate(ends.items()):
        for drawn, text in ((maps[2 * place].drawn, TEXT), (maps[2 * place + 1].drawn, end)):
            tokens = [token for token in drawn.tokens if not token.special]
            assert "".join(token.before + token.shown for token in tokens) + drawn.paragraphs[0].tail == text
        assert {token.shown for token in tokens if token.conflict} == put_in
    predicted = trained.predict(trained.encode(body.texts[1].text)).probabilities
    before = body.prediction.probabilities[body.prediction.label]
    assert abs(predicted[body.prediction.label] - before) <= 0.05
    assert body.texts[1].measures.probability_change == pytest.approx(
        before - predicted[body.prediction.label], abs=1e-5
    )


def test_passes_are_counted_and_only_the_text_is_a_prediction(encoder: Classifier) -> None:
    predictions: list[Callable[[], Prediction]] = []
    context = RunContext(progress=Receivers(predicted=predictions.append))
    with watched(encoder) as passes:
        result = study(encoder, "substitution", TEXT, objective="unconstrained", context=context, **SMALL)
    assert len(predictions) == 1
    assert result.cost.backward == passes.backward
    assert result.cost.forward >= passes.forward  # the text is read once for all its subjects


def test_of_many_texts_the_most_promising_are_explained(trained: Classifier) -> None:
    with watched(trained) as passes:
        body = study(trained, "substitution", TEXT, neighbours=30, k=30, objective="unconstrained").body
    feasible = passes.backward - 1  # those screened, and at most 64 a round explained; the text itself
    assert feasible > 64
    assert not body.texts[0].failed


def test_words_of_a_data_set_and_short_texts(encoder: Classifier, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text(f'text\n"{TEXT}"\na film\n', encoding="utf-8")
    result = study(encoder, "substitution", data=str(path), sample="first", unit="word", **SMALL)
    body = result.body
    assert (body.left_out, {row.n for row in body.rows}) == (1, {1})
    assert [text.row for text in body.texts] == [1, 1]
    assert "Left out: 1 text" in get_study("substitution").report(result).lines
    numbers = get_study("substitution").report(result).numbers
    assert len(numbers) == 2 * 5
    assert [([number.value.mean], [1]) for number in numbers] == [(number.values, number.rows) for number in numbers]


def test_where_no_word_keeps_the_prediction_the_attack_has_failed(encoder: Classifier) -> None:
    result = study(encoder, "substitution", TEXT, tolerance=0, objective="constrained", **SMALL)
    (own,) = result.body.texts
    assert (own.failed, own.stopped, own.text, own.replaced) == (True, "none_feasible", TEXT, [])
    assert set(own.measures.model_dump().values()) == {0.0}
    assert get_study("substitution").report(result).headline.startswith("No near word drove")


def test_what_cannot_be_asked_is_refused_and_a_cancel_leaves_nothing(encoder: Classifier) -> None:
    with pytest.raises(RequestError, match="no method"):
        study(encoder, "substitution", TEXT, method="nothing")
    with unchanged(encoder, "a cancelled run"), pytest.raises(Cancelled):
        study(encoder, "substitution", TEXT, context=Recorder(last=4).context, **SMALL)
