"""Loaded models: bounded by bytes, least recently used first, loaded again when their files have changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from explainlab.errors import ModelError
from explainlab.workers.pool import ModelPool

Paths = Callable[[str], Path]


@pytest.fixture
def pool() -> ModelPool:
    """Return a pool with room for every tiny model."""
    return ModelPool("cpu", 2**30)


def test_a_model_is_loaded_once(pool: ModelPool, zoo_path: Paths, tmp_path: Path) -> None:
    path = zoo_path("bert")
    found = pool.get(str(path), "float32")
    assert pool.get(str(path), "float32") is found
    assert pool.get(f"{path}/../{path.name}/", "float32") is found
    assert pool.get(str(shutil.copytree(path, tmp_path / "copy")), "float32") is found
    assert pool.bytes == found.bytes > 0


def test_a_dtype_is_a_model_of_its_own(pool: ModelPool, zoo_path: Paths) -> None:
    full, half = (pool.get(str(zoo_path("bert")), dtype) for dtype in ("float32", "bfloat16"))
    assert full is not half
    assert pool.bytes == full.bytes + half.bytes
    assert half.bytes * 2 == full.bytes


def test_the_least_recently_used_goes_first(pool: ModelPool, zoo_path: Paths) -> None:
    first, second, third = (str(zoo_path(name)) for name in ("bert", "electra", "distilbert"))
    sizes = [pool.get(model, "float32").bytes for model in (first, second, third)]
    small = ModelPool("cpu", sum(sizes) - 1)
    kept = small.get(first, "float32")
    dropped = small.get(second, "float32")
    assert small.get(first, "float32") is kept
    small.get(third, "float32")
    assert small.bytes == sizes[0] + sizes[2]
    assert small.get(first, "float32") is kept
    assert small.get(second, "float32") is not dropped


def test_a_model_over_the_limit_is_kept_alone(zoo_path: Paths) -> None:
    tiny = ModelPool("cpu", 1)
    first = tiny.get(str(zoo_path("bert")), "float32")
    assert tiny.get(str(zoo_path("bert")), "float32") is first
    second = tiny.get(str(zoo_path("electra")), "float32")
    assert tiny.bytes == second.bytes


def test_a_changed_directory_is_loaded_again(pool: ModelPool, zoo_path: Paths, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(zoo_path("bert"), tmp_path / "model"))
    before = pool.get(str(folder), "float32")
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"] += 1
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    after = pool.get(str(folder), "float32")
    assert after.digest != before.digest
    change = after.model.network.classifier.bias - before.model.network.classifier.bias
    assert change.tolist() == pytest.approx([1, 1, 1])


def test_a_model_that_cannot_be_loaded_leaves_the_others(pool: ModelPool, zoo_path: Paths, tmp_path: Path) -> None:
    found = pool.get(str(zoo_path("bert")), "float32")
    with pytest.raises(ModelError):
        pool.get(str(tmp_path / "missing"), "float32")
    assert pool.get(str(zoo_path("bert")), "float32") is found
