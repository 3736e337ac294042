"""The device of a model, and the number of tokens that it takes at once."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress

import psutil
import torch
from safetensors import SafetensorError

from explainlab.errors import ExplainLabError, MemoryShortage, RequestError

CPU_BATCH_TOKENS = 1024
"""Tokens of a batch on a CPU: larger batches exceed the caches (measured by ``benchmarks``)."""
MOST_WORK, MOST_BYTES = 2e11, 2**30
"""The most floating-point operations of a batch on a CPU, two seconds on two cores, and the most bytes of a part of a
training's step. A step by the usual settings takes less.
"""
_OF_CORE, _OF_GPU = 5e10, 1e13
"""Floating-point operations of a training per second, of a core and of a GPU."""
_LITTLE = 2**26
"""Bytes assumed free on a CPU."""
_OUT_OF_MEMORY = (
    "out of memory",
    "can't allocate memory",
    "annot allocate memory",
    "not enough memory",
    "could not create a primitive",
    "could not create a memory",
    "ALLOC_FAILED",
    "bad_alloc",
)
"""Parts of the messages by which torch, the system and safetensors report that memory ran out."""


def choose_device(name: str | None = None) -> torch.device:
    """Return the device called ``name``, or the best one: cuda, else mps, else cpu. Raises :class:`RequestError`."""
    if name is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise RequestError(f"There is no device '{name}' here.", "Use cuda, mps or cpu.") from error
    return device


def batch_tokens(
    device: torch.device,
    bytes_per_token: int,
    wanted: int = 0,
    on_cpu: int = CPU_BATCH_TOKENS,
) -> int:
    """Return the number of tokens that a batch may hold on ``device`` when a token needs ``bytes_per_token``.

    These are at most ``wanted``. If 0 are wanted, half of the free memory of a GPU is used; a CPU takes no more than
    ``on_cpu``, so that the batch fits its caches and stops quickly.
    """
    if wanted:
        return wanted
    if device.type != "cuda" and on_cpu * bytes_per_token <= _LITTLE:
        return on_cpu
    fit = max(1, free_memory(device) // 2 // bytes_per_token)
    return fit if device.type == "cuda" else min(on_cpu, fit)


def training_seconds(device: torch.device, work: float) -> float:
    """Return about how many seconds ``work`` floating-point operations of training take on ``device``."""
    return work / (_OF_CORE * torch.get_num_threads() if device.type == "cpu" else _OF_GPU)


def free_memory(device: torch.device) -> int:
    """Return the free bytes of a GPU, including those that torch caches; elsewhere those of the machine."""
    if device.type != "cuda":
        return int(psutil.virtual_memory().available)
    free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    return free - torch.cuda.memory_allocated(device)


def whole_memory(device: torch.device) -> int:
    """Return the bytes of a GPU, elsewhere of the machine."""
    if device.type != "cuda":
        return int(psutil.virtual_memory().total)
    return int(torch.cuda.get_device_properties(device).total_memory)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Tell whether ``error``, or its cause, is a lack of memory: of Python, the system, a GPU or torch's kernels."""
    if isinstance(error, MemoryError | MemoryShortage | torch.cuda.OutOfMemoryError):
        return True
    if isinstance(error, ExplainLabError):
        return is_out_of_memory(error.__cause__)
    known = isinstance(error, RuntimeError | OSError | SafetensorError)
    return known and any(words in str(error) for words in _OUT_OF_MEMORY)


def empty_cache() -> None:
    """Give back the GPU memory that torch caches."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def free_cached() -> None:
    """Give back unused memory, including the caches of torch and of C's allocator; takes up to a second."""
    gc.collect()
    empty_cache()
    if sys.platform == "linux":
        with suppress(AttributeError):  # another C library than GNU's
            ctypes.CDLL(None).malloc_trim(0)
