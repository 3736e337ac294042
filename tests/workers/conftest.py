"""Two workers in processes of their own, of this machine or of a cluster of Ray, and a service on them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.workers.cluster import cluster
from explainlab.workers.local import processes


@pytest.fixture(scope="module", params=["processes", "ray"])
def fleet(request: pytest.FixtureRequest, _home: object) -> Iterator[Service]:
    """A service on the two; a test leaves no job of its own there."""
    if request.param == "ray" and find_spec("ray") is None:
        pytest.skip("needs Ray: pip install ray==2.60.0")
    workers = processes(2, "cpu") if request.param == "processes" else cluster(2)
    yield Service(Store("sqlite://"), "cpu", workers=workers)
    for worker in workers:
        worker.close()
    if request.param == "ray":
        import ray

        ray.shutdown()
