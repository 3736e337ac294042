"""Devices: the choice, its errors, and how many tokens a batch holds."""

from __future__ import annotations

import sys

import psutil
import pytest
import torch

from explainlab.errors import ModelError, RequestError
from explainlab.models import devices
from explainlab.models.devices import CPU_BATCH_TOKENS, batch_tokens, choose_device, free_cached, is_out_of_memory

CPU = torch.device("cpu")


def test_a_device_by_name_or_the_best_one() -> None:
    assert choose_device("cpu") == CPU
    assert choose_device().type in ("cuda", "mps", "cpu")


@pytest.mark.parametrize("name", ["", "gpu", "cuda:99", "meta:x", "tpu"])
def test_unknown_devices_are_refused(name: str) -> None:
    with pytest.raises(RequestError, match="There is no device"):
        choose_device(name)


def test_batches_on_a_cpu_stay_small() -> None:
    assert 1 <= batch_tokens(CPU, bytes_per_token=1) <= CPU_BATCH_TOKENS
    assert batch_tokens(CPU, bytes_per_token=2**60) == 1


def test_a_model_may_want_larger_batches_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    assert batch_tokens(CPU, bytes_per_token=1, on_cpu=4096) == 4096
    assert batch_tokens(CPU, bytes_per_token=2**60, on_cpu=4096) == 1
    monkeypatch.setattr(devices, "free_memory", lambda device: 2**27)
    assert batch_tokens(CPU, bytes_per_token=2**20, on_cpu=4096) == 64


def test_a_wanted_size_wins() -> None:
    assert batch_tokens(CPU, bytes_per_token=2**60, wanted=77) == 77


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_batches_on_a_gpu_use_half_of_what_is_free() -> None:
    free, total = torch.cuda.mem_get_info()
    assert 0.4 * free <= batch_tokens(torch.device("cuda"), bytes_per_token=1) <= 0.5 * total


def test_out_of_memory_is_recognised() -> None:
    assert is_out_of_memory(torch.cuda.OutOfMemoryError("CUDA out of memory"))
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"))
    assert is_out_of_memory(RuntimeError("could not create a primitive"))
    assert is_out_of_memory(MemoryError())
    with pytest.raises(ModelError) as raised:
        raise ModelError("It cannot be loaded.") from OSError(12, "Cannot allocate memory")
    assert is_out_of_memory(raised.value), "what caused it counts"
    assert not is_out_of_memory(ModelError("There is no out of memory."))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take memory back by themselves")
def test_memory_below_what_is_still_used_is_given_back() -> None:
    """C's allocator keeps all that is below the last block."""
    process = psutil.Process()
    before = process.memory_info().rss
    blocks = [bytes(1000) for _ in range(200_000)]
    last = blocks[-1]
    del blocks
    assert process.memory_info().rss > before + 150 * 2**20
    free_cached()
    assert process.memory_info().rss < before + 50 * 2**20
    assert len(last) == 1000
