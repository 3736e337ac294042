"""Tokenised texts: ids, special tokens, and the characters of the text that each token covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from explainlab.errors import TextError
from explainlab.limits import Limits

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Encoding:
    """One tokenised text (or pair) of N tokens, right-padded or not.

    ``ids`` int64 [N]; ``attention`` bool [N], False on padding; ``special`` bool [N], True on the tokens the tokenizer
    or a prompt added around the text and on padding; ``types`` int64 [N], the segment each token belongs to for the
    model; ``parts`` int64 [N], 0 for the text and 1 for the pair's second text; ``offsets`` int64 [N, 2], half-open
    character spans into the text of the token's part; ``pieces``, the tokenizer's own spelling of every token; ``cut``,
    how many tokens the model's limit left out; ``prompt``, the text that each token of a prompt adds to it, None for
    the other tokens (empty: there is no prompt); ``unread``, how many tokens at the end of the text, all the same, the
    model takes for padding.
    """

    text: str
    text_pair: str | None
    ids: np.ndarray
    attention: np.ndarray
    special: np.ndarray
    types: np.ndarray
    parts: np.ndarray
    offsets: np.ndarray
    pieces: tuple[str, ...]
    cut: int
    prompt: tuple[str | None, ...] = ()
    unread: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def content(self) -> np.ndarray:
        """bool [N]: the tokens of the text itself, special ones excluded."""
        return ~self.special

    def part_text(self, part: int) -> str:
        """Return the original text that the ``offsets`` of this ``part`` point into."""
        return self.text if part == 0 else self.text_pair or ""

    def before_padding(self, pad_id: int | None) -> Encoding:
        """Return the same text without the tokens ``pad_id`` at its end: see :func:`length_before`.

        Raises :class:`TextError` where no token to explain is left.
        """
        stop = length_before(pad_id, self.ids)
        if stop == len(self):
            return self
        if self.special[:stop].all():
            raise TextError(
                "The model takes every token of the text for padding, and reads none.", "Add at least one other word."
            )
        return replace(
            self,
            ids=self.ids[:stop],
            attention=self.attention[:stop],
            special=self.special[:stop],
            types=self.types[:stop],
            parts=self.parts[:stop],
            offsets=self.offsets[:stop],
            pieces=self.pieces[:stop],
            prompt=self.prompt[:stop],
            unread=int(self.content[stop:].sum()),
        )

    def padded(self, length: int, pad_id: int) -> Encoding:
        """Return the same text padded on the right to ``length`` tokens (as in a batch with a longer one)."""
        extra = length - len(self)
        if extra <= 0:
            return self

        def fill(array: np.ndarray, value: int | bool) -> np.ndarray:
            return np.concatenate([array, np.full((extra, *array.shape[1:]), value, array.dtype)])

        return replace(
            self,
            ids=fill(self.ids, pad_id),
            attention=fill(self.attention, False),
            special=fill(self.special, True),
            types=fill(self.types, 0),
            parts=fill(self.parts, 0),
            offsets=fill(self.offsets, 0),
            pieces=self.pieces + ("",) * extra,
            prompt=self.prompt and self.prompt + (None,) * extra,
        )


@contextmanager
def panics_told() -> Iterator[None]:
    """Raise :class:`TextError` where the tokenizer's library panics: in Rust that is no :class:`Exception`."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        problem = "The library of the tokenizer fails on this text."
        raise TextError(problem, "Remove unusual characters from it, or choose another model.") from None


def encode(
    tokenizer: PreTrainedTokenizerBase, text: str, text_pair: str | None, max_tokens: int, limits: Limits
) -> Encoding:
    """Tokenise ``text`` (and ``text_pair``) for a model that reads at most ``max_tokens`` tokens.

    A longer text (of a pair: the longer one) is cut on the tokenizer's truncation side, and ``cut`` says by how many
    tokens. Raises :class:`TextError` for a text that is blank, has more characters than the ``limits`` allow, or
    has no content token.
    """
    require_readable(text, text_pair, limits)
    tokens = tokenizer(text, text_pair, return_offsets_mapping=True, verbose=False)
    whole = len(tokens["input_ids"])
    if whole > max_tokens:
        tokens = tokenizer(text, text_pair, truncation=True, max_length=max_tokens, return_offsets_mapping=True)
    origin = tokens.sequence_ids(0)
    ids = np.array(tokens["input_ids"], dtype=np.int64)
    encoding = Encoding(
        text=text,
        text_pair=text_pair,
        ids=ids,
        attention=np.ones(len(ids), dtype=bool),
        special=np.array([part is None for part in origin], dtype=bool),
        types=np.array(tokens.get("token_type_ids", np.zeros(len(ids))), dtype=np.int64),
        parts=np.array([part or 0 for part in origin], dtype=np.int64),
        offsets=np.array(tokens["offset_mapping"], dtype=np.int64).reshape(-1, 2),
        pieces=tuple(tokenizer.convert_ids_to_tokens(tokens["input_ids"])),
        cut=whole - len(ids),
    )
    require_content(encoding, tokenizer)
    return encoding


def require_readable(text: str, text_pair: str | None, limits: Limits) -> None:
    """Raise :class:`TextError` for a text that is blank, is longer than ``limits`` allow, or is invalid Unicode."""
    for name, value in (("text", text), ("second text", text_pair)):
        if value is not None and not value.strip():
            raise TextError(f"The {name} is empty.", "Give it at least one word.")
        if value is not None and len(value) > limits.max_characters:
            raise TextError(
                f"The {name} has {len(value):,} characters.", f"Shorten it. {limits.words('max_characters')}"
            )
        try:
            (value or "").encode()
        except UnicodeEncodeError:
            problem = f"The {name} is not valid Unicode: it holds half of a surrogate pair."
            raise TextError(problem, "Save it as UTF-8.") from None


def require_content(encoding: Encoding, tokenizer: PreTrainedTokenizerBase) -> None:
    """Raise :class:`TextError` for an ``encoding`` without a token to explain."""
    if markers(tokenizer).issuperset(encoding.ids[encoding.content].tolist()):
        raise TextError("The text has no token to explain: only special tokens are left.", "Give it at least one word.")


def length_before(pad_id: int | None, ids: Sequence[int] | np.ndarray) -> int:
    """Count the token ``ids`` [N] that come before the tokens ``pad_id`` at their end (None: no id is padding).

    A decoder's head reads the last token that is not the padding id (``GenericForSequenceClassification`` of
    transformers): a tokenizer may end every text with that id, or a text may end in its spelling. No token behind is
    read.
    """
    stop = len(ids)
    while stop and ids[stop - 1] == pad_id:
        stop -= 1
    return stop


def markers(tokenizer: PreTrainedTokenizerBase) -> set[int]:
    """Return the ids of the special tokens, except the unknown token, which stands for a part of the text."""
    return set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}


def unknown_count(unknown: int | None, ids: Sequence[int], special: Sequence[bool]) -> int:
    """Count the ``unknown`` tokens among ``ids`` [N], except the ``special`` [N] ones; ``unknown`` may be None."""
    if unknown not in ids:
        return 0
    return sum(token == unknown and not added for token, added in zip(ids, special, strict=True))
