"""The best of many maps: by any metric, told to the reader; the adaptive search goes where maps are good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest

from explainlab import explain
from explainlab.attribution.diffusion import PRESETS, Draw, Maps
from explainlab.attribution.random_maps import candidates
from explainlab.attribution.selection import best, select
from explainlab.metrics.registry import get_metric
from explainlab.models.classifier import Classifier
from tests.attribution.methods.test_randomized import SEED, TEXT, TIMESTEPS, asked, subject


@pytest.mark.parametrize("metric", ["comprehensiveness", "sufficiency"])
@pytest.mark.parametrize("method", ["rpi", "rpi_ig"])
def test_the_answer_is_the_best_of_all(encoder: Classifier, method: str, metric: str) -> None:
    """Never worse than any single draw, and with more draws never worse."""
    cheap = {"steps": 2, "select_by": metric, "seed": SEED}
    found = [explain(encoder, TEXT, method, samples=samples, **cheap) for samples in (1, 3, 6)]
    judged = best(subject(encoder), np.stack([result.scores for result in found]), metric)[1]
    assert (np.diff(judged) * (1 if metric == "comprehensiveness" else -1) >= 0).all()
    assert judged[0] != judged[2]


@pytest.mark.parametrize(
    "metric", ["comprehensiveness", "sufficiency", "log_odds", "activation_auc", "inverse_activation_auc"]
)
def test_the_best_has_the_best_value(encoder: Classifier, metric: str) -> None:
    one = subject(encoder)
    scores = np.stack([candidate.scores for candidate in candidates(one, asked(samples=6, layers="all"))])
    before = one.forward
    index, values = best(one, scores, metric)
    assert values.shape == (18,)
    assert index == (values.argmax() if get_metric(metric).higher_is_better else values.argmin())
    assert one.forward > before
    alone = [best(subject(encoder), row[None], metric)[1][0] for row in scores[:4]]
    np.testing.assert_allclose(values[:4], alone, atol=1e-6)


@pytest.mark.parametrize("search", ["random", "adaptive"])
def test_the_reader_is_told_how_the_map_was_chosen(encoder: Classifier, search: str) -> None:
    found = explain(encoder, TEXT, "rpi", samples=7, steps=2, layers="all", search=search)
    assert any("of 21 candidates: Comprehensiveness (RPI)" in note for note in found.notes)
    assert any("best of 21 maps by Comprehensiveness (RPI)" in warning for warning in found.warnings)
    assert not explain(encoder, TEXT, "rpi", samples=1, steps=2).warnings


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
    maps.good = scores[best(one, scores, metric)[0]]
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
