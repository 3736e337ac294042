"""The start of a training: random weights and a learned tokenizer, a base model's, or adapters (LoRA) on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file

from explainlab.errors import DataError, ModelError, RequestError, ResourceError
from explainlab.models.classifier import filler_id
from explainlab.models.devices import free_memory
from explainlab.models.model_types import model_type_of
from explainlab.models.modes import BUILDING
from explainlab.models.stored.base import Base, base_labels, load_base
from explainlab.models.stored.directory import OF_MASKS, OF_PAIRS, OF_PROMPT, prompt_in
from explainlab.models.stored.places import files_of, resolved_id
from explainlab.models.stored.weights import ADAPTER, ADAPTER_WEIGHTS, IN_ADAPTER, count_weights
from explainlab.text.prompt import PAIR_PLACE, Prompt, head_prompt
from explainlab.training.architectures import ARCHITECTURES
from explainlab.training.examples import Examples
from explainlab.training.settings import NEW_WEIGHTS, RECIPES, SHAPES, TrainingSettings

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from explainlab.models.model import Model

_BYTES_OF_WEIGHT = 4
_LEARNING = 4
"""Further numbers of a weight that learns: its gradient, two averages of the optimizer, and its best value."""
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


@dataclass(frozen=True)
class Start:
    """A network to train with its tokenizer.

    ``causal``: the head reads every position, and the last one predicts. ``mask_id`` is None for a tokenizer without a
    mask token. ``prompt`` is the text around every text, if any, and ``adapter`` the parts that LoRA has put into the
    network.
    """

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    causal: bool
    max_tokens: int
    pad_id: int
    mask_id: int | None
    prompt: Prompt | None = None
    adapter: Adapter | None = None

    @cached_property
    def model(self) -> Model:
        """Return the network as a model on its device."""
        kind = model_type_of(self.network.config)
        return kind.adapter(self.network, kind.architecture, self.network.device)


def settings_for(base: str, /, **given: object) -> TrainingSettings:
    """Return the settings ``given``, completed by the recipe, the architecture, and the general defaults, in this
    order.

    ``base`` is an architecture (random weights) or the id of a model. Raises RequestError for an unknown setting, a
    value out of range, and one that cannot change a model with weights.
    """
    new = ARCHITECTURES.get(base)
    usual = new.recipe if new else "thesis"
    recipe = str(given.get("recipe") or usual)
    if not new and (fixed := [name for name in NEW_WEIGHTS if name in given]):
        raise RequestError(
            f"Training setting {fixed[0]}: it cannot be chosen for {base}, which has weights.",
            f"Leave it out, or begin without weights: {', '.join(ARCHITECTURES)}.",
        )
    if new and (unused := [name for name in new.unused if name in given]):
        raise RequestError(f"Training setting {unused[0]}: {base} has no such thing.", "Leave it out.")
    settings = TrainingSettings.validated(
        {
            **(new.defaults if new else {"max_tokens": 512}),
            **(RECIPES[usual] if recipe == "masked" else {}),
            **RECIPES.get(recipe, {}),
            **SHAPES.get(str(given.get("size")), {}),
            **given,
            "recipe": recipe,
        }
    )
    if new and settings.lora:
        raise RequestError("Training setting lora: random weights have to learn themselves.", "Leave it out.")
    if "lora_rank" in given and not settings.lora:
        raise RequestError("Training setting lora_rank: it is LoRA's.", "Set lora=true as well, or leave it out.")
    return settings


def class_names(base: str, examples: Examples, settings: TrainingSettings) -> tuple[str, ...]:
    """Return the classes to learn: the settings', else a base model's if they name all labels, else the labels."""
    labels = {str(label) for label in examples.labels}
    own = () if base in ARCHITECTURES else base_labels(base)
    known = examples.read_as(own)
    named = all(known.find(label) is not None for label in labels)
    return settings.label_names or (own if named else tuple(sorted(labels)))


def note_pairs(config: PretrainedConfig, pairs: bool) -> None:
    """Write into ``config`` that the model is trained on ``pairs`` of texts, or remove this note."""
    if pairs or hasattr(config, OF_PAIRS):
        setattr(config, OF_PAIRS, pairs)


def note_masks(config: PretrainedConfig, settings: TrainingSettings) -> None:
    """Write the settings of masks in training into ``config``, or remove this note."""
    masks = {name: getattr(settings, name) for name in ("masking", "mask_share", "heavy_mask")}
    if any(masks.values()):
        setattr(config, OF_MASKS, masks)
    elif hasattr(config, OF_MASKS):
        delattr(config, OF_MASKS)


def noted_masks(config: object, embedded: bool) -> TrainingSettings | None:
    """Return the mask settings in ``config``, as :func:`note_masks` wrote them; None without a note.

    The settings of ``embedded`` models are the usual ones. Raises :class:`RequestError` for a model with an impossible
    note.
    """
    written = getattr(config, OF_MASKS, None)
    if isinstance(written, dict):
        return TrainingSettings.validated(TrainingSettings(mask_share=0.0, heavy_mask=0.0).model_dump() | written)
    return TrainingSettings() if embedded else None


def _require_memory(base: str, weights: int, learning: int) -> None:
    """Raise where the ``weights``, with what is kept beside those that are ``learning``, exceed the free memory."""
    needed, free = _BYTES_OF_WEIGHT * (weights + _LEARNING * learning), free_memory(torch.device("cpu"))
    if needed > free:
        raise ResourceError(
            f"Training {base} with {weights:,} weights takes {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB "
            "are free.",
            "Choose a smaller model, or lora for one that has weights.",
        )


def _mask_id(tokenizer: PreTrainedTokenizerBase, base: str, settings: TrainingSettings) -> int | None:
    """Return the id of the mask token; with ``masking``, of its substitute if there is none, as for metrics."""
    return filler_id(tokenizer, base, "mask") if settings.masking else tokenizer.mask_token_id


def _prompt(base: str, config: PretrainedConfig, examples: Examples, settings: TrainingSettings) -> Prompt | None:
    """Return the prompt of the ``settings``, else that of the base model; write it into ``config``.

    Raises :class:`DataError` for second texts without a place, and for a place without second texts.
    """
    if settings.prompt:
        setattr(config, OF_PROMPT, settings.prompt)
    prompt = prompt_in(base, config)
    if prompt and prompt.takes_pair and not examples.pairs:
        raise DataError("The prompt has a place for a second text, and the data has none.", "Give a column text_b.")
    if prompt and examples.pairs and not prompt.takes_pair:
        raise DataError("The prompt has no place for the second texts.", f"Write {PAIR_PLACE} where they belong.")
    return prompt


def starting_point(base: str, examples: Examples, names: Sequence[str], settings: TrainingSettings) -> Start:
    """Return the network and the tokenizer that ``base`` names, with a head for the classes ``names``.

    Random weights are drawn from torch's current random state. Raises :class:`ModelError` for a base model that cannot
    be trained, and :class:`ResourceError` for one that does not fit into the free memory with what its training adds.
    """
    classes: dict[str, Any] = {
        "id2label": dict(enumerate(names)),
        "label2id": {name: i for i, name in enumerate(names)},
    }
    new = ARCHITECTURES.get(base)
    if new is None:
        weights = count_weights(files_of(base))
        _require_memory(base, weights, 0 if settings.lora else weights)
        loaded = load_base(base, classes)
        adapter = add_lora(loaded, base, settings.lora_rank) if settings.lora else None
        most = min(loaded.max_tokens, settings.max_tokens)
        return Start(
            loaded.network,
            loaded.tokenizer,
            loaded.causal,
            max_tokens=most,
            pad_id=loaded.pad_id,
            mask_id=_mask_id(loaded.tokenizer, base, settings),
            prompt=_prompt(base, loaded.network.config, examples, settings),
            adapter=adapter,
        )
    around = head_prompt(settings.prompt).rendered(["", ""])[:1] if settings.prompt else ()
    tokenizer = new.build_tokenizer([*examples.texts, *examples.pairs, *around], settings)
    if examples.pairs:
        classes[OF_PAIRS] = True
    plain = settings.model_copy(update={"embeddings": ""})
    with BUILDING, torch.device("meta"):
        weights = new.build_network(plain, tokenizer, classes).num_parameters()
    _require_memory(base, weights, weights)
    with BUILDING:
        network = new.build_network(settings, tokenizer, classes)
    return Start(
        network,
        tokenizer,
        causal=new.causal,
        max_tokens=settings.max_tokens,
        pad_id=tokenizer.pad_token_id,
        mask_id=_mask_id(tokenizer, base, settings),
        prompt=_prompt(base, network.config, examples, settings),
    )
