"""The modes of torch in which models run: ours, not those of the calling program."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch._C import _autograd  # torch names no public way to set hooks aside

BUILDING = threading.RLock()
"""Held while a network is made or read: transformers changes its own classes and torch's default dtype meanwhile.

Both are the whole process's. Two threads that restore them in the wrong order would leave every later model's weights
untied, or in another dtype.
"""


_KINDS = ("cpu", "cuda", "mps")
"""The kinds of devices on which models run."""
_ROUNDING = ("tf32", "bf16")
"""The formats to which torch may round float32 where it multiplies matrices."""


@contextmanager
def own_modes(gradients: bool = True) -> Iterator[None]:
    """Run the block in torch's default modes, and restore the program's modes afterwards.

    Inference mode and autocast are off, tensors without dtype and device are float32 on the CPU, and no hook of the
    program touches the tensors that a pass saves for its gradients. Without ``gradients`` none are recorded, as in
    ``torch.no_grad``.
    """
    with ExitStack() as changed:
        changed.enter_context(torch.inference_mode(False))  # this also records gradients
        if not gradients:
            changed.enter_context(torch.no_grad())
        for kind in _KINDS:
            if torch.is_autocast_enabled(kind):
                changed.enter_context(torch.autocast(kind, enabled=False))
        if torch.get_default_device().type != "cpu":
            changed.enter_context(torch.device("cpu"))
        if torch.get_default_dtype() != torch.float32:
            changed.enter_context(_float32_by_default())
        forbidden = _autograd._saved_tensors_hooks_get_disabled_error_message()
        if forbidden is not None:
            _autograd._saved_tensors_hooks_enable()
            changed.callback(_autograd._saved_tensors_hooks_disable, forbidden)
        while pair := _autograd._top_saved_tensors_default_hooks(True):
            _autograd._pop_saved_tensors_default_hooks()
            changed.callback(_autograd._push_saved_tensors_default_hooks, *pair)
        yield


@contextmanager
def _float32_by_default() -> Iterator[None]:
    with BUILDING:  # the default is global, and a thread that reads a network restores the one that it found
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(usual)


def rounding(device: torch.device) -> str:
    """Return the format to which torch rounds float32 on ``device`` before it multiplies matrices: ``tf32`` or
    ``bf16``.

    Empty if it does not round, as no program asked for it by ``torch.set_float32_matmul_precision``.
    """
    backend = torch.backends.cuda if device.type == "cuda" else torch.backends.mkldnn
    asked = str(backend.matmul.fp32_precision)
    return asked if asked in _ROUNDING else ""
