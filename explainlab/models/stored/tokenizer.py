"""A model's tokenizer, and the longest input that it and the model take."""

from __future__ import annotations

import sys

from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizerBase

from explainlab.errors import ModelError
from explainlab.models.model_types import model_type_of
from explainlab.models.stored.directory import VOCABULARIES
from explainlab.models.stored.weights import Files, first_line


def read_tokenizer(model_id: str, files: Files) -> PreTrainedTokenizerBase:
    """The tokenizer beside a model, or beside its adapter, padding on the right.

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
    return tokenizer


def most_tokens(model_id: str, config: PreTrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
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
