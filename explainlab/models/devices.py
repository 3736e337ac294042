"""Which device runs the model, and how many tokens it takes at once."""

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
"""On a CPU, larger batches only fall out of the caches (measured by `bench`)."""
MOST_WORK, MOST_BYTES = 2e11, 2**30
"""The most floating-point operations and bytes of a part of a training's step on a CPU: two seconds on two cores.

A step by the usual settings takes less.
"""
_OF_CORE, _OF_GPU = 5e10, 1e13
"""The floating-point operations in a second of training, of a core and of a GPU."""
_LITTLE = 2**26
"""So many bytes a CPU always has."""
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
"""What errors of torch, of the system and of safetensors say where memory ran out."""


def choose_device(name: str | None = None) -> torch.device:
    """The device called ``name``, or the best one here: cuda, else mps, else cpu. Raises :class:`RequestError`."""
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
    """Tokens that a batch may hold on ``device`` when a token needs ``bytes_per_token``: as many as ``wanted``.

    If 0 are wanted, half of the free memory of a GPU is used; a CPU takes no more than ``on_cpu``, so that the batch
    stays small enough for its caches and for a quick cancel.
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
    """Bytes that are free on a GPU, what torch keeps for itself included; elsewhere those of the machine."""
    if device.type != "cuda":
        return int(psutil.virtual_memory().available)
    free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    return free - torch.cuda.memory_allocated(device)


def whole_memory(device: torch.device) -> int:
    """Bytes of a GPU, elsewhere of the machine."""
    if device.type != "cuda":
        return int(psutil.virtual_memory().total)
    return int(torch.cuda.get_device_properties(device).total_memory)


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether ``error``, or its cause, means that memory ran out: of Python, the system, a GPU or torch's kernels."""
    if isinstance(error, MemoryError | MemoryShortage | torch.cuda.OutOfMemoryError):
        return True
    if isinstance(error, ExplainLabError):
        return is_out_of_memory(error.__cause__)
    known = isinstance(error, RuntimeError | OSError | SafetensorError)
    return known and any(words in str(error) for words in _OUT_OF_MEMORY)


def empty_cache() -> None:
    """Give back what torch keeps of a GPU for itself."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def free_cached() -> None:
    """Give back unused memory, also that which torch and C's allocator keep for themselves; takes up to a second."""
    gc.collect()
    empty_cache()
    if sys.platform == "linux":
        with suppress(AttributeError):  # another C library than GNU's
            ctypes.CDLL(None).malloc_trim(0)
