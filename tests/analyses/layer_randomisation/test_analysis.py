"""Layer randomisation against closed forms and a slow computation; the loaded model stays unchanged."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification

from explainlab import explain, study
from explainlab.analyses.attributions import text_seed
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.layer_randomisation.analysis import THESIS
from explainlab.analyses.layer_randomisation.result import RandomisationData, RandomisationText, Survival
from explainlab.analyses.registry import get_study
from explainlab.attribution.registry import parse_spec
from explainlab.attribution.subject import Subject
from explainlab.errors import RequestError, UnsupportedError
from explainlab.metrics.comparison import bootstrap, spearman
from explainlab.models.classifier import Classifier
from explainlab.models.networks.randomised import draw_seed
from explainlab.testing.observation import watched
from tests.conftest import Zoo
from tests.toys import LABELS, WIDTH, toy, with_network
from tests.zoo import MAX_TOKENS

NAME = "layer_randomisation"
TEXT = "A funny film. It isn't good, and the plot is thin!"
UNITS = ["head", "block 3", "block 2", "block 1", "embeddings"]
GXI, ATTENTION = "input_x_gradient", "attention_average"
ASKED = {"methods": f"{GXI}+{ATTENTION}", "draws": 2}


def run(classifier: Classifier, text: str = TEXT, **asked: Any) -> AnalysisResult[RandomisationText]:
    return study(classifier, NAME, text, **asked)


@pytest.fixture(scope="module")
def result(encoder: Classifier) -> AnalysisResult[RandomisationText]:
    return run(encoder, **ASKED)


def row(body: RandomisationText | RandomisationData, *which: object) -> Survival:
    """Return the row of a method, mode and unit; of absolute scores if the fourth is true."""
    absolute = len(which) > 3 and bool(which[3])
    return next(own for own in body.rows if (own.method, own.mode, own.unit, own.absolute) == (*which[:3], absolute))


def fresh(classifier: Classifier, number: int) -> dict[str, Tensor]:
    with torch.random.fork_rng():
        torch.manual_seed(draw_seed(0, number))
        network = AutoModelForSequenceClassification.from_config(copy.deepcopy(classifier.model.network.config))
    return dict(network.named_parameters())


def written(classifier: Classifier, random: list[str], number: int) -> Classifier:
    """Return a whole copy of the model with the weights of a fresh one written into the ``random`` units."""
    network, values = copy.deepcopy(classifier.model.network), fresh(classifier, number)
    state = with_network(classifier, network)
    names = {own: name for name, own in network.named_parameters()}
    with torch.no_grad():
        for unit in state.model.units:
            if unit.name in random:
                for own in unit.parameters:
                    own.copy_(values[names[own]])
    return state


# Results -------------------------------------------------------------------------------------------------------------


def test_it_is_the_correlation_with_maps_of_copies_into_which_weights_are_written(
    encoder: Classifier, result: AnalysisResult[RandomisationText]
) -> None:
    body = result.body
    subject = Subject(encoder, encoder.encode(TEXT))
    content, asked = subject.units.content, {"target": body.target.label, "seed": text_seed(subject)}
    assert body.units == UNITS
    for method in (GXI, ATTENTION):
        own = explain(encoder, TEXT, method, **asked).scores
        for mode, place, number in (("cascading", 2, 0), ("cascading", 4, 1), ("independent", 3, 1)):
            random = UNITS[: place + 1] if mode == "cascading" else [UNITS[place]]
            scores = explain(written(encoder, random, number), TEXT, method, **asked).scores
            signed, absolute = row(body, method, mode, UNITS[place]), row(body, method, mode, UNITS[place], True)
            expected = scipy.stats.spearmanr(own[content], scores[content]).statistic
            assert signed.draws[number] == pytest.approx(expected, abs=1e-9)
            assert signed.mean == pytest.approx(np.mean(signed.draws), abs=1e-12)
            expected = scipy.stats.spearmanr(np.abs(own[content]), np.abs(scores[content])).statistic
            assert absolute.draws[number] == pytest.approx(expected, abs=1e-9)
            if number == 0:
                (drawn,) = [m for m in body.maps if (m.method, m.mode, m.unit) == (method, mode, UNITS[place])]
                np.testing.assert_allclose(drawn.scores, scores, atol=1e-7)


def test_both_modes_begin_with_the_same_model(result: AnalysisResult[RandomisationText]) -> None:
    body = result.body
    for method in (GXI, ATTENTION):
        assert row(body, method, "cascading", "head").draws == row(body, method, "independent", "head").draws
    assert len(body.rows) == 2 * 2 * 5 * 2
    assert len(body.maps) == 2 * 2 * 5
    (text,) = body.texts
    assert (text.row, text.text) == (1, TEXT)
    assert text.absolute["cascading"]["block 2"][GXI] == row(body, GXI, "cascading", "block 2", True).mean


def test_a_random_head_does_not_change_attention(result: AnalysisResult[RandomisationText]) -> None:
    assert row(result.body, ATTENTION, "cascading", "head").draws == [1, 1]
    assert row(result.body, GXI, "cascading", "head").mean < 1


def test_an_identical_model_has_a_rho_of_one(encoder: Classifier) -> None:
    """Draw the weights that the model already has."""
    classifier = written(encoder, UNITS, 0)
    methods = f"{GXI}+{ATTENTION}+integrated_gradients:steps=3+occlusion+random"
    body = run(classifier, methods=methods, draws=1).body
    assert len(body.rows) == 5 * 2 * 5 * 2
    np.testing.assert_allclose([own.mean for own in body.rows], 1, rtol=0, atol=1e-12)


def test_what_does_not_read_the_weights_keeps_its_ranking(encoder: Classifier) -> None:
    body = run(encoder, methods="random", draws=1, mode="cascading").body
    assert {own.mean for own in body.rows} == {1}


def test_the_class_is_that_of_the_model_or_each_ones_own(encoder: Classifier) -> None:
    asked = {"methods": GXI, "draws": 1, "mode": "cascading"}
    fixed, own = run(encoder, **asked).body, run(encoder, explained="randomised", **asked).body
    named = run(encoder, target=fixed.target.label, **asked).body
    assert named.rows == fixed.rows
    for place, unit in enumerate(UNITS):
        state = written(encoder, UNITS[: place + 1], 0)
        label = state.predict(state.encode(TEXT)).label
        scores = explain(state, TEXT, GXI, target=label).scores
        (drawn,) = [one.scores for one in own.maps if one.unit == unit]
        np.testing.assert_allclose(drawn, scores, atol=1e-7)
    assert own.target == fixed.target
    with pytest.raises(RequestError, match="no class can be chosen"):
        run(encoder, explained="randomised", target=encoder.labels[0], **asked)


def test_controls_are_random_maps_and_the_order_of_the_text(result: AnalysisResult[RandomisationText]) -> None:
    body = result.body
    content = [i for i, feature in enumerate(body.features) if not feature.special]
    maps = np.random.default_rng(body.text_seed).random((100, len(content)))
    for method in body.methods:
        for absolute in (False, True):
            scores = np.array(method.scores)[content]
            scores = np.abs(scores) if absolute else scores
            rhos = [scipy.stats.spearmanr(scores, own).statistic for own in maps]
            control = next(c for c in body.controls if (c.method, c.absolute) == (method.method, absolute))
            assert control.random.mean == pytest.approx(np.mean(rhos), abs=1e-9)
            assert (control.random.low, control.random.high) == pytest.approx(np.percentile(rhos, [5, 95]), abs=1e-9)
            order = scipy.stats.spearmanr(scores, range(len(scores), 0, -1)).statistic
            assert control.order.mean == pytest.approx(order, abs=1e-9)


def test_rho_is_scipys_also_with_ties() -> None:
    rng = np.random.default_rng(0)
    for n, values in ((2, 9), (7, 3), (30, 5), (30, 1000)):
        scores, others = rng.integers(values, size=n), rng.integers(values, size=(20, n))
        known = [i for i, own in enumerate(others) if np.ptp(own) > 0]
        expected = [scipy.stats.spearmanr(scores, others[i]).statistic for i in known]
        np.testing.assert_allclose(spearman(scores, others)[known], expected, atol=1e-12)
    rising = np.arange(5.0)
    np.testing.assert_array_equal(spearman(rising, np.stack([rising, -rising, rising**3])), [1, -1, 1])
    assert np.isnan(spearman(rising, np.ones((1, 5)))).all()
    assert np.isnan(spearman(np.ones(5), rising[None])).all()


# Data sets -----------------------------------------------------------------------------------------------------------


def test_a_data_set_has_the_means_of_its_texts(
    encoder: Classifier, result: AnalysisResult[RandomisationText], tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f'text\n"{TEXT}"\n"a good film, a great story"\nfilm\n', encoding="utf-8")
    found = study(encoder, NAME, data=str(path), sample="all", **ASKED)
    body = found.body
    alone = [result.body, *(run(encoder, text.text, **ASKED).body for text in body.texts[1:])]
    assert body.n == 3
    for i, own in enumerate(body.rows):
        each = [one.rows[i].mean for one in alone if one.rows[i].mean is not None]
        assert (own.n, own.undefined) == (2, 1), "one word has no ranking"
        assert own.mean == pytest.approx(np.mean(each), abs=1e-6)
        assert own.low == pytest.approx(bootstrap(each)[1], abs=1e-6)
        draws = [[one.rows[i].draws[d] for one in alone[:2]] for d in range(2)]
        assert own.draws == pytest.approx([np.mean(values) for values in draws], abs=1e-6)
        told = [(text.absolute if own.absolute else text.values)[own.mode][own.unit][own.method] for text in body.texts]
        assert told[2] is None
        assert told[:2] == pytest.approx(each, abs=1e-6)
    numbers = {(n.measure.key, n.of): n for n in get_study(NAME).report(found).numbers}
    assert {key for key, _ in numbers} == {"all", "all_absolute", "one", "one_absolute"}
    last = row(body, GXI, "cascading", UNITS[-1], True)
    assert numbers["all_absolute", GXI].value.mean == pytest.approx(last.mean, abs=1e-6)
    means = [np.mean([unit[GXI] for unit in text.values["independent"].values()]) for text in body.texts[:2]]
    assert numbers["one", GXI].value.mean == pytest.approx(np.mean(means), abs=1e-6)


def test_a_constant_map_has_no_rho_and_is_counted(encoder: Classifier) -> None:
    result = run(encoder, "film", methods=GXI, draws=1, mode="cascading")
    assert {(own.mean, own.n, own.undefined, *own.draws) for own in result.body.rows} == {(None, 0, 1, None)}
    assert result.warnings == (
        "Input × gradient: on 5 of 5 random models there is no rank correlation: "
        "all scores are equal, there or on the model itself.",
    )
    assert "none of 1 method can be judged" in get_study(NAME).report(result).headline


class Roots(nn.Module):
    """A model whose weights after the fourth position must not be negative, as it takes their square roots."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(MAX_TOKENS, WIDTH, len(LABELS)))

    def forward(self, x: Tensor) -> Tensor:
        weight = torch.cat([self.weight[:4], self.weight[4 : max(4, x.shape[1])].sqrt()])
        return torch.einsum("bnd,ndc->bc", x, weight[: x.shape[1]])


def test_maps_that_random_weights_break_are_told_and_stop_no_other(encoder: Classifier, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f'text\n"a film"\n"{TEXT}"\n', encoding="utf-8")
    classifier = toy(Roots(), encoder.tokenizer)
    asked = {"methods": "gradient", "draws": 2, "init": "normal01"}
    result = study(classifier, NAME, data=str(path), sample="all", **asked)
    assert result.body.units == ["model"]
    assert {(own.n, own.undefined) for own in result.body.rows} == {(1, 1)}
    alone = run(classifier, **asked)
    assert alone.warnings == (
        "Gradient: 2 of 2 random models gave no map, first: toy returned scores that are not finite numbers.",
    )
    assert alone.body.maps == []


# Requests ------------------------------------------------------------------------------------------------------------


def test_methods_are_joined_by_plus_or_separated_by_commas(encoder: Classifier) -> None:
    def names(methods: str | list[str]) -> list[str]:
        return get_study(NAME).Parameters(methods=methods).methods

    assert names(f"{GXI}+integrated_gradients:steps=5+{ATTENTION}") == [GXI, "integrated_gradients:steps=5", ATTENTION]
    assert names(f"{GXI}, {ATTENTION}") == names([GXI, ATTENTION]) == [GXI, ATTENTION]
    assert names("integrated_gradients:steps=5+6") == ["integrated_gradients:steps=5", "integrated_gradients:steps=6"]
    assert names("ensemble:members=gradient+lime") == ["ensemble:members=gradient+lime"]
    assert names(",".join(THESIS)) == [parse_spec(own).name for own in THESIS]
    for wrong, reason in (("grdient", "no method"), (f"{GXI}+{GXI}", "each once"), ("", "one or more")):
        with pytest.raises(RequestError, match=reason):
            run(encoder, methods=wrong)


@pytest.mark.parametrize(
    ("asked", "error", "reason"),
    [
        ({"draws": 0}, RequestError, "draws"),
        ({"units": "head,block 7"}, RequestError, "no unit 'block 7'"),
        ({"init": "uniform"}, RequestError, "init"),
        ({"methods": "lrp,mp_pi"}, UnsupportedError, "not a causal decoder"),
    ],
)
def test_what_cannot_be_is_refused(
    encoder: Classifier, asked: dict[str, Any], error: type[Exception], reason: str
) -> None:
    with watched(encoder) as passes, pytest.raises(error, match=reason):
        run(encoder, **asked)
    assert passes.calls == 0


def test_default_methods_that_the_model_cannot_run_are_left_out_and_named_ones_refused(zoo: Zoo) -> None:
    asked = {"draws": 1, "units": "head", "mode": "independent"}
    result = run(zoo("t5"), "a good film", **asked)
    left = "Attention rollout cannot run on a T5 model: it reads the text twice"
    assert [own.method for own in result.body.methods] == [parse_spec(own).name for own in THESIS[:4]]
    assert len(result.body.left_out) == 1
    assert f"Left out: {left}" in get_study(NAME).report(result).headline
    with pytest.raises(UnsupportedError, match=left):
        run(zoo("t5"), "a good film", methods="+".join(THESIS[3:]), **asked)


def test_some_units_are_randomised_from_the_first_of_them_down(
    encoder: Classifier, result: AnalysisResult[RandomisationText]
) -> None:
    body = run(encoder, units="block 1,block 3", **ASKED).body
    assert body.units == ["block 3", "block 1"]
    for unit in body.units:
        assert row(body, GXI, "independent", unit) == row(result.body, GXI, "independent", unit)
    assert row(body, GXI, "cascading", "block 1") != row(result.body, GXI, "cascading", "block 1")


def test_a_signed_sum_of_a_gradient_that_cancels_warns(encoder: Classifier) -> None:
    result = run(encoder, methods="gradient:norm=signed_sum", draws=1, units="head")
    assert [line.partition(":")[0] for line in result.warnings] == ["Gradient, norm signed_sum"]
    assert "rounding errors" in result.warnings[0]


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_language_model_with_a_prompt(speaker: Zoo, name: str) -> None:
    classifier = speaker(name)
    body = run(classifier, "a good film", methods=f"gradient+{ATTENTION}", draws=1).body
    tied = ["block 3", "block 2", "block 1", "embeddings and head"]
    assert body.units == (tied if name == "gpt2" else UNITS)
    assert all(own.mean is not None for own in body.rows)


def test_blocks_that_share_their_weights_are_one_unit(zoo: Zoo) -> None:
    assert run(zoo("albert"), methods="gradient", draws=1).body.units == ["head", "blocks 1 to 3", "embeddings"]
