"""The data of tiny grids."""

from __future__ import annotations

import pytest

from tests.analyses.roar.grids import written
from tests.training.test_train import sentences


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write training, validation and test data of sentences in which every third word reveals the class."""
    folder = tmp_path_factory.mktemp("data")
    parts = {"train": sentences(120, 1), "validation": sentences(30, 2), "test": sentences(60, 3)}
    return {name: written(folder / f"{name}.csv", part) for name, part in parts.items()}
