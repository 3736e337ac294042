"""The expected best of many draws, at sizes that a plain sum over subsets cannot reach."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab.analyses.candidates.table import expected_best


def test_many_draws_keep_their_digits() -> None:
    values = np.random.default_rng(0).normal(size=600)
    expected = expected_best(values)
    assert expected[0] == pytest.approx(values.mean(), abs=1e-12)
    assert expected[-1] == values.max()
    drawn = np.random.default_rng(1).permuted(np.tile(values, (4000, 1)), axis=1)[:, :20].max(axis=1)
    assert expected[19] == pytest.approx(drawn.mean(), abs=5 * drawn.std() / 4000**0.5)
