"""Classification by completion: the next-token scores of a language model for the label words of a template.

A model with a template has an id of its own, ``completion:TEMPLATE:MODEL``, where a template that belongs to a user is
named with its owner (see :func:`explainlab.models.prompting.templates.template_id`). Its class scores are the logits of
the label words' tokens after the prompt, their softmax the probabilities (Barkan et al. 2024, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
import transformers
from torch import nn

from explainlab.errors import ModelError, RequestError
from explainlab.models.anatomy import SCORE
from explainlab.models.prompting.templates import Template, read_template
from explainlab.text.prompt import read_prompt

PREFIX = "completion:"
_TEXT = "a"  # a text for calls in which only the prompt matters
_ANSWERS = "answers"


def split_id(model_id: str) -> tuple[Template | None, str]:
    """Return the template that ``model_id`` names (None: it names none) and the id of the model itself.

    Raises :class:`ModelError` for a template that does not exist or cannot be read.
    """
    if not model_id.startswith(PREFIX):
        return None, model_id
    name, _, model = model_id.removeprefix(PREFIX).partition(":")
    if not name or not model:
        raise ModelError(f"There is no model '{model_id}'.", f"Write {PREFIX}TEMPLATE:MODEL.")
    try:
        return read_template(name), model
    except RequestError as error:
        raise ModelError(error.problem, error.remedy) from error


def answer_tokens(
    template: Template, tokenizer: transformers.PreTrainedTokenizerBase, max_tokens: int
) -> dict[str, int]:
    """Return the token id of every label's word after the prompt.

    Raises :class:`ModelError` for a prompt that leaves none of ``max_tokens`` to the text, a word that is not in the
    vocabulary, has several tokens or merges with the prompt's end, and two words with the same first token.
    """
    texts = [_TEXT] * (1 + template.prompt.takes_pair)
    prompt = template.prompt.rendered(texts)[0]
    before = read_prompt(tokenizer, prompt).ids
    if len(before) > max_tokens:
        raise ModelError(
            f"The prompt of template '{template.name}' takes {len(before):,} tokens; the model reads {max_tokens:,}.",
            "Shorten it, show fewer examples, or choose a model that reads more.",
        )
    answers = {
        label: _answer(label, word, before, read_prompt(tokenizer, prompt + word).ids, tokenizer)
        for label, word in template.labels.items()
    }
    _require_distinct(answers, tokenizer)
    for label, ids in answers.items():
        if len(ids) > 1:
            pieces = " ".join(tokenizer.convert_ids_to_tokens(ids.tolist()))
            raise ModelError(
                f"The word {template.labels[label]!r} of label '{label}' is {len(ids)} tokens ({pieces}).",
                "Choose a word that is one token, with or without a leading blank.",
            )
    return {label: int(ids[0]) for label, ids in answers.items()}


def take_head(model: transformers.PreTrainedModel, ids: list[int], device: torch.device) -> None:
    """Give ``model`` a classification head ``score`` on ``device``: the rows ``ids`` of its language-model head.

    Raises :class:`ModelError` where that head is no plain matrix.
    """
    whole = model.get_output_embeddings()
    if type(whole) is not nn.Linear:
        raise ModelError(
            f"The output layer of this model is a {type(whole).__name__}, whose rows cannot be read one by one.",
            "Give a model whose output layer is neither quantised nor adapted.",
        )
    head = nn.Linear(whole.in_features, len(ids), bias=whole.bias is not None, device=device, dtype=whole.weight.dtype)
    rows = torch.tensor(ids, device=whole.weight.device)
    with torch.no_grad():
        head.weight.copy_(whole.weight[rows])
        if whole.bias is not None:
            head.bias.copy_(whole.bias[rows])
    head.register_buffer(_ANSWERS, rows, persistent=False)
    setattr(model, SCORE, head.requires_grad_(False).eval())


def answers_of(model: transformers.PreTrainedModel) -> list[int]:
    """Return the token ids of the rows that :func:`take_head` put into the head of ``model``."""
    ids: list[int] = getattr(getattr(model, SCORE), _ANSWERS).tolist()
    return ids


def _answer(
    label: str, word: str, before: np.ndarray, after: np.ndarray, tokenizer: transformers.PreTrainedTokenizerBase
) -> np.ndarray:
    """Return the ids that a word adds to the prompt ``before``."""
    if len(after) <= len(before) or not np.array_equal(after[: len(before)], before):
        raise ModelError(
            f"The word {word!r} of label '{label}' is not read apart from the end of the prompt.",
            "End the template without a blank and begin the word with one, or the other way round.",
        )
    ids = after[len(before) :]
    if tokenizer.unk_token_id in ids:
        raise ModelError(f"The word {word!r} of label '{label}' is not in the vocabulary.", "Choose another word.")
    return ids


def _require_distinct(answers: Mapping[str, np.ndarray], tokenizer: transformers.PreTrainedTokenizerBase) -> None:
    """Raise :class:`ModelError` for two labels with the same next token."""
    begun: dict[int, str] = {}
    for label, ids in answers.items():
        first = int(ids[0])
        if first in begun:
            raise ModelError(
                f"The words of '{begun[first]}' and '{label}' begin with the same token "
                f"({tokenizer.convert_ids_to_tokens(first)}), so the next one cannot tell them apart.",
                "Choose words that begin differently.",
            )
        begun[first] = label
