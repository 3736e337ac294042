"""Models whose weights have 8 or 4 bits, as bitsandbytes writes them."""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor, nn

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
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it warns of rounding in every layer of every pass
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

    transformers reads weights of the name ``weight`` in the number format of the file, and all others in the requested
    one; a norm with weights of both formats fails.
    """
    for own in network.parameters():
        if type(own) is nn.Parameter and own.is_floating_point():
            own.data = own.data.to(dtype)
