"""Models whose weights have 8 or 4 bits, as bitsandbytes writes them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from explainlab.errors import ModelError
from explainlab.models.stored.libraries import require_library


def require_quantiser(model_id: str, config: Any) -> None:
    """Raise :class:`ModelError` unless the quantised weights of ``config`` can be read here.

    bitsandbytes reads 8 and 4 bits; other formats have libraries of their own that we do not know.
    """
    method = config.quantization_config.get("quant_method")
    if method != "bitsandbytes":
        raise ModelError(
            f"The weights of {model_id} are quantised by {method}, which is not supported.",
            "Give it in full precision, or quantised to 8 or 4 bits by bitsandbytes.",
        )
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # for every layer of every pass: what it rounds
    require_library("bitsandbytes", f"The weights of {model_id} are quantised")


def is_quantised(network: nn.Module) -> bool:
    """Tell whether some weights of ``network`` are no plain numbers, but packed into 8 or 4 bits."""
    packed = any(type(own) is not nn.Parameter or not own.is_floating_point() for own in network.parameters())
    return packed or any(not isinstance(own, Tensor) or own.is_quantized for own in network.state_dict().values())


def keep_layout(network: nn.Module) -> None:
    """Have the 4-bit layers of ``network`` stay as they are stored.

    Where a processor has instructions for bfloat16, bitsandbytes packs them anew at their first pass without gradients:
    all passes are rounded to bfloat16 from then on, have no gradients, and fail for sizes that 32 does not divide.
    """
    for layer in network.modules():
        if hasattr(layer, "support_avx512bf16_for_cpu"):
            layer.support_avx512bf16_for_cpu = False  # type: ignore[assignment]


def convert(network: nn.Module, dtype: torch.dtype) -> None:
    """Convert the weights of ``network`` that are not quantised to ``dtype``.

    transformers reads those that are called ``weight`` in the number format in which they were saved, and all others
    in that which was asked for: norms of both fail.
    """
    for own in network.parameters():
        if type(own) is nn.Parameter and own.is_floating_point():
            own.data = own.data.to(dtype)


def pack(network: nn.Module, directory: Path) -> None:
    """Give the layers of ``network``, which is on torch's ``meta`` device, weights as packed as in ``directory``.

    The passes of such an outline take what those of the loaded model do: a layer unpacks its weights, and forgets them.
    """
    for name, size in _packed(directory).items():
        parent, _, own = name.rpartition(".")
        above = network.get_submodule(parent)
        setattr(above, own, _Packed(getattr(above, own), size))


def _packed(directory: Path) -> dict[str, int]:
    """The names of the layers whose weights are whole numbers in the files, and how many bytes these are."""
    found = {}
    for path in directory.glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            for name in file.keys():  # noqa: SIM118 (no mapping)
                layer, _, own = name.rpartition(".")
                stored = file.get_slice(name)
                if own == "weight" and stored.get_dtype() in ("I8", "U8"):
                    found[layer] = torch.Size(stored.get_shape()).numel()
    return found


class _Packed(nn.Module):
    """A linear layer without numbers whose weights are packed into ``size`` bytes."""

    def __init__(self, layer: Any, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size, dtype=torch.uint8, device="meta"), requires_grad=False)
        self.bias: Tensor | None = layer.bias
        self._shape = tuple(layer.weight.shape if isinstance(layer, Conv1D) else reversed(layer.weight.shape))

    def forward(self, states: Tensor) -> Tensor:
        made: Tensor = _Unpacked.apply(states, self._shape)  # type: ignore[no-untyped-call]
        return made if self.bias is None else made + self.bias


class _Unpacked(torch.autograd.Function):
    """``states`` [..., in] times weights [in, out] that are there only meanwhile, also on the way back."""

    @staticmethod
    def forward(context: Any, states: Tensor, shape: tuple[int, int]) -> Tensor:
        context.shape = shape
        return states @ states.new_empty(shape)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient @ gradient.new_empty(context.shape).T, None
