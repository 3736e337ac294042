"""Text generation by a language model, over a cache of keys and values, and rankings of words read from its answers."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from explainlab.errors import ModelError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Cache
from explainlab.text.prompt import read_prompt

PHASE = "writing an answer"
_BLANK_LINE = re.compile(r"\S.*?\n[^\S\n]*\n", flags=re.DOTALL)


@dataclass(frozen=True)
class Answer:
    """A generated answer: token ``ids``, their ``text``, and the number of ``passes``."""

    ids: tuple[int, ...]
    text: str
    passes: int


def prompt_ids(classifier: Classifier, prompt: str) -> list[int]:
    """Return the tokens of a question to a language model, by the chat template of its tokenizer if it has one.

    Raises :class:`ModelError` for a chat template that cannot be used.
    """
    tokenizer = classifier.tokenizer
    with classifier.tokenizer_lock:
        if not tokenizer.chat_template:
            return [int(i) for i in read_prompt(tokenizer, prompt).ids]
        try:
            whole = tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
            )
        except Exception as error:
            raise ModelError(
                f"The chat template of {classifier.id} cannot be used: {str(error).splitlines()[0]}.",
                "Correct chat_template in its tokenizer_config.json.",
            ) from error
        return list(tokenizer(whole, add_special_tokens=False, verbose=False)["input_ids"])


def decode(batcher: Batcher, ids: Sequence[int], most: int) -> Answer:
    """Generate the answer of the language model after ``ids``: always the likeliest token, of equal ones the lowest id.

    Generation stops at an end token, after a blank line that follows the first words, after ``most`` tokens, and at the
    longest input of the model. The answer has no end tokens. Each token is a pass, with a chance to cancel before it.
    Raises :class:`ModelError` for logits that are not finite.
    """
    classifier, ends = batcher.classifier, end_ids(batcher.classifier)
    cache: Cache | None = None
    said: list[int] = []
    text, pending, passes = "", list(ids), 0
    most = min(most, classifier.max_tokens - len(ids) + 1)
    while len(said) < most and not _BLANK_LINE.match(text.lstrip()):
        ((logits, cache),) = batcher.over(
            np.array([len(pending)]),
            partial(_read, classifier, pending, cache),
            gradients=False,
            phase=PHASE,
            done=len(said),
            total=most,
        )
        passes += 1
        token = int(logits.argmax())
        if token in ends:
            break
        said.append(token)
        pending = [token]
        text = classifier.decode(said)
    batcher.finish(PHASE)
    return Answer(tuple(said), text, passes)


def _read(classifier: Classifier, ids: Sequence[int], cache: Cache | None, _: slice) -> tuple[np.ndarray, Cache]:
    return classifier.next_token_logits(ids, cache)


def end_ids(classifier: Classifier) -> set[int]:
    """Return the tokens that end an answer, by the tokenizer and by the model's settings."""
    network, ends = classifier.model.network, {classifier.tokenizer.eos_token_id}
    for settings in (getattr(network, "generation_config", None), getattr(network, "config", None)):
        own = getattr(settings, "eos_token_id", None)
        ends |= set(own) if isinstance(own, list) else {own}
    return ends - {None}


_NUMBERING = re.compile(r"^(?:\d+[.)](?!\d)|[-*](?=\s))\s*")
_SCORE = re.compile(r"\s*(?:\(\s*[-+−]?\d+(?:[.,]\d+)?\s*%?\s*\)|\[\s*[-+−]?\d+(?:[.,]\d+)?\s*%?\s*\])$")
_QUOTES = "\"'`“”‘’„«»"
SHOWN = 2_000
"""Most characters of an answer in the notes."""


@dataclass(frozen=True)
class Ranking:
    """The features in an answer, by index, the most important first, and the items that match none.

    ``repeated``: all equal features have been named before; ``hallucinated``: no feature has this text.
    """

    named: tuple[int, ...]
    repeated: tuple[str, ...]
    hallucinated: tuple[str, ...]

    def notes(self, features: int, answer: str) -> list[str]:
        """Report the named features of all ``features``, and the answer itself, in words."""
        notes = [f"Named {len(self.named)} of {features}; not named {features - len(self.named)}."]
        for kind, items in (("Repeated", self.repeated), ("Hallucinated", self.hallucinated)):
            listed = ", ".join(f"“{item}”" for item in items)
            notes.append(f"{kind} {len(items)}{': ' if items else '.'}{_cut(listed)}")
        return [*notes, f"Answer: {_cut(answer) or '(nothing)'}"]


def ranking(answer: str, features: Sequence[str]) -> Ranking:
    """Read the ranking of content features in ``answer``, by their texts.

    An item names the first feature not yet named whose text is equal after NFKC, casefold and stripping of punctuation
    at both ends.
    """
    texts = [comparable(text) for text in features]
    named: list[int] = []
    repeated: list[str] = []
    hallucinated: list[str] = []
    for item in items(answer):
        equal = [i for i, text in enumerate(texts) if text == comparable(item)]
        left = [i for i in equal if i not in named]
        if left:
            named.append(left[0])
        else:
            (repeated if equal else hallucinated).append(item)
    return Ranking(tuple(named), tuple(repeated), tuple(hallucinated))


def items(answer: str) -> list[str]:
    """Return the items of ``answer``: of a JSON array of strings, else its lines, else the parts of a single line."""
    try:
        array = json.loads(answer)
    except (ValueError, RecursionError):
        array = None
    if isinstance(array, list) and all(isinstance(item, str) for item in array):
        return [item.strip() for item in array if item.strip()]
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    parts = lines[0].split(",") if len(lines) == 1 else lines
    return [item for item in map(_item, parts) if item]


def comparable(text: str) -> str:
    """Return ``text`` in its form for comparisons; a text of punctuation alone stays."""
    folded = unicodedata.normalize("NFKC", text).casefold().strip()
    kept = [i for i, character in enumerate(folded) if not unicodedata.category(character).startswith("P")]
    return folded[kept[0] : kept[-1] + 1].strip() if kept else folded


def _item(line: str) -> str:
    """Return ``line`` without its numbering, a trailing score in brackets, and quotes, each unless nothing would be
    left.
    """
    item = _NUMBERING.sub("", line.strip(), count=1) or line.strip()
    item = _SCORE.sub("", item) or item
    return item.strip(_QUOTES).strip() or item


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
