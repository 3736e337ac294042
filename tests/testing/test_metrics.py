"""The contract of metrics catches what is broken."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab.metrics import registry
from explainlab.metrics.metric import Metric, Perturbations
from explainlab.metrics.perturbation import Comprehensiveness
from explainlab.metrics.rationale import TokenF1
from explainlab.models.classifier import Classifier
from explainlab.testing import check_metric


class NotFinite(Comprehensiveness):
    def value(self, *given: object) -> np.ndarray:
        return super().value(*given) * np.nan


class OfAll(Comprehensiveness):
    """Its values depend on the attributions beside them."""

    def value(self, perturbed: Perturbations, *given: object) -> np.ndarray:
        return super().value(perturbed, *given) + len(perturbed.counts)


class Greedy(Comprehensiveness):
    def inputs(self, *_: object) -> int:
        return 0


class Backwards(TokenF1):
    """Better where the rationale is ranked last."""

    def value(self, *given: object) -> np.ndarray:
        return -super().value(*given)


class BesideOthers(TokenF1):
    """Its values depend on the attributions beside them."""

    def value(self, *given: object) -> np.ndarray:
        values = super().value(*given)
        return values + len(values)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (NotFinite, "a value is not finite"),
        (OfAll, "one text and attribution alone: differs"),
        (Greedy, "texts are run"),
        (Backwards, "ranked first is not better"),
        (BesideOthers, "one text and attribution alone: differs"),
    ],
)
def test_a_broken_metric_fails(
    encoder: Classifier, metric: type[Metric], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.metrics(), metric.id, metric())
    with pytest.raises(AssertionError, match=message):
        check_metric(metric(), encoder)
