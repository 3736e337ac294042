"""Low-rank adaptation (Hu et al. 2021): matrices beside the query and value projections learn, and the head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from explainlab.errors import ModelError, RequestError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_PROJECTIONS = {"query", "value", "query_proj", "value_proj", "q_proj", "v_proj", "q_lin", "v_lin", "q", "v"}
_FUSED = {"c_attn", "Wqkv"}
"""What transformers' models call their query and value projections, and those that hold the keys too."""
_ALPHA, _DROPOUT = 2, 0.1
"""The scale of what is learned as a multiple of the rank, and the dropout before it."""


def add_lora(network: PreTrainedModel, base: str, rank: int) -> None:
    """Put matrices of this ``rank`` into ``network``, whose other weights stay as they are, but for those of its head.

    They are drawn from torch's current random state. Raises :class:`RequestError` where peft is not installed and
    :class:`ModelError` for a model type whose projections it does not know.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError:
        raise RequestError("LoRA needs peft.", "Install it (pip install peft), or set lora_rank=0.") from None
    body = f"{network.base_model_prefix}."
    head = [parameter for name, parameter in network.named_parameters() if not name.startswith(body)]
    names = {name.rpartition(".")[2] for name, _ in network.named_modules()} & (_PROJECTIONS | _FUSED)
    if not names:
        raise ModelError(f"LoRA does not know the projections of {base}.", "Set lora_rank=0.")
    options: Any = {
        "r": rank,
        "lora_alpha": _ALPHA * rank,
        "lora_dropout": _DROPOUT,
        "fan_in_fan_out": "c_attn" in names,
    }
    inject_adapter_in_model(LoraConfig(target_modules=sorted(names), **options), network)
    for parameter in head:
        parameter.requires_grad_(True)


def merge_lora(network: PreTrainedModel) -> None:
    """Add what the matrices of :func:`add_lora` have learned to the weights beside them; nothing without any."""
    for name, module in list(network.named_modules()):
        if hasattr(module, "lora_A"):
            module.merge()
            parent, _, child = name.rpartition(".")
            setattr(network.get_submodule(parent), child, module.get_base_layer())
