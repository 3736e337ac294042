"""Every metric by every preset keeps the contract, and every metric on every architecture."""

from __future__ import annotations

import pytest

from explainlab.metrics.registry import get_metric, metric_ids
from explainlab.models.classifier import Classifier
from explainlab.testing import check_metric
from tests.conftest import ONE_OF_EACH, Zoo
from tests.metrics.conftest import WITH_PRESETS
from tests.tiers import first

PRESETS = [(metric, preset) for metric in WITH_PRESETS for preset in get_metric(metric).presets]

ON_A_DECODER = [(metric, preset) for metric, preset in PRESETS if metric == "aopc_comprehensiveness"]


@pytest.mark.parametrize(
    ("name", "metric", "preset"),
    [*(("bert", *pair) for pair in PRESETS), *(("gpt2", *pair) for pair in ON_A_DECODER)],
)
def test_every_preset(zoo: Zoo, name: str, metric: str, preset: str) -> None:
    check_metric(get_metric(metric), zoo(name), preset=preset)


@pytest.mark.parametrize("name", first(ONE_OF_EACH, ("bert", "gpt2", "t5"), "no metric knows an architecture"))
def test_the_other_direction(zoo: Zoo, name: str) -> None:
    check_metric(get_metric("inverse_activation_auc"), zoo(name))


@pytest.mark.parametrize("metric", metric_ids("Rationale"))
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_comparing_with_a_rationale(zoo: Zoo, name: str, metric: str) -> None:
    check_metric(get_metric(metric), zoo(name))
    if get_metric(metric).presets:
        check_metric(get_metric(metric), zoo(name), preset="thesis")


@pytest.mark.parametrize("metric", metric_ids("Stability"))
def test_explaining_again(zoo: Zoo, metric: str) -> None:
    check_metric(get_metric(metric), zoo("gpt2"), samples=2)


@pytest.mark.parametrize("metric", ["activation_auc", "mean_rank_percentage"])
def test_a_metric_of_each_other_kind(classifier: Classifier, metric: str) -> None:
    check_metric(get_metric(metric), classifier)


def test_every_architecture(every_classifier: Classifier) -> None:
    """By a metric that makes other texts: no metric knows an architecture."""
    check_metric(get_metric("aopc_comprehensiveness"), every_classifier)


@pytest.mark.parametrize("preset", ["dig_sig", "thesis"])
def test_a_model_read_at_its_end_token_refuses_presets_that_may_remove_it(zoo: Zoo, preset: str) -> None:
    check_metric(get_metric("comprehensiveness"), zoo("t5"), preset=preset)
