"""The attack study: its contract, its measures against slow loops, its omissions, caveats and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from explainlab import explain, load_model, study
from explainlab.analyses.attack.maps import Maps
from explainlab.analyses.attack.result import AttackText
from explainlab.analyses.attack.search import rank_change, top
from explainlab.analyses.registry import get_study
from explainlab.errors import Cancelled, ModelError, RequestError
from explainlab.metrics.stability import radius, table_deviation
from explainlab.models.classifier import Classifier
from explainlab.testing.observation import Recorder, unchanged, watched
from explainlab.text.units import Feature, Units
from tests.attribution.conftest import Toys
from tests.conftest import Zoo
from tests.toys import Broken, Linear

TEXT = "A funny film. It isn't good!"
SMALL = {"steps": 3, "epsilon": "1s", "k": 30}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    path.write_text(f'text\n"{TEXT}"\na film\nthe plot is thin and the acting is worse\n', encoding="utf-8")
    return path


# Measures ------------------------------------------------------------------------------------------------------------


def slowly(body: AttackText, before: list[float], after: list[float], k: int) -> tuple[float, float]:
    """Compute Rank Change and Top-k Sum Change by loops over the content features."""
    content = [i for i, feature in enumerate(body.features) if not feature.special]
    shares = [{i: abs(scores[i]) / sum(abs(scores[j]) for j in content) for i in content} for scores in (before, after)]
    lists = []
    for own in shares:
        left, listed = dict(own), []
        for _ in range(k):
            best = next(i for i in content if i in left and left[i] == max(left.values()))
            listed.append(best)
            del left[best]
        lists.append(listed)
    differing = 0
    for place in range(k):
        differing += lists[0][place] != lists[1][place]
    change = 0.0
    for i in lists[0]:
        change += shares[0][i] - shares[1][i]
    return differing / k, change


@pytest.mark.parametrize("method", ["gradient", "input_x_gradient", "integrated_gradients"])
def test_measures_are_those_of_slow_loops(encoder: Classifier, method: str) -> None:
    body = study(encoder, "attack", TEXT, method=method, nodes=3, **SMALL).body
    options = {"rule": "gauss_legendre", "steps": 3} if method == "integrated_gradients" else {}
    plain = explain(encoder, TEXT, method=method, **options)
    np.testing.assert_allclose(body.original.scores, plain.scores, rtol=1e-4, atol=1e-6)
    for text in body.texts:
        rank, share = slowly(body, body.original.scores, text.scores, len(body.original.listed))
        assert text.measures.rank_change == pytest.approx(rank)
        assert text.measures.top_k_sum_change == pytest.approx(share, abs=1e-12)
        assert text.measures.absolute_probability_change == abs(text.measures.probability_change)
    content = [i for i, feature in enumerate(body.features) if not feature.special]
    assert len(body.original.listed) == 30 * len(content) // 100
    (free,) = (text for text in body.texts if text.objective == "unconstrained")
    assert not free.failed


def test_equal_features_keep_the_order_of_the_text() -> None:
    features = tuple(Feature(str(i), i, i + 1, i == 0, 0) for i in range(5))
    units = Units(features, np.arange(5))
    assert top(np.array([9.0, 1, 2, 2, 1]), units.content, 3).tolist() == [2, 3, 1]
    assert rank_change(np.array([1, 2, 3]), np.array([2, 1, 3])) == pytest.approx(2 / 3)


def test_the_deviation_is_that_of_the_whole_table(encoder: Classifier) -> None:
    table = encoder.model.word_embeddings.weight.numpy().astype(np.float64)
    assert table_deviation(encoder) == pytest.approx(table.std(), rel=1e-12)
    assert radius("0.5s", 0.1) == 0.05
    assert radius("2", 0.1) == 2


# The contract --------------------------------------------------------------------------------------------------------


def test_a_text_prints_the_contract(encoder: Classifier) -> None:
    record = study(encoder, "attack", TEXT, steps=12, epsilon="0.1s,1s", k=30).to_json()
    measures = {"rank_change", "top_k_sum_change", "probability_change", "absolute_probability_change"}
    assert [(row["objective"], row["epsilon"]) for row in record["rows"]] == [
        (objective, epsilon) for objective in ("unconstrained", "constrained") for epsilon in ("0.1s", "1s")
    ]
    assert all(row.keys() >= {*measures, "failed", "n"} for row in record["rows"])
    assert all(row[name].keys() == {"mean", "low", "high"} for row in record["rows"] for name in measures)
    for text in record["texts"]:
        assert text.keys() >= {"row", "objective", "epsilon", "measures", "steps", "stopped", "scores"}
        assert text["measures"].keys() == measures
        assert len(text["scores"]) == len(record["features"])
    for course in record["trajectory"]:
        assert course["step"] == [0, 10, 12]
        assert len(course["loss"]) == len(course["top_k_sum"]) == len(course["probability"]) == 3


def test_means_are_those_of_the_texts_and_short_texts_are_counted(encoder: Classifier, data: Path) -> None:
    result = study(encoder, "attack", data=str(data), sample="first", **SMALL)
    body = result.body
    assert (body.left_out, [own.row for own in body.originals if own.left_out]) == (1, [2])
    assert "30% of 2 tokens is none" in body.originals[1].left_out
    for row in body.rows:
        own = [text for text in body.texts if text.objective == row.objective]
        assert [text.row for text in own] == [1, 3]
        assert row.n == 2
        assert row.failed == sum(text.failed for text in own)
        for name in ("rank_change", "top_k_sum_change", "probability_change"):
            assert getattr(row, name).mean == pytest.approx(np.mean([getattr(t.measures, name) for t in own]))
    numbers = get_study("attack").report(result).numbers
    assert [number.value for number in numbers[:2]] == [row.rank_change for row in body.rows]
    assert [np.mean(number.values) for number in numbers] == [pytest.approx(number.value.mean) for number in numbers]
    assert all(number.rows == [1, 3] for number in numbers)
    alone = study(encoder, "attack", TEXT, **SMALL).body
    assert alone.texts[0].measures.top_k_sum_change == pytest.approx(body.texts[0].measures.top_k_sum_change, rel=1e-3)


def test_a_text_that_is_too_short_says_so(encoder: Classifier) -> None:
    result = study(encoder, "attack", "a film")
    assert (result.body.texts, result.body.rows[0].n) == ([], 0)
    assert get_study("attack").report(result).headline.startswith("Not attacked")


# Reports -------------------------------------------------------------------------------------------------------------


def test_a_radius_of_zero_changes_nothing_and_is_told(encoder: Classifier) -> None:
    result = study(encoder, "attack", TEXT, steps=2, epsilon="0,0.1s", k=30)
    for text in result.body.texts:
        if text.epsilon == "0":
            assert set(text.measures.model_dump().values()) == {0.0}
            assert (text.stopped, text.steps, text.failed) == ("zero_radius", 0, True)
            assert text.scores == result.body.original.scores
    assert any("radius of 0" in warning for warning in result.warnings)


def test_what_weakens_an_attack_is_told(zoo: Zoo, encoder: Classifier) -> None:
    (relu,) = study(zoo("t5"), "attack", TEXT, **SMALL).warnings
    assert "surrogate=30" in relu
    assert not study(zoo("t5"), "attack", TEXT, surrogate=30, **SMALL).warnings
    (none,) = study(encoder, "attack", TEXT, surrogate=30, **SMALL).warnings
    assert "no ReLU" in none
    wide = study(encoder, "attack", TEXT, steps=1, epsilon="2", k=30).warnings
    assert f"{2 / table_deviation(encoder):.0f} standard deviations" in wide[0]


def test_of_a_data_set_it_is_told_once(zoo: Zoo, data: Path) -> None:
    result = study(zoo("t5"), "attack", data=str(data), **SMALL)
    assert [line for line in get_study("attack").report(result).lines if "surrogate=30" in line] == result.body.caveats


def test_half_precision_is_attacked_and_told(zoo_path: Callable[[str], Path]) -> None:
    half = load_model(str(zoo_path("bert")), device="cpu", dtype="bfloat16")
    result = study(half, "attack", TEXT, **SMALL)
    assert np.isfinite(result.body.texts[0].scores).all()
    assert any("bfloat16" in warning and "float32" in warning for warning in result.warnings)


class Constant(torch.nn.Module):
    """A model with the same scores for every text."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(dim=(1, 2))[:, None] * 0 + torch.tensor([1.0, 2.0])


def test_a_map_without_a_top_is_left_out(toys: Toys) -> None:
    body = study(toys(Constant), "attack", TEXT, **SMALL).body
    assert body.original.left_out == "the map is 0 everywhere"


def test_a_linear_model_withstands(toys: Toys) -> None:
    result = study(toys(Linear), "attack", TEXT, output="logit", **SMALL)
    assert {row.failed for row in result.body.rows} == {1}
    assert "did not drive" in get_study("attack").report(result).headline


# Refusals and cancelling ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["", "one", "-1s", "1e9", "0.1s,0.10s", "nan", [True], ["s"], "1t", ["1"] * 21])
def test_a_wrong_radius_is_named(encoder: Classifier, epsilon: object) -> None:
    with pytest.raises(RequestError, match="epsilon"):
        study(encoder, "attack", TEXT, epsilon=epsilon)


def test_what_cannot_be_attacked_is_refused(encoder: Classifier, toys: Toys) -> None:
    with pytest.raises(RequestError, match="method"):
        study(encoder, "attack", TEXT, method="occlusion")
    with pytest.raises(RequestError, match="gradients for each text"):
        study(encoder, "attack", TEXT, method="integrated_gradients", nodes=100, steps=1000)
    with pytest.raises(ModelError, match="not finite"):
        study(toys(Broken), "attack", TEXT, **SMALL)


def test_between_steps_it_is_cancelled_and_leaves_nothing(encoder: Classifier) -> None:
    recorder = Recorder(last=6)
    with unchanged(encoder, "a cancelled attack"), pytest.raises(Cancelled):
        study(encoder, "attack", TEXT, steps=100, epsilon="1s", k=30, context=recorder.context)
    assert recorder.seen[-1][2] == "attack steps"


def test_an_error_leaves_nothing(encoder: Classifier, monkeypatch: pytest.MonkeyPatch) -> None:
    read, calls = Maps.read, []

    def fails(*args: object, **options: object) -> object:
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("broken")
        return read(*args, **options)

    monkeypatch.setattr(Maps, "read", fails)
    with unchanged(encoder, "a failed attack"), pytest.raises(RuntimeError, match="broken"):
        study(encoder, "attack", TEXT, **SMALL)
    assert encoder.lock.acquire(blocking=False)
    encoder.lock.release()


def test_memory_that_runs_out_makes_batches_smaller(encoder: Classifier) -> None:
    with watched(encoder, limit=1):
        result = study(encoder, "attack", TEXT, **SMALL)
    assert any("Memory ran out" in warning for warning in result.warnings)
    assert len(result.body.texts) == 2
