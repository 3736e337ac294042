"""Text generation by a language model: greedy decoding, a token a pass, over a cache of keys and values."""

from __future__ import annotations

import re
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
