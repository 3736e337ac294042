"""Low-rank adaptation (Hu et al. 2021): only matrices beside the query and value projections, and the head, are
trained.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors.torch import save_file

from explainlab.errors import ModelError, RequestError
from explainlab.models.model_types import model_type_of
from explainlab.models.stored.base import Base
from explainlab.models.stored.places import resolved_id
from explainlab.models.stored.weights import ADAPTER, ADAPTER_WEIGHTS, IN_ADAPTER

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_ALPHA, _DROPOUT = 2, 0.1
"""The scale of the trained matrices as a multiple of the rank, and the dropout before them."""
_NAME = ".default"
"""The name of the adapter inside a network, which peft leaves out of files."""


@dataclass(frozen=True)
class Adapter:
    """The trainable parts of a ``network``: low-rank matrices and the ``modules`` trained in full; ``options`` are
    peft's.

    All other parts of the network are as they were read.
    """

    network: PreTrainedModel
    modules: tuple[str, ...]
    options: dict[str, Any]

    def save_pretrained(self, directory: Path) -> None:
        """Write the trained parts as peft does, and the configuration of the network, which names its classes.

        Raises OSError and SafetensorError where it cannot be written.
        """
        directory.mkdir(parents=True)
        config: Any = self.network.config
        config.architectures = [type(self.network).__name__]
        config.save_pretrained(directory)
        fields = self.options | {"modules_to_save": self.modules, "inference_mode": True}
        (directory / ADAPTER).write_text(json.dumps(fields, indent=2, sort_keys=True), encoding="utf-8")
        learned = {
            IN_ADAPTER + name.replace(_NAME, ""): weight.detach().cpu().contiguous()
            for name, weight in self.network.named_parameters()
            if weight.requires_grad
        }
        save_file(learned, directory / ADAPTER_WEIGHTS, {"format": "pt"})


def add_lora(base: Base, base_id: str, rank: int) -> Adapter:
    """Put matrices of this ``rank`` into the network of ``base``, the model with the id ``base_id``.

    They are drawn from torch's current random state. Beside them only the head is trained, and weights that the base
    lacks. Raises :class:`RequestError` where peft is not installed and for a base that is an adapter, and
    :class:`ModelError` for a model type whose projections it does not know.
    """
    if base.merged:
        raise RequestError(
            f"{base_id} is an adapter, and LoRA cannot add another one.", "Leave lora out: all weights learn then."
        )
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError:
        raise RequestError("LoRA needs peft.", "Install it (pip install peft), or leave lora out.") from None
    from transformers.pytorch_utils import Conv1D

    network = base.network
    whole = _whole(network, base.drawn)
    anatomy = model_type_of(network.config).architecture.anatomy
    names = () if anatomy is None else anatomy.projections
    projections = [module for name, module in network.named_modules() if name.rpartition(".")[2] in names]
    if not projections:
        raise ModelError(f"LoRA does not know the projections of {base_id}.", "Leave lora out.")
    options: dict[str, Any] = {
        "base_model_name_or_path": resolved_id(base_id),
        "task_type": "SEQ_CLS",
        "target_modules": names,
        "r": rank,
        "lora_alpha": _ALPHA * rank,
        "lora_dropout": _DROPOUT,
        "fan_in_fan_out": any(isinstance(module, Conv1D) for module in projections),
    }
    inject_adapter_in_model(LoraConfig(**options | {"target_modules": list(names)}), network)
    for name in whole:
        network.get_submodule(name).requires_grad_(True)
    return Adapter(network, whole, options | {"peft_type": "LORA"})


def _whole(network: PreTrainedModel, drawn: frozenset[str]) -> tuple[str, ...]:
    """Return the modules that are trained in full: those of the head, and those of the body that have ``drawn``
    weights.
    """
    body = network.base_model_prefix
    head = [name for name, module in network.named_children() if name != body and list(module.parameters())]
    new = [name.rpartition(".")[0] for name in drawn if name.startswith(f"{body}.")]
    return tuple(sorted({*head, *new}))
