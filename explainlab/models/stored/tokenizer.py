"""A model's tokenizer, and the longest input that it and the model take."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizerBase

from explainlab.errors import ModelError
from explainlab.models.inputs import embeds_segments
from explainlab.models.model_types import model_type_of
from explainlab.models.stored.directory import VOCABULARIES
from explainlab.models.stored.trial import FILE, PROBE
from explainlab.models.stored.weights import Files, first_line

SEGMENTS = "token_type_ids"
"""The name of the segments of a pair in a tokenizer's output."""


def read_tokenizer(
    model_id: str, files: Files, config: PreTrainedConfig
) -> tuple[PreTrainedTokenizerBase, tuple[str, ...]]:
    """Read the tokenizer beside a model or its adapter, padding on the right; return it with warnings for readers.

    It reads by its ``tokenizer.json`` (:func:`_by_file`), and has the segments of pairs (:func:`ask_for_segments`).
    Raises :class:`ModelError` where there is none, or one that keeps no character offsets.
    """
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
    tokenizer.padding_side = "right"
    ask_for_segments(tokenizer, config)
    return tokenizer, _by_file(tokenizer, directory / FILE)


def ask_for_segments(tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig) -> None:
    """Make ``tokenizer`` return the segments of its template if the network of ``config`` embeds segments.

    A generic tokenizer of transformers 5 omits them by default: all segments would be 0.
    """
    names = list(tokenizer.model_input_names)
    if embeds_segments(config) and SEGMENTS not in names:
        tokenizer.model_input_names = [*names, SEGMENTS]


def _by_file(tokenizer: Any, path: Path) -> tuple[str, ...]:
    """Give ``tokenizer`` the normalizer and the pre-tokenizer of the file ``path``; a warning where that matters.

    transformers 5 makes the tokenizers of some model types anew from their vocabulary, with the parts that the first
    model of the type had. Parts of another kind than those in the file are replaced by these. Parts of the same kind
    stay as transformers makes them, as tokenizer_config.json may set their options.
    """
    if not path.is_file():
        return ()
    state, backend = path.stat(), tokenizer.backend_tokenizer
    own, files = _in_file(path, state.st_size, state.st_mtime_ns)
    theirs = _pieces(backend)
    for name, part in own.items():
        if _kinds(part) != _kinds(getattr(backend, name)):
            setattr(backend, name, part)
    if theirs == files:
        return ()
    seen = f'reads "{PROBE[:10]}" as {_spelled(theirs)}, its {FILE} as {_spelled(files)}'
    if _pieces(backend) == theirs:
        return (f"The tokenizer that transformers makes of this model {seen}: texts are read as transformers does.",)
    return (f"The tokenizer that transformers makes of this model {seen}: texts are read by the file.",)


@lru_cache(maxsize=64)
def _in_file(path: Path, _size: int, _changed: int) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the normalizer and the pre-tokenizer of a file, and its tokens of :data:`PROBE`.

    The file has all its words, and takes as long to read as the weights of a small model: once, until it changes.
    """
    own = Tokenizer.from_file(str(path))
    return {name: getattr(own, name) for name in ("normalizer", "pre_tokenizer")}, _pieces(own)


def _pieces(backend: Tokenizer) -> tuple[str, ...]:
    """Return how ``backend`` cuts the probe; raises :class:`ModelError` where it cannot."""
    try:
        return tuple(backend.encode(PROBE, add_special_tokens=False).tokens)
    except Exception as error:  # tokenizers has no class of its own
        raise ModelError(
            f"The tokenizer cannot cut a text: {first_line(error)}.",
            "Save it beside the weights with tokenizer.save_pretrained.",
        ) from error


def _spelled(pieces: Sequence[str]) -> str:
    return " | ".join(pieces[:6])


def _kinds(part: Any) -> list[str]:
    """Return the kinds of a part of a tokenizer and of the parts within it, in their order."""
    return [] if part is None else list(_types(json.loads(part.__getstate__())))


def _types(written: Any) -> Iterator[str]:
    if isinstance(written, dict):
        if "type" in written:
            yield written["type"]
        for inner in written.values():
            yield from _types(inner)
    elif isinstance(written, list):
        for inner in written:
            yield from _types(inner)


def most_tokens(model_id: str, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the longest input in tokens: the smaller of the tokenizer's limit and the position table's."""
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
