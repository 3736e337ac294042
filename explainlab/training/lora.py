"""Low-rank adaptation (Hu et al. 2021): matrices beside the query and value projections learn, and the head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from explainlab.errors import ModelError, RequestError
from explainlab.models.model_types import model_type_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

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
    from transformers.pytorch_utils import Conv1D

    body = f"{network.base_model_prefix}."
    head = [parameter for name, parameter in network.named_parameters() if not name.startswith(body)]
    anatomy = model_type_of(network.config).architecture.anatomy
    names = () if anatomy is None else anatomy.projections
    projections = [module for name, module in network.named_modules() if name.rpartition(".")[2] in names]
    if not projections:
        raise ModelError(f"LoRA does not know the projections of {base}.", "Set lora_rank=0.")
    options: Any = {
        "r": rank,
        "lora_alpha": _ALPHA * rank,
        "lora_dropout": _DROPOUT,
        "fan_in_fan_out": any(isinstance(module, Conv1D) for module in projections),
    }
    inject_adapter_in_model(LoraConfig(target_modules=list(names), **options), network)
    for parameter in head:
        parameter.requires_grad_(True)


def merge_lora(network: PreTrainedModel) -> None:
    """Add what the matrices of :func:`add_lora` have learned to the weights beside them; nothing without any."""
    for name, module in list(network.named_modules()):
        if hasattr(module, "lora_A"):
            module.merge()
            parent, _, child = name.rpartition(".")
            setattr(network.get_submodule(parent), child, module.get_base_layer())
