"""The ensemble: closed forms of its three scales, its members by separate calls, and what its key depends on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from explainlab import explain
from explainlab.analyses.registry import complete, request_key, require_bounded
from explainlab.attribution.explain import attribute_many
from explainlab.attribution.methods.ensemble import LISTS, Ensemble, normalised
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import get_method, parse_members, parse_spec
from explainlab.errors import DataError, RequestError, UnsupportedError
from explainlab.limits import Limits
from explainlab.models.classifier import Classifier
from explainlab.request import Request
from explainlab.service.limits import named_files
from explainlab.testing.observation import watched
from tests.conftest import Zoo

TEXT = "A funny film. It isn't good!"
QUICK = "lime:samples=30+input_x_gradient+attention_rollout:residual=False:reading=received"


def content(result: Attribution) -> np.ndarray:
    """float64 [n]: the scores of the content features."""
    scores: np.ndarray = result.scores[result.content]
    return scores


def by_hand(classifier: Classifier, members: str, seed: int, **options: str) -> list[Attribution]:
    """The members' attributions by calls of their own."""
    return [
        explain(classifier, TEXT, m.method, seed=seed, **m.parameters.model_dump(), **options)
        for m in parse_members(members)
    ]


# Scales --------------------------------------------------------------------------------------------------------------


def test_the_scales_in_closed_form() -> None:
    scores = np.array([3.0, -1.0, 0.0, 1.0, 1.0])
    np.testing.assert_allclose(normalised(scores, "abs_sum"), np.array([3, 1, 0, 1, 1]) / 6)
    np.testing.assert_allclose(normalised(scores, "sum"), scores / 4)
    np.testing.assert_allclose(normalised(scores, "rank"), np.array([5, 1, 2, 3.5, 3.5]) / 15)


def test_ranks_are_scipys_with_ties() -> None:
    scores = np.random.default_rng(0).integers(-3, 4, size=(50, 9)).astype(float)
    for row in scores[scores.any(axis=1)]:
        descending = scipy.stats.rankdata(-row)  # 1 for the largest
        np.testing.assert_allclose(normalised(row, "rank"), (10 - descending) / 45)


def test_rounding_decides_no_rank() -> None:
    np.testing.assert_array_equal(normalised(np.array([0.3, 0.1 + 0.2, 1.0]), "rank"), np.array([1.5, 1.5, 3]) / 6)


def test_almost_no_sum_is_refused_by_name() -> None:
    assert normalised(np.array([1.0, -0.997]), "sum").sum() == pytest.approx(1)
    with pytest.raises(RequestError, match="LIME add up to almost 0"):
        normalised(np.array([1.0, -0.999]), "sum", "LIME")


# The mean ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalise", ["abs_sum", "sum", "rank"])
@pytest.mark.parametrize("model", ["encoder", "decoder"])
def test_the_mean_of_the_members_by_separate_calls(request: pytest.FixtureRequest, model: str, normalise: str) -> None:
    classifier = request.getfixturevalue(model)
    result = explain(classifier, TEXT, "ensemble", members=QUICK, normalise=normalise, seed=7)
    members = by_hand(classifier, QUICK, seed=7)
    table = np.stack([normalised(content(member), normalise) for member in members])
    np.testing.assert_allclose(content(result), table.mean(axis=0), atol=1e-7)
    np.testing.assert_allclose(result.spread[result.content], table.std(axis=0), atol=1e-7)
    assert not result.scores[~result.content].any()
    assert not result.spread[~result.content].any()
    assert result.signed == (normalise == "sum")
    assert content(result).sum() == pytest.approx(1)
    assert result.completeness is None
    assert result.cost.forward == sum(member.cost.forward for member in members)
    assert result.cost.backward == sum(member.cost.backward for member in members)


@pytest.mark.parametrize("model", ["zoo", "speaker"])
@pytest.mark.parametrize("target", ["predicted", "neutral"])
@pytest.mark.parametrize(
    "members", ["gradient+lime:samples=6+sp_pi", "sp_pi", "random+gradient", "lime:samples=6+random"]
)
def test_the_cost_is_the_sum_of_the_members(
    request: pytest.FixtureRequest, model: str, target: str, members: str
) -> None:
    """Any member may read the text first, with a prompt or without; all passes are made, and a prompt once more."""
    classifier = request.getfixturevalue(model)("gpt2")
    parts = by_hand(classifier, members, seed=0, target=target)
    with watched(classifier) as passes:
        cost = explain(classifier, TEXT, "ensemble", members=members, target=target).cost
    assert passes.forward - cost.forward in (0, int(model == "speaker" and "lime" in members))
    assert passes.backward == cost.backward
    assert cost.forward == sum(part.cost.forward for part in parts)
    assert cost.backward == sum(part.cost.backward for part in parts)


def test_one_member_is_its_own_normalised_map(encoder: Classifier) -> None:
    """methods.md Part B 10, row 35: non-negative, and it sums to 1."""
    alone = content(explain(encoder, TEXT, "input_x_gradient"))
    result = explain(encoder, TEXT, "ensemble", members="input_x_gradient")
    np.testing.assert_allclose(content(result), np.abs(alone) / np.abs(alone).sum(), rtol=1e-6)
    assert (content(result) >= 0).all()
    assert content(result).sum() == pytest.approx(1)
    assert not result.spread.any()


def test_equal_members_do_not_spread(encoder: Classifier) -> None:
    once, twice = (explain(encoder, TEXT, "ensemble", members=m) for m in ("lime", "lime+lime"))
    np.testing.assert_allclose(twice.scores, once.scores, atol=1e-6)
    assert twice.spread.max() < 1e-6
    assert twice.cost.forward == 2 * once.cost.forward


def test_each_member_explains_its_own_output_unless_the_logit_is_chosen(encoder: Classifier) -> None:
    members = "lrp+input_x_gradient"
    for chosen, outputs in (("probability", ("logit", "probability")), ("logit", ("logit", "logit"))):
        result = explain(encoder, TEXT, "ensemble", members=members, output=chosen)
        parts = [explain(encoder, TEXT, m, output=out) for m, out in zip(members.split("+"), outputs, strict=True)]
        expected = np.mean([normalised(content(part), "abs_sum") for part in parts], axis=0)
        np.testing.assert_allclose(content(result), expected, atol=1e-7)


def test_texts_together_are_texts_alone(encoder: Classifier) -> None:
    texts = [TEXT, "good", "A good plot, but the film is a bore."]
    requests = [complete(Request(model="m", text=t, question="ensemble", parameters={"members": QUICK})) for t in texts]
    together = attribute_many(encoder, [encoder.encode(t) for t in texts], get_method("ensemble"), requests)
    for text, result in zip(texts, together, strict=True):
        alone = explain(encoder, text, "ensemble", members=QUICK)
        np.testing.assert_allclose(result.scores, alone.scores, atol=1e-6)
        np.testing.assert_allclose(result.spread, alone.spread, atol=1e-6)
        assert (result.cost.forward, result.cost.backward) == (alone.cost.forward, alone.cost.backward)
        assert result.notes == alone.notes


def test_a_member_without_scores_is_left_out(encoder: Classifier) -> None:
    """A single sample of LIME is the full text: no slope."""
    result = explain(encoder, TEXT, "ensemble", members="lime:samples=1+occlusion")
    only = explain(encoder, TEXT, "ensemble", members="occlusion")
    np.testing.assert_allclose(result.scores, only.scores, atol=1e-5)
    assert any("LIME, 1 samples is left out" in warning for warning in result.warnings)
    assert result.notes[0] == "Mean of Occlusion."
    nothing = explain(encoder, TEXT, "ensemble", members="lime:samples=1")
    assert not nothing.scores.any()
    assert nothing.notes[0] == "No member has a score."


def test_it_says_what_its_members_say(encoder: Classifier) -> None:
    """Few steps of a fixed rule miss the sum."""
    rough = "integrated_gradients:rule=right:steps=1"
    (warning,) = explain(encoder, TEXT, "integrated_gradients", rule="right", steps=1).warnings
    result = explain(encoder, TEXT, "ensemble", members=f"{rough}+occlusion")
    label = parse_spec(rough).label
    assert result.notes[0] == f"Mean of {label}; Occlusion."
    assert result.warnings == (f"{label}: {warning}",)


# Members -------------------------------------------------------------------------------------------------------------


def test_words_stand_for_lists() -> None:
    assert [m.name for m in Ensemble.members(parse_spec("ensemble").parameters)] == LISTS["top3"].split("+")
    of_all = Ensemble.members(parse_spec("ensemble:members=all").parameters)
    assert len(of_all) == 7
    assert of_all[-1].parameters == parse_spec("attention_rollout:residual=false:reading=received").parameters
    assert of_all[3].parameters.norm == "l2"
    assert of_all[5].parameters.reading == "received"
    assert parse_spec(f"ensemble:members={LISTS['all']}").name == "ensemble:members=all"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("ensemble:members= gradient + lime : samples = 9", "ensemble:members=gradient+lime:samples=9"),
        ("ensemble:normalise=rank:members=lime:samples=9+gradient", None),
        ("ensemble:members=lime:samples=9+gradient:normalise=rank", None),
        ("ensemble:members=lime:alpha=1e+5+random", "ensemble:members=lime:alpha=100000.0+random"),
        ("ensemble:members=lime+kernel_shap+integrated_gradients", "ensemble"),
    ],
)
def test_options_belong_to_the_member_before_them(written: str, name: str | None) -> None:
    request = parse_spec(written)
    assert parse_spec(request.name) == request
    if name:
        assert request.name == name
    else:
        assert request.parameters.normalise == "rank"
        assert Ensemble.members(request.parameters)[0].parameters.samples == 9


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ("ensemble", "cannot be a member of an ensemble"),
        ("lime+ensemble:members=lime", "cannot be a member of an ensemble"),
        ("lime+limes", "There is no method 'limes'"),
        ("", "There is no method ''"),
        ("lime+", "There is no method 'lime\\+'"),
        ("lime:samples=0", "samples = '0' is not accepted"),
        ("lime:tea=2", "lime has no parameter 'tea'"),
    ],
)
def test_what_is_no_list_of_members_is_refused(members: str, problem: str) -> None:
    with pytest.raises(RequestError, match=problem):
        complete(Request(model="m", text="a", question="ensemble", parameters={"members": members}))


def test_a_member_that_the_model_cannot_support_is_refused_by_name_before_any_pass(zoo: Zoo) -> None:
    with watched(zoo("t5")) as passes, pytest.raises(UnsupportedError, match="Attention rollout cannot run"):
        explain(zoo("t5"), TEXT, "ensemble", members="all")
    assert passes.calls == 0


def test_a_member_beyond_a_limit_is_refused() -> None:
    request = complete(Request(model="m", text="a", question="ensemble", parameters={"members": "lime:samples=500"}))
    require_bounded(request, Limits())
    with pytest.raises(RequestError, match="lime: samples = 500 is not accepted"):
        require_bounded(request, Limits(max_evaluations=100))


def test_files_of_members_are_named() -> None:
    """A hosted instance refuses files of the server wherever they stand."""
    member = "lime:baseline=max_entropy:baseline_data=/etc/secret.csv"
    spec = f"ensemble:members=random+{member}+gradient:normalise=rank"
    of_text = Request(model="m", text="a", question="ensemble", parameters={"members": f"random+{member}"})
    of_data = Request(model="m", text="a", question="activation", parameters={"methods": [spec]})
    for request in (of_text, of_data):
        assert list(named_files(complete(request))) == ["/etc/secret.csv"]
    trust = {"method": "ensemble", "settings": {"members": member}}
    assert list(named_files(complete(Request(model="m", text="a", question="trust", parameters=trust)))) == [
        "/etc/secret.csv"
    ]


# Keys ----------------------------------------------------------------------------------------------------------------

STUDIES = {
    "ensemble": {"members": "gradient+lime"},
    "activation": {"methods": ["ensemble:members=gradient+lime"]},
    "evaluation": {"methods": ["ensemble"], "settings": {"ensemble": {"members": "gradient+lime"}}},
    "ablation": {"methods": ["ensemble"], "settings": {"ensemble": {"members": "gradient+lime"}}},
    "trust": {"method": "ensemble", "settings": {"members": "gradient+lime"}},
}


@pytest.mark.parametrize("question", STUDIES)
def test_a_changed_member_makes_a_stored_ensemble_stale(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def key() -> str:
        request = Request(model="m", text="a film", question=question, parameters=STUDIES[question])
        return request_key(complete(request), "d" * 64)

    before = key()
    assert key() == before
    monkeypatch.setattr(type(get_method("occlusion")), "version", 99)
    assert key() == before, "it is no member"
    monkeypatch.setattr(type(get_method("lime")), "version", 99)
    assert key() != before


def test_a_members_parameters_and_data_are_in_the_key() -> None:
    def key(members: str) -> str:
        request = Request(model="m", text="a film", question="ensemble", parameters={"members": members})
        return request_key(complete(request), "d" * 64)

    assert key("lime") == key("lime:samples=200") != key("lime:samples=201")
    with_data = "lime:baseline=max_entropy:baseline_data=embedded:"
    assert key(f"{with_data}sentiment") != key(f"{with_data}news")


def test_data_that_cannot_be_read_are_told(encoder: Classifier) -> None:
    with pytest.raises(DataError):
        explain(encoder, TEXT, "ensemble", members="lime:baseline=max_entropy:baseline_data=/nowhere.csv")
