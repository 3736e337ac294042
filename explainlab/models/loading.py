"""Loading of models: embedded, from a directory, or from the hub; safetensors only, no remote code."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from reprlib import repr as quote
from typing import Any, get_args

import torch
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from explainlab.errors import ExplainLabError, MemoryShortage, ModelError, RequestError, UnsupportedError
from explainlab.limits import DEFAULT_LIMITS, Limits
from explainlab.models.classifier import Classifier
from explainlab.models.devices import choose_device, is_out_of_memory
from explainlab.models.in_memory import SOURCE, classifier_of, require_as_called, require_usable
from explainlab.models.model import Architecture
from explainlab.models.model_types import model_type_of
from explainlab.models.modes import own_modes
from explainlab.models.prompting import PREFIX as COMPLETION
from explainlab.models.prompting import Template, answer_tokens, split_id, take_head, template_parts
from explainlab.models.stored.directory import (
    OF_PAIRS,
    activation_in,
    activation_told,
    config_of,
    doubled_in,
    labels_in,
    prompt_in,
    read_config,
)
from explainlab.models.stored.places import EMBEDDED, Stamp, files_here, files_of, locate, stamp
from explainlab.models.stored.tokenizer import most_tokens, read_tokenizer
from explainlab.models.stored.weights import (
    Files,
    adapted_model,
    count_weights,
    empty_network,
    first_line,
    load_weights,
)
from explainlab.request import Dtype, digest

transformers_logging.disable_progress_bar()

_LANGUAGE_MODELS = ("ForCausalLM", "LMHeadModel")
_MOST_DIGESTS = 64

_digests: dict[Stamp, str] = {}


def model_name(model_id: str) -> str:
    """Return a model's name for readers: its id without prefix and folders, the name of its template in brackets."""
    if model_id.startswith(COMPLETION):
        template, _, model = model_id.removeprefix(COMPLETION).partition(":")
        return f"{model_name(model)} ({template_parts(template)[0]})"
    name = model_id.removeprefix(EMBEDDED)
    is_path = name.startswith((".", "~", os.sep)) or name.count("/") > 1
    return Path(name).name or name if is_path else name


@dataclass(frozen=True)
class ModelCard:
    """Facts about a model from its configuration and the headers of its files; ``weights``: how many (0: not known)."""

    id: str
    source: str
    architecture: Architecture
    labels: tuple[str, ...]
    weights: int = 0


def describe(model_id: str) -> ModelCard | None:
    """Return the card of a model that is on this machine; None for a hub model that is not.

    Raises :class:`ModelError` for a name that can be no model and for a model that is no supported classifier.
    """
    files = files_here(model_id)
    if files is None:
        return None
    template, _ = split_id(model_id)
    return _card(model_id, files, template and template.digest, tuple(stamp for _, stamp in _stamps(files)))


def model_digest(model_id: str) -> str:
    """Return the digest of a model's files: the hub's revision, or SHA-256 over all files that are read.

    Includes the content of its template and the files of its adapter, if any.
    """
    return _digest_of(files_of(model_id), split_id(model_id)[0])


@own_modes()
def load_model(
    model: str | PreTrainedModel,
    device: str | None = None,
    dtype: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
) -> Classifier:
    """Load ``embedded:NAME``, a directory, a hub id, or any of them with a template (``completion:TEMPLATE:MODEL``).

    ``device``: default the best one here. ``dtype``: default float32. ``limits``: sizes that are accepted. ``model``
    may also be a classifier of transformers in memory, with its ``tokenizer``: its passes run in evaluation mode, on
    its device and in its number format, and nothing of it is changed. Both share the weights: after more training, load
    it again.

    Raises :class:`ModelError` for a model that does not exist, has no safetensors, no tokenizer or no classification
    head, is of an unsupported type, or cannot be fetched; for label words that it cannot answer with; and for a model
    in memory that is quantised, in float64 or spread over devices, whose tokenizer keeps no offsets, or whose own call
    gives other scores than our passes. Raises :class:`RequestError` for an unknown device or dtype, or one that a
    model in memory does not have.
    """
    if not isinstance(model, str):
        return _in_memory(model, tokenizer, device, dtype, limits)
    if tokenizer is not None:
        raise RequestError(f"{model} has a tokenizer of its own.", "Leave tokenizer out.")
    model_id, dtype = model, "float32" if dtype is None else dtype
    if dtype not in get_args(Dtype):
        raise RequestError(f"There is no dtype '{dtype}'.", f"Use {', '.join(get_args(Dtype))}.")
    files = files_of(model_id)

    def weighted(config: PreTrainedConfig, is_generative: bool) -> tuple[PreTrainedModel, torch.device]:
        own = getattr(torch, dtype)
        return load_weights(
            model_id, files, config, language_model=is_generative, dtype=own, device=choose_device(device)
        )

    classifier = _assembled(model_id, files, limits, weighted, _digest_of(files, split_id(model_id)[0]))
    _require_working(classifier)
    return classifier


def outline(model_id: str, limits: Limits = DEFAULT_LIMITS) -> Classifier | None:
    """Return a model that is here without its weights: it tokenises texts and knows its depth, but cannot read.

    It has no digest. Returns None for a hub model that would first have to be fetched. Raises as :func:`load_model` for
    a model that cannot be loaded.
    """
    files = files_here(model_id)
    if files is None:
        return None
    template, _ = split_id(model_id)
    return _outline(model_id, files, template and template.digest, tuple(stamp for _, stamp in _stamps(files)), limits)


@lru_cache(maxsize=8)
def _outline(
    model_id: str, files: Files, template: str | None, stamps: tuple[Stamp, ...], limits: Limits
) -> Classifier:
    """Return the outline of the files as they are now."""

    def empty(config: PreTrainedConfig, is_generative: bool) -> tuple[PreTrainedModel, torch.device]:
        return empty_network(files, config, is_generative), torch.device("meta")

    return _assembled(model_id, files, limits, empty, "")


def _assembled(
    model_id: str,
    files: Files,
    limits: Limits,
    read: Callable[[PreTrainedConfig, bool], tuple[PreTrainedModel, torch.device]],
    model_digest: str,
) -> Classifier:
    """Return the classifier of ``files`` around the network that ``read`` makes, with the device of its inputs.

    ``read`` gets the configuration, and True if the network answers in words.
    """
    template, _ = split_id(model_id)
    config = _config(model_id, files, template)
    model_type = model_type_of(config, is_generative=template is not None)
    activation = activation_in(files.configured, config)
    labels = tuple(template.labels) if template else _labels(model_id, config, activation)
    tokenizer, notes = read_tokenizer(model_id, files, config)
    max_tokens = most_tokens(model_id, config, tokenizer)
    answers = answer_tokens(template, tokenizer, max_tokens) if template else {}
    network, device_of_inputs = read(config, template is not None)
    model = model_type.adapter(network, model_type.architecture, device_of_inputs)
    _require_rows(model_id, tokenizer, model.word_embeddings.num_embeddings)
    if template:
        take_head(network, list(answers.values()), device_of_inputs)
    return Classifier(
        id=model_id,
        source=(files.adapter or files).source,
        digest=model_digest,
        model=model,
        tokenizer=tokenizer,
        labels=labels,
        max_tokens=max_tokens,
        pad_id=next(i for i in (tokenizer.pad_token_id, config.pad_token_id, 0) if i is not None),
        limits=limits,
        prompt=template.prompt if template else prompt_in(model_id, config),
        pairs=bool(getattr(config, OF_PAIRS, False)),
        notes=notes if template else (*notes, *doubled_in(config), *activation_told(activation)),
    )


def _in_memory(network: Any, tokenizer: Any, device: str | None, dtype: str | None, limits: Limits) -> Classifier:
    require_usable(network, device, dtype)
    labels = _labels(type(network).__name__, network.config)
    classifier = classifier_of(network, tokenizer, limits, labels)
    _require_rows(classifier.id, classifier.tokenizer, classifier.model.word_embeddings.num_embeddings)
    require_as_called(classifier)
    return classifier


def in_dtype(classifier: Classifier, dtype: Dtype) -> Classifier:
    """Load the model of ``classifier`` again in another number format, on the same device.

    The copy is read from the files and freed with its last reference. Raises :class:`UnsupportedError` for weights that
    are quantised or spread over several devices, :class:`ModelError` for files that are not the ones of ``classifier``
    or that torch cannot compute with in ``dtype``, and :class:`MemoryShortage` if there is no room.
    """
    name = classifier.id
    if classifier.source == SOURCE:
        raise UnsupportedError(
            "A model in memory cannot be read again in another number format.",
            "Write it with save_pretrained, and load that directory.",
        )
    if classifier.quantised:
        raise UnsupportedError(f"The weights of {name} are quantised.", "Choose the model in full precision.")
    if classifier.spread:
        raise UnsupportedError(
            f"The weights of {name} are spread over several devices, so there is no room for others.",
            "Choose a smaller model.",
        )
    try:
        other = load_model(name, str(classifier.device), dtype, classifier.limits)
    except (ModelError, RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        problem = f"There is no memory for {name} in {dtype} beside the loaded one."
        raise MemoryShortage(problem, "Choose a smaller model, or free memory.") from error
    if other.digest != classifier.digest:
        raise ModelError(f"The files of {name} are not those of the loaded model.", "Load it again.")
    return other


def answer_pieces(template: Template, model_id: str) -> dict[str, str] | None:
    """Return a language model's next token for each label of ``template``, as its tokenizer spells it.

    Reads no weights. Returns None for a hub model that is not on this machine. Raises :class:`ModelError` for a model
    or words that :func:`load_model` refuses.
    """
    files = files_here(model_id)
    if files is None:
        return None
    config = _config(model_id, files, template)
    tokenizer, _ = read_tokenizer(model_id, files, config)
    answers = answer_tokens(template, tokenizer, most_tokens(model_id, config, tokenizer))
    return dict(zip(answers, tokenizer.convert_ids_to_tokens(list(answers.values())), strict=True))


def known_digest(model_id: str, read: bool = False) -> str | None:
    """Return :func:`model_digest` if it is known; None for a hub model that is not on this machine.

    Also returns None for a directory whose files have changed since they were read, unless ``read``. Raises
    :class:`ModelError` for a name that cannot be a model.
    """
    files = files_here(model_id)
    if files is None:
        return None
    known = all(source != "directory" or stamp in _digests for source, stamp in _stamps(files))
    return _digest_of(files, split_id(model_id)[0]) if read or known else None


def changed_model(model_id: str, fetch: bool = False) -> str | None:
    """Return the id of the model that an adapter changes; None for any other model.

    An adapter of the hub is fetched, without the model that it changes, or None without ``fetch``. Raises as
    :func:`load_model` for a model that does not exist or cannot be fetched.
    """
    directory, _ = locate(model_id, fetch)
    return adapted_model(model_id, directory) if directory else None


def _digest_of(files: Files, template: Template | None) -> str:
    parts = [_digest_in(part.directory, part.source) for part in (files, files.adapter) if part]
    parts += [template.digest] if template else []
    return digest(parts) if len(parts) > 1 else parts[0]


def _digest_in(directory: Path, source: str) -> str:
    return directory.name if source == "hub" else _digest(stamp(directory))


def _stamps(files: Files) -> list[tuple[str, Stamp]]:
    """Return the source and the stamp of the files of a model, and of its adapter."""
    return [(part.source, stamp(part.directory)) for part in (files, files.adapter) if part]


def _config(model_id: str, files: Files, template: Template | None) -> PreTrainedConfig:
    config, fields = read_config(model_id, files.configured) if template else config_of(model_id, files)
    heads = fields.get("architectures") or [""]
    if not (isinstance(heads, list) and isinstance(heads[0], str)):
        raise ModelError(
            f"The configuration of {model_id} names no architecture.", "Write a list of names into architectures."
        )
    head = heads[0]
    is_generative = head.endswith(_LANGUAGE_MODELS)
    if template and not (is_generative and model_type_of(config).architecture.causal):
        raise ModelError(
            f"{model_id} is a {head or config.model_type}, not a language model that goes on with a text.",
            "Give a decoder that was trained as one, for example a LlamaForCausalLM.",
        )
    if not template and head and not head.endswith("ForSequenceClassification"):
        remedy = f"Ask it with a prompt, as {COMPLETION}TEMPLATE:{model_id}." if is_generative else ""
        raise ModelError(
            f"{model_id} is a {head}, not a classifier{', and its adapter brings no head' if files.adapter else ''}.",
            remedy or "Give a model that was fine-tuned for sequence classification.",
        )
    return config


@lru_cache(maxsize=64)
def _card(model_id: str, files: Files, template_digest: str | None, stamps: tuple[Stamp, ...]) -> ModelCard:
    """Return the card of the files in their present state."""
    template, _ = split_id(model_id)
    config = _config(model_id, files, template)
    activation = activation_in(files.configured, config)
    labels = tuple(template.labels) if template else _labels(model_id, config, activation)
    architecture = model_type_of(config, is_generative=template is not None).architecture
    return ModelCard(model_id, (files.adapter or files).source, architecture, labels, count_weights(files))


def _labels(model_id: str, config: Any, activation: str | None = None) -> tuple[str, ...]:
    problem = getattr(config, "problem_type", None)
    single = "a single output"
    if activation is not None:
        single += f", to which sentence-transformers applies {quote(activation.rpartition('.')[2])}"
    if config.num_labels < 2 or problem in ("regression", "multi_label_classification"):
        raise ModelError(
            f"{model_id} does not choose one of several classes ({problem or single}).",
            "Give a single-label classifier with two classes or more.",
        )
    if set(config.id2label) != set(range(config.num_labels)):
        raise ModelError(
            f"The classes of {model_id} are not numbered from 0 without gaps.", "Correct id2label in its config.json."
        )
    return labels_in(config)


def _require_rows(model_id: str, tokenizer: PreTrainedTokenizerBase, rows: int) -> None:
    if len(tokenizer) > rows:
        raise ModelError(
            f"The tokenizer of {model_id} has {len(tokenizer):,} tokens, its model only {rows:,}.",
            "Save the tokenizer that the model was trained with.",
        )


def _require_working(classifier: Classifier) -> None:
    """Raise for a model that cannot read a word, whatever its configuration has in it."""
    try:
        with suppress(ExplainLabError), torch.no_grad():
            classifier.logits(classifier.inputs([classifier.encode("a")]))
    except Exception as error:
        raise ModelError(f"{classifier.id} cannot read a text: {first_line(error)}") from error


def _digest(stamp: Stamp) -> str:
    known = _digests.get(stamp)
    if known is not None:
        return known
    total = hashlib.sha256()
    for path, _, _ in stamp:
        total.update(path.name.encode())
        with path.open("rb") as handle:
            total.update(hashlib.file_digest(handle, "sha256").digest())
    while len(_digests) >= _MOST_DIGESTS:
        _digests.pop(next(iter(_digests)), None)
    return _digests.setdefault(stamp, total.hexdigest())
