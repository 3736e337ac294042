"""A service whose store is empty, for pages whose answers must not be there already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from explainlab.service import service as service_module
from explainlab.service.service import Service
from explainlab.settings import settings


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Service]:
    """The app's own service on a store of its own."""
    monkeypatch.setenv("EXPLAINLAB_HOME", str(tmp_path))
    settings.cache_clear()
    service_module._service.cache_clear()
    yield service_module.service()
    monkeypatch.undo()
    settings.cache_clear()
    service_module._service.cache_clear()
