"""The integration_error study: closed forms, agreement with the method, shared gradients, data sets, bad input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from explainlab import explain, study
from explainlab.analyses.integration.result import IntegrationErrorText
from explainlab.analyses.records import Interval
from explainlab.analyses.registry import requirements
from explainlab.analyses.summary import interval
from explainlab.attribution.path import nodes
from explainlab.errors import Cancelled, DataError, RequestError
from explainlab.models.classifier import Classifier
from explainlab.models.context import MemoryCache
from explainlab.request import Request
from explainlab.testing.observation import Recorder
from tests.attribution.conftest import Toys
from tests.attribution.plain import close
from tests.toys import Linear, Squares

TEXT = "A funny film. It isn't good!"
STEPS = [1, 4, 10, 20, 40]
RULES = ["right", "left", "midpoint", "trapezoid", "gauss_legendre"]


def errors(body: IntegrationErrorText, rule: str) -> list[float]:
    return [row.approximation_error for row in body.rows if row.rule == rule]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    texts = ["a good film", "not good at all", "", "a funny story, and a great film", "good", "a dull plot"]
    path.write_text("text,label\n" + "".join(f'"{text}",positive\n' for text in texts), encoding="utf-8")
    return path


# Closed forms (methods.md, checks 1 to 3) ----------------------------------------------------------------------------


def test_a_linear_model_needs_one_step_by_any_rule(toys: Toys) -> None:
    body = study(toys(Linear), "integration_error", TEXT, steps=STEPS, output="logit", target="first").body
    assert max(max(errors(body, rule)) for rule in RULES) < 1e-5
    assert body.ideal_steps == dict.fromkeys(RULES, 1)


def test_squares_err_by_one_over_n_by_the_one_sided_rules_alone(toys: Toys) -> None:
    body = study(
        toys(Squares), "integration_error", TEXT, steps=STEPS, baseline="zero", output="logit", target="first"
    ).body
    for rule in ("right", "left"):
        assert errors(body, rule) == pytest.approx([1 / n for n in STEPS], rel=1e-3)
    for rule in ("midpoint", "gauss_legendre"):
        assert max(errors(body, rule)[1:]) < 1 / (4 * 4**2) + 1e-4
    assert body.ideal_steps["right"] == 20


# Against the method --------------------------------------------------------------------------------------------------


def test_every_row_is_what_the_method_gives(encoder: Classifier) -> None:
    body = study(encoder, "integration_error", TEXT, steps=[3, 8]).body
    assert len(body.rows) == 2 * len(RULES)
    for row in body.rows:
        alone = explain(encoder, TEXT, rule=row.rule, steps=row.steps)
        close(np.array(row.scores), alone.scores, 1e-5)
        assert row.approximation_error == pytest.approx(alone.completeness.approximation_error, rel=1e-2, abs=1e-4)
        assert row.evaluations == alone.cost.backward
    adaptive = explain(encoder, TEXT)
    close(np.array(body.adaptive.scores), adaptive.scores, 1e-5)
    assert body.adaptive.trace[-1].evaluations == adaptive.cost.backward == len(body.adaptive.alphas)


def test_units_are_sums_of_tokens(encoder: Classifier) -> None:
    words = study(encoder, "integration_error", TEXT, steps=[5], rules="midpoint", unit="word").body
    alone = explain(encoder, TEXT, rule="midpoint", steps=5, unit="word")
    close(np.array(words.rows[0].scores), alone.scores, 1e-5)
    assert [f.text for f in words.features] == [f.text for f in alone.features]


def test_no_point_is_evaluated_twice(encoder: Classifier) -> None:
    result = study(encoder, "integration_error", TEXT, steps=[10, 20, 40])
    distinct = {alpha for rule in RULES for steps in (10, 20, 40) for alpha in nodes(rule, steps)[0].tolist()}
    distinct |= set(result.body.adaptive.alphas)
    last = result.body.doubling.schedule[-1].steps
    distinct |= set((np.arange(1, last + 1) / last).tolist())
    assert result.cost.backward == result.cost.forward == len(distinct)


def test_the_doubling_schedule_counts_every_gradient_of_every_count(encoder: Classifier) -> None:
    doubling = study(encoder, "integration_error", TEXT, steps=[10], tolerance=0.02).body.doubling
    steps = [stage.steps for stage in doubling.schedule]
    assert steps == [2**i for i in range(len(steps))]
    assert doubling.evaluations == sum(steps)
    for stage in doubling.schedule:
        alone = explain(encoder, TEXT, rule="right", steps=stage.steps).completeness.approximation_error
        assert stage.approximation_error == pytest.approx(alone, rel=1e-2, abs=1e-4)
    assert all(stage.approximation_error > 0.02 for stage in doubling.schedule[:-1])
    assert doubling.steps in (steps[-1], None)


def test_the_cost_is_known_before(encoder: Classifier) -> None:
    asked = {"question": "integration_error", "model": encoder.id, "text": TEXT}
    assert requirements(Request(**asked, parameters={"rules": "right", "steps": "2,4,8"})).gradients == 8
    assert requirements(Request(**asked, parameters={"rules": "right,left", "steps": [10]})).gradients == 11
    assert requirements(Request(**asked, parameters={"rules": "right", "steps": "10:1000:10"})).gradients > 10_000


# Data sets -----------------------------------------------------------------------------------------------------------


def test_a_data_set_gives_what_its_texts_give_alone(encoder: Classifier, data: Path) -> None:
    result = study(encoder, "integration_error", data=str(data), steps=[2, 6], rows=4, sample="first")
    assert [text.row for text in result.body.texts] == [1, 2, 4, 5]
    assert [row for row, _ in result.skipped] == [3]
    assert any("row 3" in warning for warning in result.warnings)
    for text in result.body.texts:
        alone = study(encoder, "integration_error", text.text, steps=[2, 6]).body
        for row in alone.rows:
            error = text.errors[row.rule][str(row.steps)]
            assert error == pytest.approx(row.approximation_error, rel=1e-2, abs=1e-4)
        assert text.ideal_steps == alone.ideal_steps
    summary = result.body.summary
    assert summary.n + summary.cancelled == 4
    for rule in RULES:
        found = [text.errors[rule]["6"] for text in result.body.texts if not text.cancels]
        assert summary.mean[rule]["6"].mean == pytest.approx(np.mean(found))
        assert sum(summary.ideal_steps[rule].values()) == summary.n


def test_a_stopped_study_goes_on_where_it_was(encoder: Classifier, data: Path, monkeypatch) -> None:
    monkeypatch.setattr("explainlab.analyses.text_analysis.GROUP_EVALUATIONS", 1)

    recorder = Recorder()
    memory = recorder.context.results
    assert isinstance(memory, MemoryCache)

    def stop() -> None:
        if len(memory.bodies) == 2:
            raise Cancelled

    context = recorder.context
    stopping = replace(context, check_cancelled=stop)
    with pytest.raises(Cancelled):
        study(encoder, "integration_error", data=str(data), steps=[2], context=stopping)
    kept = dict(memory.bodies)
    assert len(kept) == 2
    result = study(encoder, "integration_error", data=str(data), steps=[2], context=context)
    assert recorder.seen[-1] == (5, 5, "texts")
    assert kept.items() <= memory.bodies.items()
    whole = study(encoder, "integration_error", data=str(data), steps=[2])
    assert [t.ideal_steps for t in result.body.texts] == [t.ideal_steps for t in whole.body.texts]


# Honesty -------------------------------------------------------------------------------------------------------------


class Constant(torch.nn.Module):
    """A model with the same scores for every text."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(dim=(1, 2))[:, None] * 0 + torch.tensor([1.0, 2.0])


def test_a_constant_output_has_no_relative_error(toys: Toys) -> None:
    result = study(toys(Constant), "integration_error", TEXT, steps=[2, 4])
    assert result.body.cancels
    assert {row.approximation_error for row in result.body.rows} == {None}
    assert set(result.body.ideal_steps.values()) == {None}
    assert result.body.doubling is None
    assert any("cancel" in warning for warning in result.warnings)


def test_a_text_equal_to_its_baseline_has_no_relative_error(encoder: Classifier) -> None:
    assert study(encoder, "integration_error", "[UNK]", baseline="unk", steps=[2]).body.cancels


# Bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([], "at least one step count"),
        ("", "at least one step count"),
        ([20, 10], "rising order"),
        ([10, 10], "rising order"),
        ("ten,20", "is not a whole number"),
        ([0, 5], "between 1 and 10000"),
        ([10, 20_000], "between 1 and 10000"),
        (list(range(1, 2000)), "at most 1000"),
        ("10:1000", "first:last:by"),
        ("10:1000:0", "first:last:by"),
        ("1:1e9:1", "first:last:by"),
    ],
)
def test_a_wrong_step_list_is_named(encoder: Classifier, steps, told: str) -> None:
    with pytest.raises(RequestError, match=told):
        study(encoder, "integration_error", TEXT, steps=steps)


def test_what_cannot_be_asked_is_named(encoder: Classifier, data: Path, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="either a text or a data set"):
        study(encoder, "integration_error")
    with pytest.raises(RequestError, match="either a text or a data set"):
        study(encoder, "integration_error", TEXT, data=str(data))
    with pytest.raises(RequestError, match="Did you mean integration_error"):
        study(encoder, "integration_eror", TEXT)
    with pytest.raises(RequestError, match="has no parameter 'step'"):
        study(encoder, "integration_error", TEXT, step=3)
    with pytest.raises(RequestError, match="Give one or more of"):
        study(encoder, "integration_error", TEXT, rules="")
    with pytest.raises(RequestError, match="rules"):
        study(encoder, "integration_error", TEXT, rules="simpson")
    with pytest.raises(RequestError, match="The limit is 200,000"):
        study(encoder, "integration_error", TEXT, steps="100:10000:100")
    with pytest.raises(DataError, match="There is no data file"):
        study(encoder, "integration_error", data=str(tmp_path / "nothing.csv"))
    empty = tmp_path / "empty.csv"
    empty.write_text("text,label\n,positive\n", encoding="utf-8")
    with pytest.raises(DataError):
        study(encoder, "integration_error", data=str(empty))


# Intervals -----------------------------------------------------------------------------------------------------------


def test_intervals_cover_the_mean_and_are_none_where_they_mean_nothing() -> None:
    values = np.random.default_rng(0).normal(3, 2, 200).tolist()
    found = interval(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert found.low < found.mean < found.high
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2 / np.sqrt(200), rel=0.2)
    assert interval([2.0]) == interval([2.0, 2.0]) == Interval(mean=2.0, low=None, high=None)
    assert interval([]) == Interval(mean=None, low=None, high=None)
