"""Loading of a model to train, with a new head if the classes differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import Tensor

from explainlab.errors import ModelError
from explainlab.models.anatomy import POOLER
from explainlab.models.model_types import model_type_of
from explainlab.models.modes import BUILDING
from explainlab.models.prompting import PREFIX as COMPLETION
from explainlab.models.stored.directory import config_of, labels_in
from explainlab.models.stored.places import files_of
from explainlab.models.stored.tokenizer import most_tokens, read_tokenizer
from explainlab.models.stored.weights import Files, load_weights, read_network, require_weights, untrained


@dataclass(frozen=True)
class Base:
    """A network whose weights may change, on the CPU in float32, with its tokenizer.

    ``drawn``: the names of those weights that are new; ``merged``: whether its files are an adapter, which is merged
    into the model that it changes.
    """

    network: transformers.PreTrainedModel
    tokenizer: transformers.PreTrainedTokenizerBase
    causal: bool
    max_tokens: int
    pad_id: int
    drawn: frozenset[str]
    merged: bool


def base_labels(model_id: str) -> tuple[str, ...]:
    """Return the classes of a model in the order of their indices; empty for a model that is no classifier.

    Raises :class:`ModelError` for a model that does not exist or cannot be trained.
    """
    config: Any
    config, fields = config_of(model_id, _files(model_id))
    heads = fields.get("architectures") or [""]
    if not str(heads[0]).endswith("ForSequenceClassification") or config.num_labels < 2:
        return ()
    return labels_in(config)


def load_base(model_id: str, classes: dict[str, Any]) -> Base:
    """Load a model from safetensors with a head for ``classes`` (``id2label`` and ``label2id``).

    Its own head is kept if it has these classes in this order; else the head's weights are new, drawn from torch's
    current random state. Raises :class:`ModelError` for a language model with a prompt, quantised weights, a model type
    that is not supported, weights that are missing or no safetensors, and an adapter that cannot be merged.
    """
    files = _files(model_id)
    config, _ = config_of(model_id, files)
    model_type = model_type_of(config)
    if getattr(config, "quantization_config", None) is not None:
        raise ModelError(f"The weights of {model_id} are quantised.", "Give it in full precision to train it.")
    require_weights(model_id, files, config)
    tokenizer, _ = read_tokenizer(model_id, files, config)
    most = most_tokens(model_id, config, tokenizer)
    same = base_labels(model_id) == tuple(classes["id2label"].values())
    config.id2label, config.label2id = classes["id2label"], classes["label2id"]
    config.problem_type = "single_label_classification"
    if tokenizer.pad_token_id is None and config.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token  # a decoder's head passes over padding: no word may be that
    pad = next(i for i in (tokenizer.pad_token_id, config.pad_token_id, 0) if i is not None)
    config.pad_token_id = pad
    network, drawn = _network(model_id, files, config, same)
    return Base(network, tokenizer, model_type.architecture.causal, most, pad, drawn, merged=files.adapter is not None)


def _files(model_id: str) -> Files:
    if model_id.startswith(COMPLETION):
        raise ModelError(
            f"{model_id} is a language model with a prompt, which has no classes of its own to train.",
            "Give the language model without its prompt.",
        )
    return files_of(model_id)


def _network(
    model_id: str, files: Files, config: Any, same_head: bool
) -> tuple[transformers.PreTrainedModel, frozenset[str]]:
    """Return the network with the stored weights, and the names of the new ones.

    The head is new unless it is the ``same_head``; missing weights are new.
    """
    with BUILDING:
        fresh = transformers.AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
    directory, given = (None, {"state_dict": _merged(model_id, files)}) if files.adapter else (files.directory, {})
    network, info = read_network(
        model_id, type(fresh), directory, config=config, dtype=torch.float32, ignore_mismatched_sizes=True, **given
    )
    body = f"{network.base_model_prefix}."
    absent = untrained(info)
    lost = sorted(name for name in absent if name.startswith(body) and POOLER not in name)
    if lost:
        raise ModelError(f"{model_id} lacks trained weights for {', '.join(lost[:3])}.", "Give a trained model.")
    head = absent | (set() if same_head else {name for name in fresh.state_dict() if not name.startswith(body)})
    network.load_state_dict({name: weight for name, weight in fresh.state_dict().items() if name in head}, strict=False)
    return network, frozenset(head)


def _merged(model_id: str, files: Files) -> dict[str, Tensor]:
    """Return the weights of a model after its adapter is merged."""
    config, _ = config_of(model_id, files)
    network, _ = load_weights(
        model_id, files, config, language_model=False, dtype=torch.float32, device=torch.device("cpu")
    )
    return network.state_dict()
