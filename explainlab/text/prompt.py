"""Texts within a prompt. Both are tokenised together; the offsets show which tokens belong to the text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explainlab.errors import RequestError, TextError
from explainlab.limits import Limits
from explainlab.text.encoding import Encoding, encode, require_content, require_readable
from explainlab.text.units import Span, trimmed

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PAIR_PLACE = "{text_b}"
"""Where the second text stands in the form of a model with a head."""
_PROMPT = -1  # the owner of a token of the prompt


def pieces_of(form: str, second: str) -> tuple[str | int, ...]:
    """Split ``form`` at its places: 0 stands for ``{text}``, 1 for ``second``."""
    places = {"{text}": 0, second: 1}
    return tuple(places.get(piece, piece) for piece in re.split(f"({'|'.join(map(re.escape, places))})", form))


@dataclass(frozen=True)
class Prompt:
    """The text around a text: its ``pieces`` in order; 0 is the place of the text, 1 that of the second text.

    ``ends``: after it comes the end token that the tokenizer adds to whole texts.
    """

    pieces: tuple[str | int, ...]
    ends: bool = False

    @property
    def takes_pair(self) -> bool:
        """True if the prompt has a place for a second text."""
        return 1 in self.pieces

    @property
    def goes_on(self) -> bool:
        """True if the prompt continues after the last text."""
        last = self.pieces[-1]
        return isinstance(last, str) and bool(last.strip())

    def rendered(self, texts: Sequence[str]) -> tuple[str, list[Span]]:
        """Return the prompt with ``texts`` inserted unchanged, and the span of characters of each text."""
        whole = ""
        spans: dict[int, Span] = {}
        for piece in self.pieces:
            start = len(whole)
            whole += texts[piece] if isinstance(piece, int) else piece
            if isinstance(piece, int):
                spans[piece] = (start, len(whole))
        return whole, [spans[part] for part in sorted(spans)]


def head_prompt(form: str) -> Prompt:
    """Return the prompt of a model with a head, from a ``form`` with the places ``{text}`` and ``{text_b}``.

    Raises :class:`RequestError` for a form without a place for the text, or with two for the same.
    """
    for place, least in (("{text}", 1), (PAIR_PLACE, 0)):
        if not least <= form.count(place) <= 1:
            times = f"{form.count(place)} places" if place in form else "no place"
            raise RequestError(f"The prompt has {times} for {place}.", f"Write {place} once, where it belongs.")
    return Prompt(pieces_of(form, PAIR_PLACE), ends=True)


@dataclass(frozen=True, eq=False)
class PromptTokens:
    """A tokenised prompt: ``ids`` int64 [N]; ``offsets`` int64 [N, 2]; ``added`` bool [N], special tokens."""

    ids: np.ndarray
    offsets: np.ndarray
    added: np.ndarray


def read_prompt(tokenizer: PreTrainedTokenizerBase, whole: str, ends: bool = False) -> PromptTokens:
    """Tokenise a prompt; unless it ``ends``, drop the end token that the tokenizer adds."""
    tokens = tokenizer(whole, return_offsets_mapping=True, verbose=False)
    added = np.array([part is None for part in tokens.sequence_ids(0)], dtype=bool)
    length = len(added) if ends else int(np.flatnonzero(~added).max(initial=-1)) + 1
    offsets = np.array(tokens["offset_mapping"], dtype=np.int64).reshape(-1, 2)
    return PromptTokens(np.array(tokens["input_ids"], dtype=np.int64)[:length], offsets[:length], added[:length])


def encode_prompted(
    tokenizer: PreTrainedTokenizerBase,
    prompt: Prompt | None,
    text: str,
    text_pair: str | None,
    max_tokens: int,
    limits: Limits,
) -> Encoding:
    """Tokenise ``text`` (and ``text_pair``) within ``prompt`` for a model that reads at most ``max_tokens`` tokens.

    Without a prompt it is :func:`explainlab.text.encoding.encode`. Tokens of the prompt are special. A token across a
    border belongs to the text if more than half of its characters do (blanks at its ends are not counted); its offsets
    are clipped to the text. A text that is too long (of a pair: the longer one) is cut on the tokenizer's truncation
    side; the prompt is never cut. Raises :class:`TextError` as that does, also for a second text that is missing or has
    no place, and if the prompt leaves no token for the text.
    """
    if prompt is None:
        return encode(tokenizer, text, text_pair, max_tokens, limits)
    require_readable(text, text_pair, limits)
    if prompt.takes_pair and text_pair is None:
        raise TextError("The prompt asks for a second text.", "Give one, or choose a prompt without a place for it.")
    if text_pair is not None and not prompt.takes_pair:
        raise TextError("The prompt has no place for a second text.", "Leave it out, or choose a prompt with one.")
    whole, spans, tokens, owners = _placed(tokenizer, prompt, text, text_pair)
    kept = _kept(owners, max_tokens, tokenizer.truncation_side)
    encoding = Encoding(
        text=text,
        text_pair=text_pair,
        ids=tokens.ids[kept],
        attention=np.ones(int(kept.sum()), dtype=bool),
        special=owners[kept] == _PROMPT,
        types=np.zeros(int(kept.sum()), dtype=np.int64),
        parts=np.maximum(owners, 0)[kept],
        offsets=_within(tokens.offsets, owners, spans)[kept],
        pieces=tuple(tokenizer.convert_ids_to_tokens(tokens.ids[kept].tolist())),
        cut=int((~kept).sum()),
        prompt=tuple(added for added, keep in zip(_added_text(whole, tokens, owners), kept, strict=True) if keep),
    )
    require_content(encoding, tokenizer)
    return encoding


def ids_within(
    tokenizer: PreTrainedTokenizerBase, prompt: Prompt, text: str, text_pair: str | None, max_tokens: int
) -> tuple[list[int], list[bool]]:
    """Return the ids that :func:`encode_prompted` gives, and True for each token of the texts.

    The texts must fit the prompt. Their number of characters is not limited.
    """
    _, _, tokens, owners = _placed(tokenizer, prompt, text, text_pair)
    kept = _kept(owners, max_tokens, tokenizer.truncation_side)
    return tokens.ids[kept].tolist(), (owners[kept] != _PROMPT).tolist()


def _placed(
    tokenizer: PreTrainedTokenizerBase, prompt: Prompt, text: str, text_pair: str | None
) -> tuple[str, list[Span], PromptTokens, np.ndarray]:
    """Return the prompt with the texts in it, their spans, its tokens, and the text that each token belongs to, int64
    [N].
    """
    whole, spans = prompt.rendered([text] if text_pair is None else [text, text_pair])
    tokens = read_prompt(tokenizer, whole, prompt.ends)
    owners = np.array([_owner(whole, span, spans) for span in tokens.offsets], dtype=np.int64)
    owners[tokens.added] = _PROMPT
    return whole, spans, tokens, owners


def _owner(whole: str, span: np.ndarray, spans: Sequence[Span]) -> int:
    """Return the text with more than half of a token; an empty token belongs to the text of the next character."""
    start, end = trimmed(whole, *span)
    width = max(end - start, 1)
    inside = [min(start + width, last) - max(start, first) for first, last in spans]
    return next((part for part, shared in enumerate(inside) if 2 * shared > width), _PROMPT)


def _kept(owners: np.ndarray, max_tokens: int, side: str) -> np.ndarray:
    """Return bool [N]: the tokens that fit into ``max_tokens`` when texts are cut on one ``side``, left or right.

    Every text keeps at least one token.
    """
    kept = np.ones(len(owners), dtype=bool)
    texts = [np.flatnonzero(owners == part).tolist() for part in (0, 1)]
    for _ in range(len(owners) - max_tokens):
        longer = max(texts, key=len)
        if len(longer) < 2:
            around = int((owners == _PROMPT).sum())
            raise TextError(
                f"The prompt takes {around} of the {max_tokens} tokens that the model reads: too many for the text.",
                "Shorten the prompt, or choose a model that reads more.",
            )
        kept[longer.pop(0 if side == "left" else -1)] = False
    return kept


def _within(offsets: np.ndarray, owners: np.ndarray, spans: Sequence[Span]) -> np.ndarray:
    """Return int64 [N, 2]: ``offsets`` within each token's own text, clipped to it; 0 for tokens of the prompt."""
    relative = np.zeros_like(offsets)
    for part, (first, last) in enumerate(spans):
        own = owners == part
        relative[own] = offsets[own].clip(first, last) - first
    return relative


def _added_text(whole: str, tokens: PromptTokens, owners: np.ndarray) -> list[str | None]:
    """Return the text that each token of the prompt adds, with blanks; None for the other tokens."""
    texts: list[str | None] = []
    reach = 0
    for (_, end), owner, added in zip(tokens.offsets.tolist(), owners, tokens.added, strict=True):
        texts.append(None if added or owner != _PROMPT else whole[reach:end])
        reach = max(reach, end)
    return texts
