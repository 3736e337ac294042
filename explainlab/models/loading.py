"""Finding and loading a model: embedded, from a directory, or from the hub; safetensors only, no remote code."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import get_args

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging as transformers_logging

from explainlab.errors import ModelError, RequestError
from explainlab.models.architectures import Architecture, architecture_of
from explainlab.models.classifier import Classifier
from explainlab.models.devices import choose_device
from explainlab.request import Dtype
from explainlab.settings import ASSETS

transformers_logging.disable_progress_bar()

PREFIX = "embedded:"
_FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]
_VOCABULARIES = ["tokenizer.json", "vocab.*", "*.model"]


def embedded_models() -> list[str]:
    """Ids of the models that come with the project."""
    return [PREFIX + path.parent.name for path in sorted((ASSETS / "models").glob("*/config.json"))]


@dataclass(frozen=True)
class ModelCard:
    """What a model's configuration alone tells, its weights unread."""

    id: str
    source: str
    architecture: Architecture
    labels: tuple[str, ...]


def describe(model_id: str) -> ModelCard | None:
    """The card of a model that is here; None for a hub model that would first have to be fetched.

    Raises :class:`ModelError` for a name that can be no model and for a model that is no supported classifier.
    """
    directory, source = locate(model_id, fetch=False)
    if directory is None:
        return None
    config = _config(model_id, directory)
    return ModelCard(model_id, source, architecture_of(config), _labels(model_id, config))


def model_digest(model_id: str) -> str:
    """What identifies the model's very files: the hub's revision, or SHA-256 over all files that are read."""
    return _digest_of(*locate(model_id))


def _digest_of(directory: Path, source: str) -> str:
    if source == "hub":
        return directory.name
    files = sorted(path for pattern in _FILES for path in directory.glob(pattern))
    return _digest(tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files))


def load_model(model_id: str, device: str | None = None, dtype: str = "float32") -> Classifier:
    """Load ``embedded:NAME``, a directory, or a hub id onto ``device`` (default: the best here).

    Raises :class:`ModelError` for a model that does not exist, has no safetensors, no tokenizer or no classification
    head, is of an unsupported type, or cannot be fetched, and :class:`RequestError` for an unknown device or dtype.
    """
    if dtype not in get_args(Dtype):
        raise RequestError(f"There is no dtype '{dtype}'.", f"Use {', '.join(get_args(Dtype))}.")
    directory, source = locate(model_id)
    config = _config(model_id, directory)
    architecture = architecture_of(config)
    labels = _labels(model_id, config)
    tokenizer = _tokenizer(model_id, directory)
    if not list(directory.glob("*.safetensors")):
        raise ModelError(
            f"{model_id} has no safetensors weights.", "Save it with save_pretrained; pickled weights are not read."
        )
    target = choose_device(device)
    try:
        model, info = AutoModelForSequenceClassification.from_pretrained(
            directory,
            dtype=getattr(torch, dtype),
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except Exception as error:
        raise ModelError(f"{model_id} cannot be loaded: {_first_line(error)}") from error
    if info["missing_keys"] or info["mismatched_keys"]:
        missing = sorted(str(key) for key in [*info["missing_keys"], *info["mismatched_keys"]])
        raise ModelError(
            f"{model_id} lacks trained weights for {', '.join(missing[:3])}.",
            "Give a model that was fine-tuned for sequence classification.",
        )
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise ModelError(
            f"The tokenizer of {model_id} has {len(tokenizer):,} tokens, its model only {rows:,}.",
            "Save the tokenizer that the model was trained with.",
        )
    model.requires_grad_(False).eval().to(target)
    return Classifier(
        id=model_id,
        source=source,
        digest=model_digest(model_id),
        model=model,
        tokenizer=tokenizer,
        labels=labels,
        architecture=architecture,
        max_tokens=_max_tokens(config, tokenizer),
        pad_id=next(i for i in (tokenizer.pad_token_id, config.pad_token_id, 0) if i is not None),
        device=target,
    )


def known_digest(model_id: str) -> str | None:
    """:func:`model_digest` if it can be told at once; None for a model that would first have to be fetched.

    Raises :class:`ModelError` for a name that can be no model.
    """
    directory, source = locate(model_id, fetch=False)
    return _digest_of(directory, source) if directory else None


def locate(model_id: str, fetch: bool = True) -> tuple[Path | None, str]:
    """The directory of a model's files and where it comes from: ``embedded``, ``directory`` or ``hub``.

    With ``fetch`` False the network is left alone and the directory of a hub model that is not here is None.
    """
    if model_id.startswith(PREFIX):
        if model_id not in embedded_models():
            raise ModelError(f"There is no embedded model '{model_id}'.", _nearest(model_id))
        return ASSETS / "models" / model_id.removeprefix(PREFIX), "embedded"
    if not model_id.strip():
        raise ModelError("There is no model without a name.", _nearest(""))
    path = Path(os.path.expanduser(model_id))  # unlike pathlib's, these two raise for no name at all
    if os.path.isdir(path):
        if not (path / "config.json").is_file():
            raise ModelError(f"The directory {model_id} has no config.json.", "Save the model with save_pretrained.")
        return path.resolve(), "directory"
    if path.is_absolute() or model_id.startswith((".", "~")) or model_id.count("/") != 1 or "\\" in model_id:
        raise ModelError(f"There is no model '{model_id}'.", _nearest(model_id))
    return _from_hub(model_id, fetch), "hub"


def _from_hub(model_id: str, fetch: bool) -> Path | None:
    try:
        return Path(snapshot_download(model_id, allow_patterns=_FILES, local_files_only=not fetch))
    except HFValidationError as error:
        raise ModelError(f"'{model_id}' is not a model id.", _nearest(model_id)) from error
    except LocalEntryNotFoundError as error:
        if not fetch:
            return None
        raise ModelError(
            f"The hub cannot be reached and {model_id} is not stored here.",
            "Check the network, or give a directory with the model's files.",
        ) from error
    except HfHubHTTPError as error:
        raise ModelError(
            f"The hub has no model '{model_id}' for us ({_first_line(error)}).", _nearest(model_id)
        ) from error
    except OSError as error:
        raise ModelError(
            f"{model_id} cannot be fetched: {_first_line(error)}.", "Check the network and the disk."
        ) from error


def _config(model_id: str, directory: Path):
    try:
        raw = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        config = AutoConfig.from_pretrained(directory, trust_remote_code=False, local_files_only=True)
    except Exception as error:
        raise ModelError(f"The configuration of {model_id} cannot be read: {_first_line(error)}") from error
    heads = raw.get("architectures") or []
    if heads and not any(name.endswith("ForSequenceClassification") for name in heads):
        raise ModelError(
            f"{model_id} is a {heads[0]}, not a classifier.",
            "Give a model that was fine-tuned for sequence classification.",
        )
    return config


def _labels(model_id: str, config) -> tuple[str, ...]:
    problem = getattr(config, "problem_type", None)
    if config.num_labels < 2 or problem in ("regression", "multi_label_classification"):
        raise ModelError(
            f"{model_id} does not choose one of several classes ({problem or 'a single output'}).",
            "Give a single-label classifier with two classes or more.",
        )
    return tuple(str(config.id2label[i]) for i in range(config.num_labels))


def _tokenizer(model_id: str, directory: Path):
    try:
        if not any(path for pattern in _VOCABULARIES for path in directory.glob(pattern)):
            raise FileNotFoundError("there is no vocabulary")  # transformers would make up an empty one
        tokenizer = AutoTokenizer.from_pretrained(directory, trust_remote_code=False, local_files_only=True)
    except Exception as error:
        raise ModelError(
            f"{model_id} has no tokenizer that can be read: {_first_line(error)}.",
            "Save it beside the weights with tokenizer.save_pretrained.",
        ) from error
    if not tokenizer.is_fast:
        raise ModelError(f"The tokenizer of {model_id} keeps no character offsets.", "Save its tokenizer.json too.")
    tokenizer.padding_side = tokenizer.truncation_side = "right"
    return tokenizer


def _max_tokens(config, tokenizer) -> int:
    """The longest input: the smaller of what the tokenizer says and what the position table holds."""
    table = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    offset = config.pad_token_id + 1 if config.model_type in ("roberta", "xlm-roberta", "camembert") else 0
    return int(min(tokenizer.model_max_length, table - offset, sys.maxsize))


@lru_cache(maxsize=64)
def _digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    total = hashlib.sha256()
    for path, _, _ in files:
        total.update(path.name.encode())
        with path.open("rb") as handle:
            total.update(hashlib.file_digest(handle, "sha256").digest())
    return total.hexdigest()


def _nearest(model_id: str) -> str:
    known = embedded_models()
    short = {name.removeprefix(PREFIX): name for name in known}
    near = difflib.get_close_matches(model_id.removeprefix(PREFIX), short, n=2, cutoff=0.3)
    names = " or ".join(short[n] for n in near) if near else ", ".join(known)
    return f"Did you mean {names}? A directory or a hub id (owner/name) is taken too."


def _first_line(error: Exception) -> str:
    return next((line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()), type(error).__name__)
