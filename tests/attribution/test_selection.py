"""The best of many maps: by any metric, told to the reader; the adaptive search goes where maps are good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainlab import explain, study
from explainlab.attribution.diffusion import PRESETS, Candidate, Draw, Maps
from explainlab.attribution.selection import select, tells_apart, values_of, winner_of
from explainlab.metrics.registry import get_metric
from explainlab.models.classifier import Classifier
from tests.attribution.conftest import Toys
from tests.attribution.drawn import candidates
from tests.attribution.methods.test_randomized import SEED, TEXT, TIMESTEPS, asked, subject


@pytest.mark.parametrize("metric", ["comprehensiveness", "sufficiency"])
@pytest.mark.parametrize("method", ["rpi", "rpi_ig"])
def test_the_answer_is_the_best_of_all(encoder: Classifier, method: str, metric: str) -> None:
    """Never worse than any single draw, and with more draws never worse."""
    cheap = {"steps": 2, "select_by": metric, "seed": SEED}
    found = [explain(encoder, TEXT, method, samples=samples, **cheap) for samples in (1, 3, 6)]
    judged = values_of(subject(encoder), np.stack([result.scores for result in found]), metric)
    assert (np.diff(judged) * (1 if metric == "comprehensiveness" else -1) >= 0).all()
    assert judged[0] != judged[2]


@pytest.mark.parametrize(
    "metric", ["comprehensiveness", "sufficiency", "log_odds", "activation_auc", "inverse_activation_auc"]
)
def test_the_best_has_the_best_value(encoder: Classifier, metric: str) -> None:
    one = subject(encoder)
    drawn = candidates(one, asked(samples=6, layers="all"))
    scores = np.stack([candidate.scores for candidate in drawn])
    before = one.forward
    values = values_of(one, scores, metric)
    assert values.shape == (18,)
    merits = values if get_metric(metric).higher_is_better else -values
    assert merits[winner_of(drawn, merits)] == pytest.approx(merits.max(), abs=1e-6)
    assert one.forward > before
    alone = [values_of(subject(encoder), row[None], metric)[0] for row in scores[:4]]
    np.testing.assert_allclose(values[:4], alone, atol=1e-6)


@pytest.mark.parametrize("search", ["random", "adaptive"])
def test_the_reader_is_told_how_the_map_was_chosen(encoder: Classifier, search: str) -> None:
    found = explain(encoder, TEXT, "rpi", samples=7, steps=2, layers="all", search=search)
    assert any("of 21 candidates: Comprehensiveness (RPI)" in note for note in found.notes)
    assert any("best of 21 maps by Comprehensiveness (RPI)" in warning for warning in found.warnings)
    alone = explain(encoder, TEXT, "rpi", samples=1, steps=2)
    assert not alone.warnings
    assert any(note.startswith("Draw 1 ") and note.endswith(", the only candidate.") for note in alone.notes)


def test_every_pass_of_a_metric_is_counted_once(encoder: Classifier) -> None:
    text = subject(encoder)
    values_of(text, np.arange(len(text.units.features))[None], "comprehensiveness")
    assert text.forward == text.batcher.passes == 2, "the text itself, and without its highest features"


class Early(Maps):
    """Maps that are the best of others where the timestep is early, and its contrary elsewhere."""

    layers: ClassVar = [1]

    def tokens(self, draws: Sequence[Draw]) -> np.ndarray:
        sign = [1 if draw.timestep <= self.timesteps / 4 else -1 for draw in draws]
        return np.array(sign)[:, None] * self.good


@pytest.mark.parametrize("metric", ["comprehensiveness", "sufficiency"])
def test_the_adaptive_search_goes_where_maps_are_good(encoder: Classifier, metric: str) -> None:
    one = subject(encoder)
    scores = np.stack([candidate.scores for candidate in candidates(one, asked(samples=6, layers="all"))])
    maps = Early(one, 400, PRESETS["paper"])
    merits = values_of(one, scores, metric) * (1 if metric == "comprehensiveness" else -1)
    maps.good = scores[merits.argmax()]
    early = {
        search: np.mean([c.timestep <= 100 for c in select(maps, 36, search, metric).candidates])
        for search in ("random", "adaptive")
    }
    assert early["random"] < 0.4
    assert early["adaptive"] > 0.5


def test_a_preset_without_timesteps_to_choose_can_be_searched(encoder: Classifier) -> None:
    found = candidates(subject(encoder), asked(preset="reference", layers="all", samples=4, search="adaptive"))
    assert len({(candidate.layer, candidate.draw) for candidate in found}) == 12
    assert {candidate.timestep for candidate in found} == {TIMESTEPS}


# Ties of a metric ----------------------------------------------------------------------------------------------------


class Flat(nn.Module):
    """The same scores for every text, with a gradient of zero."""

    def forward(self, x: Tensor) -> Tensor:
        return (x * 0).sum(dim=(1, 2))[:, None] + torch.tensor([1.0, -1.0])


def drawn(*places: tuple[int, int]) -> list[Candidate]:
    return [Candidate(layer, draw, 1, np.zeros(1)) for layer, draw in places]


def test_of_equal_maps_the_lowest_layer_wins_and_there_the_first_draw() -> None:
    ties = drawn((3, 0), (2, 0), (1, 0), (3, 1), (2, 1), (1, 1))
    assert winner_of(ties, np.zeros(6)) == 2
    assert winner_of(ties, np.array([1.0, 0, 0, 1, 1, 0])) == 4
    assert winner_of(ties, np.array([0, 1, 0, 0, 1 + 1e-9, 0])) == 1, "the rest is rounding"
    assert winner_of(ties, np.array([0, 1, 0, 0, 1.1, 0])) == 4


def test_a_metric_tells_maps_apart_where_its_best_is_better_than_their_mean() -> None:
    assert tells_apart(np.array([0.0]))
    assert tells_apart(np.array([0.0, 1e-4]))
    assert not tells_apart(np.zeros(5))
    assert not tells_apart(np.array([0.3, 0.3 + 1e-8, 0.3 - 1e-8]))


@pytest.mark.parametrize("search", ["random", "adaptive"])
@pytest.mark.parametrize("method", ["rpi", "rpi_ig"])
def test_of_a_text_too_short_no_map_is_chosen(encoder: Classifier, method: str, search: str) -> None:
    """20% of 4 tokens is none of them, so that comprehensiveness is 0 for every map."""
    layers = {"layers": "all"} if method == "rpi" else {}
    text, cheap = "A good film.", {"steps": 2, "search": search, **layers, "seed": SEED}
    found = explain(encoder, text, method, samples=6, **cheap)
    count = 18 if layers else 6
    assert found.warnings == (
        f"Comprehensiveness (RPI) cannot tell these {count} maps apart: it is 0.000 for all of them. None was chosen; "
        "this is the first draw.",
    )
    assert not any("on average" in note for note in found.notes)
    if search == "random":
        first = explain(encoder, text, method, samples=1, **{**cheap, **({"layers": "1"} if layers else {})})
        np.testing.assert_allclose(found.scores, first.scores, atol=1e-6)
    told = explain(encoder, text, method, samples=6, select_by="activation_auc", **cheap).warnings
    assert any("best of" in warning for warning in told), "another metric tells them apart"


def test_under_a_constant_model_no_map_is_chosen(toys: Toys) -> None:
    found = explain(toys(Flat), TEXT, "rpi_ig", samples=4, steps=2)
    assert "cannot tell these 4 maps apart" in found.warnings[0]


@pytest.mark.parametrize("text", [TEXT, "A good film.", "a film", "I did not like this film at all. It isn't funny!"])
@pytest.mark.parametrize("metric", ["comprehensiveness", "sufficiency", "log_odds"])
def test_the_method_and_the_study_of_its_candidates_choose_the_same(
    encoder: Classifier, text: str, metric: str
) -> None:
    cheap = {"samples": 5, "steps": 2, "layers": "all", "seed": SEED}
    method = explain(encoder, text, "rpi", select_by=metric, **cheap)
    body = study(encoder, "rpi_candidates", text, metrics=metric, **cheap).body
    winner = body.candidates[body.winners[metric]]
    np.testing.assert_allclose(method.scores, winner.scores, atol=1e-6)
    assert (metric in body.undecided) == any("cannot tell" in warning for warning in method.warnings)
