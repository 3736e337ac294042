"""The reports of a server on its workers, also in a result that workers of different kinds made together."""

from __future__ import annotations

from typing import Any

import pytest

from explainlab.analyses.registry import new_request
from explainlab.models.context import RunContext
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.workers.local import here
from tests.tiers import full

ASKED = {"rows": 16, "sample": "first", "steps": [32], "rules": ["right"]}


class Called:
    """A worker of this process that claims another ``device``."""

    def __init__(self, device: str) -> None:
        self._worker, self.device = here("cpu"), device

    def __getattr__(self, name: str) -> Any:
        return getattr(self._worker, name)


@pytest.mark.parametrize(("other", "warned"), [full("cuda:1", False, reason="6 s: runs the job again"), ("cpu", True)])
@pytest.mark.usefixtures("_home")
def test_a_result_says_that_workers_on_different_devices_made_it(other: str, warned: bool) -> None:
    service = Service(Store("sqlite://"), workers=[Called("cuda:0"), Called(other)])  # type: ignore[list-item]
    request = new_request(
        model="embedded:bert-mini-sst2", question="integration_error", data="embedded:sentiment", parameters=ASKED
    )
    job = service.submit(resolve(request))
    helped = False
    while not service.engine.wait(job, 0.001):
        helped |= any(own is not None and own.helps is job for own in map(service.engine.at, (0, 1)))
    assert helped
    result = service.find(resolve(request))
    assert result is not None
    assert any("on different devices (cpu and cuda)" in warning for warning in result.warnings) == warned


def test_a_run_without_helpers_has_none() -> None:
    assert not RunContext().shards.helpers
