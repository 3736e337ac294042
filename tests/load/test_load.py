"""Many sessions that click while the worker is busy: quick answers, no errors, nothing lost."""

from __future__ import annotations

from pathlib import Path
from statistics import median, quantiles

import pytest

from tests.load.under_load import under_load

pytestmark = pytest.mark.full("two minutes of fifty sessions")


def test_fifty_sessions_click_while_the_worker_is_busy(tmp_path: Path) -> None:
    met = under_load(tmp_path, sessions=50, seconds=120)
    assert met.busy
    assert len(met.seconds) >= 900
    assert met.errors == []
    assert met.lost == 0
    assert median(met.seconds) < 0.3
    assert quantiles(met.seconds, n=20)[-1] < 1.0
