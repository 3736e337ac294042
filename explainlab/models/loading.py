"""Finding and loading a model: embedded, from a directory, or from the hub; safetensors only, no remote code."""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, get_args

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from explainlab.errors import ExplainLabError, ModelError, RequestError
from explainlab.limits import DEFAULT_LIMITS, Limits
from explainlab.models.architectures import Architecture
from explainlab.models.classifier import Classifier
from explainlab.models.completion import PREFIX as COMPLETION
from explainlab.models.completion import answer_tokens, split_id, take_head
from explainlab.models.devices import choose_device
from explainlab.models.stored.directory import FILES, VOCABULARIES, read_config, require_files
from explainlab.models.model_types import model_type_of
from explainlab.models.templates import Template, template_parts
from explainlab.models.stored.weights import ADAPTER, Files, adapted_model, first_line, load_weights
from explainlab.request import Dtype, digest
from explainlab.settings import ASSETS

transformers_logging.disable_progress_bar()

PREFIX = "embedded:"
_LANGUAGE_MODELS = ("ForCausalLM", "LMHeadModel")
_MOST_DIGESTS = 64

_Stamp: TypeAlias = tuple[tuple[Path, int, int], ...]
"""Files with their sizes and the times of their last change, ns."""
_digests: dict[_Stamp, str] = {}


def embedded_models() -> list[str]:
    """Ids of the models that come with the project."""
    return [PREFIX + path.parent.name for path in sorted((ASSETS / "models").glob("*/config.json"))]


def model_name(model_id: str) -> str:
    """What readers call a model: its id without prefix and folders, the name of its template in brackets."""
    if model_id.startswith(COMPLETION):
        template, _, model = model_id.removeprefix(COMPLETION).partition(":")
        return f"{model_name(model)} ({template_parts(template)[0]})"
    name = model_id.removeprefix(PREFIX)
    is_path = name.startswith((".", "~", os.sep)) or name.count("/") > 1
    return Path(name).name or name if is_path else name


@dataclass(frozen=True)
class ModelCard:
    """Facts about a model from its configuration, without its weights."""

    id: str
    source: str
    architecture: Architecture
    labels: tuple[str, ...]


def describe(model_id: str) -> ModelCard | None:
    """The card of a model that is here; None for a hub model that would first have to be fetched.

    Raises :class:`ModelError` for a name that can be no model and for a model that is no supported classifier.
    """
    files = _files_here(model_id)
    if files is None:
        return None
    template, _ = split_id(model_id)
    return _card(model_id, files, template and template.digest, tuple(stamp for _, stamp in _stamps(files)))


def model_digest(model_id: str) -> str:
    """What identifies the model's files: the hub's revision, or SHA-256 over all files that are read.

    Includes the content of its template and the files of its adapter, if any.
    """
    return _digest_of(_files_of(model_id), split_id(model_id)[0])


def load_model(
    model_id: str, device: str | None = None, dtype: str = "float32", limits: Limits = DEFAULT_LIMITS
) -> Classifier:
    """Load ``embedded:NAME``, a directory, a hub id, or any of them with a template (``completion:TEMPLATE:MODEL``).

    It goes onto ``device`` (default: the best here), and accepts no more than ``limits``.

    Raises :class:`ModelError` for a model that does not exist, has no safetensors, no tokenizer or no classification
    head, is of an unsupported type, or cannot be fetched, and for label words that it cannot answer with;
    :class:`RequestError` for an unknown device or dtype.
    """
    if dtype not in get_args(Dtype):
        raise RequestError(f"There is no dtype '{dtype}'.", f"Use {', '.join(get_args(Dtype))}.")
    template, _ = split_id(model_id)
    files = _files_of(model_id)
    config = _config(model_id, files, template)
    model_type = model_type_of(config)
    labels = tuple(template.labels) if template else _labels(model_id, config)
    tokenizer = _tokenizer(model_id, files)
    max_tokens = _max_tokens(model_id, config, tokenizer)
    answers = answer_tokens(template, tokenizer, max_tokens) if template else {}
    network, device_of_inputs = load_weights(
        model_id,
        files,
        config,
        language_model=template is not None,
        dtype=getattr(torch, dtype),
        device=choose_device(device),
    )
    model = model_type.adapter(network, model_type.architecture, device_of_inputs)
    _require_rows(model_id, tokenizer, model.word_embeddings.num_embeddings)
    if template:
        take_head(network, list(answers.values()), device_of_inputs)
    classifier = Classifier(
        id=model_id,
        source=(files.adapter or files).source,
        digest=_digest_of(files, template),
        model=model,
        tokenizer=tokenizer,
        labels=labels,
        max_tokens=max_tokens,
        pad_id=next(i for i in (tokenizer.pad_token_id, config.pad_token_id, 0) if i is not None),
        limits=limits,
        prompt=template.prompt if template else None,
    )
    _require_working(classifier)
    return classifier


def answer_pieces(template: Template, model_id: str) -> dict[str, str] | None:
    """The token by which a language model would answer each label of ``template``, as its tokenizer spells it.

    No weights are read; None for a hub model that would first have to be fetched. Raises :class:`ModelError` for a
    model or words that :func:`load_model` would refuse.
    """
    files = _files_here(model_id)
    if files is None:
        return None
    config, tokenizer = _config(model_id, files, template), _tokenizer(model_id, files)
    answers = answer_tokens(template, tokenizer, _max_tokens(model_id, config, tokenizer))
    return dict(zip(answers, tokenizer.convert_ids_to_tokens(list(answers.values())), strict=True))


def known_digest(model_id: str, read: bool = False) -> str | None:
    """:func:`model_digest`, if it is known; None for a hub model that would first have to be fetched.

    None also for a directory whose files have not been read as they are now, unless ``read``. Raises
    :class:`ModelError` for a name that can be no model.
    """
    files = _files_here(model_id)
    if files is None:
        return None
    known = all(source != "directory" or stamp in _digests for source, stamp in _stamps(files))
    return _digest_of(files, split_id(model_id)[0]) if read or known else None


def resolved_id(model_id: str) -> str:
    """The id of a model without a template; a path is made absolute, without links and ``..``."""
    path = _path_of(model_id)
    with suppress(ValueError):  # characters that no path has
        return model_id if path is None else os.path.realpath(path)
    return model_id


def changed_model(model_id: str, fetch: bool = False) -> str | None:
    """The id of the model that an adapter changes; None for any other model.

    An adapter of the hub is fetched, without the model that it changes, or None without ``fetch``. Raises as
    :func:`load_model` for a model that does not exist or cannot be fetched.
    """
    directory, _ = locate(model_id, fetch)
    return adapted_model(model_id, directory) if directory else None


def locate(model_id: str, fetch: bool = True) -> tuple[Path | None, str]:
    """The directory of a model's files and where it comes from: ``embedded``, ``directory`` or ``hub``.

    With ``fetch`` False the network is not used and the directory of a hub model that is not here is None. The
    template of an id is ignored; the directory of an adapter is its own.
    """
    model_id = split_id(model_id)[1]
    if model_id.startswith(PREFIX):
        if model_id not in embedded_models():
            raise ModelError(f"There is no embedded model '{model_id}'.", _nearest(model_id))
        return ASSETS / "models" / model_id.removeprefix(PREFIX), "embedded"
    if not model_id.strip():
        raise ModelError("There is no model without a name.", _nearest(""))
    path = _path_of(model_id)
    if path is None:
        return _from_hub(model_id, fetch), "hub"
    if not os.path.isdir(path):
        raise ModelError(f"There is no model '{model_id}'.", _nearest(model_id))
    if not any((path / name).is_file() for name in ("config.json", ADAPTER)):
        raise ModelError(f"The directory {model_id} has no config.json.", "Save the model with save_pretrained.")
    require_files(model_id, path)
    return path.resolve(), "directory"


def _path_of(model_id: str) -> Path | None:
    """The directory that ``model_id`` names, there or not; None for an embedded model and for an id of the hub."""
    path = Path(os.path.expanduser(model_id))  # unlike pathlib's, these two raise for no name at all
    on_hub = model_id.count("/") == 1 and not (model_id.startswith((".", "~", "/")) or "\\" in model_id)
    return None if model_id.startswith(PREFIX) or (on_hub and not os.path.isdir(path)) else path


def _from_hub(model_id: str, fetch: bool) -> Path | None:
    try:
        return Path(snapshot_download(model_id, allow_patterns=FILES, local_files_only=not fetch))
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
            f"The hub has no model '{model_id}' that may be read here ({first_line(error)}).", _nearest(model_id)
        ) from error
    except OSError as error:
        raise ModelError(
            f"{model_id} cannot be fetched: {first_line(error)}.", "Check the network and the disk."
        ) from error


def _files_of(model_id: str) -> Files:
    """The files of a model, for an adapter those of its base model; fetched where they are not here."""
    files = _files_here(model_id, fetch=True)
    assert files is not None  # a model that cannot be fetched has raised
    return files


def _files_here(model_id: str, fetch: bool = False) -> Files | None:
    """As :func:`_files_of`; without ``fetch`` None for a hub model that is not here."""
    directory, source = locate(model_id, fetch)
    if directory is None:
        return None
    changed = adapted_model(model_id, directory)
    if changed is None:
        return Files(directory, source)
    below, origin = locate(changed, fetch)
    if below is None:
        return None
    if adapted_model(changed, below):
        raise ModelError(
            f"{model_id} changes {changed}, an adapter itself.", "Merge that adapter into its model first."
        )
    return Files(below, origin, adapter=Files(directory, source))


def _digest_of(files: Files, template: Template | None) -> str:
    parts = [_digest_in(part.directory, part.source) for part in (files, files.adapter) if part]
    parts += [template.digest] if template else []
    return digest(parts) if len(parts) > 1 else parts[0]


def _digest_in(directory: Path, source: str) -> str:
    return directory.name if source == "hub" else _digest(_stamp(directory))


def _stamps(files: Files) -> list[tuple[str, _Stamp]]:
    """Of the files of a model, and of its adapter: their source and their stamp."""
    return [(part.source, _stamp(part.directory)) for part in (files, files.adapter) if part]


def _stamp(directory: Path) -> _Stamp:
    files = sorted(path for pattern in FILES for path in directory.glob(pattern))
    return tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files)


def _config(model_id: str, files: Files, template: Template | None) -> PreTrainedConfig:
    config, fields = read_config(model_id, files.directory)
    heads = fields.get("architectures") or [""]
    if not (isinstance(heads, list) and isinstance(heads[0], str)):
        raise ModelError(
            f"The configuration of {model_id} names no architecture.", "Write a list of names into architectures."
        )
    head = heads[0]
    speaks = head.endswith(_LANGUAGE_MODELS)
    if template and not (speaks and model_type_of(config).architecture.causal):
        raise ModelError(
            f"{model_id} is a {head or config.model_type}, not a language model that goes on with a text.",
            "Give a decoder that was trained as one, for example a LlamaForCausalLM.",
        )
    if not template and head and not head.endswith("ForSequenceClassification"):
        remedy = f"Ask it with a prompt, as {COMPLETION}TEMPLATE:{model_id}." if speaks else ""
        raise ModelError(
            f"{model_id} is a {head}, not a classifier.",
            remedy or "Give a model that was fine-tuned for sequence classification.",
        )
    return config


@lru_cache(maxsize=64)
def _card(model_id: str, files: Files, template_digest: str | None, stamps: tuple[_Stamp, ...]) -> ModelCard:
    """The card of the files as they are now."""
    template, _ = split_id(model_id)
    config = _config(model_id, files, template)
    labels = tuple(template.labels) if template else _labels(model_id, config)
    return ModelCard(model_id, (files.adapter or files).source, model_type_of(config).architecture, labels)


def _labels(model_id: str, config: Any) -> tuple[str, ...]:
    problem = getattr(config, "problem_type", None)
    if config.num_labels < 2 or problem in ("regression", "multi_label_classification"):
        raise ModelError(
            f"{model_id} does not choose one of several classes ({problem or 'a single output'}).",
            "Give a single-label classifier with two classes or more.",
        )
    if set(config.id2label) != set(range(config.num_labels)):
        raise ModelError(
            f"The classes of {model_id} are not numbered from 0 without gaps.", "Correct id2label in its config.json."
        )
    return tuple(str(config.id2label[i]) for i in range(config.num_labels))


def _tokenizer(model_id: str, files: Files) -> PreTrainedTokenizerBase:
    places = [part.directory for part in (files.adapter, files) if part]
    try:
        directory = next((d for d in places if any(path for v in VOCABULARIES for path in d.glob(v))), None)
        if directory is None:
            raise FileNotFoundError("there is no vocabulary")  # transformers would make up an empty one
        tokenizer = AutoTokenizer.from_pretrained(directory, trust_remote_code=False, local_files_only=True)
    except Exception as error:
        raise ModelError(
            f"{model_id} has no tokenizer that can be read: {first_line(error)}.",
            "Save it beside the weights with tokenizer.save_pretrained.",
        ) from error
    if not tokenizer.is_fast:
        raise ModelError(f"The tokenizer of {model_id} keeps no character offsets.", "Save its tokenizer.json too.")
    tokenizer.padding_side = tokenizer.truncation_side = "right"
    return tokenizer


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


def _max_tokens(model_id: str, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
    """The longest input: the smaller of the tokenizer's limit and the position table's."""
    table = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    try:
        offset = config.pad_token_id + 1 if model_type_of(config).positions_after_padding else 0
        most = int(min(tokenizer.model_max_length, table - offset, sys.maxsize))
    except (TypeError, ValueError, OverflowError):
        most = 0
    if most < 1:
        raise ModelError(
            f"{model_id} does not say how many tokens it reads.",
            "Correct max_position_embeddings in its config.json and model_max_length in its tokenizer_config.json.",
        )
    return most


def _digest(stamp: _Stamp) -> str:
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


def _nearest(model_id: str) -> str:
    known = embedded_models()
    short = {name.removeprefix(PREFIX): name for name in known}
    near = difflib.get_close_matches(model_id.removeprefix(PREFIX), short, n=2, cutoff=0.3)
    names = " or ".join(short[n] for n in near) if near else ", ".join(known)
    return f"Did you mean {names}? A directory or a hub id (owner/name) is taken too."
