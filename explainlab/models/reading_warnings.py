"""Warnings about how a model read a text, which hold before any explanation."""

from __future__ import annotations

import numpy as np

from explainlab.models.classifier import Classifier
from explainlab.models.stored.tokenizer import SEGMENTS
from explainlab.text.encoding import Encoding, unknown_count

LEAST_LABEL_SHARE = 0.1
"""The smallest share of the next token that the label words must hold; below it the model would say something else."""
MOST_UNKNOWN = 0.2
"""The largest share of unknown tokens in a readable text."""


def reading_warnings(classifier: Classifier, encoding: Encoding, label_share: float | None) -> list[str]:
    """Return a warning each for a cut text, unknown tokens, a missing second text, and label words that are hardly
    likely.

    The warnings of the model itself come last (:func:`model_warnings`). ``label_share`` is
    :meth:`Classifier.label_share` of the text, None if the model is no language model.
    """
    return [
        *_cut(classifier, encoding),
        *_unread(classifier, encoding),
        *_unknown(classifier, encoding),
        *_alone(classifier, encoding),
        *_segments(classifier, encoding),
        *_unlikely(label_share),
        *model_warnings(classifier),
    ]


def model_warnings(classifier: Classifier) -> list[str]:
    """Return a warning for each fact that concerns all texts: the model's notes, and a rounding of float32 by torch."""
    if not classifier.rounds_to:
        return list(classifier.notes)
    return [
        *classifier.notes,
        f"Torch rounds float32 to {classifier.rounds_to} before it multiplies matrices, as this program asks "
        "(set_float32_matmul_precision): the scores may differ from exact float32's by some per cent.",
    ]


def is_unreadable(unknown: int, content: int) -> bool:
    """Tell whether too many of a text's ``content`` tokens are ``unknown`` for the model to read it."""
    return unknown > MOST_UNKNOWN * content


def row_warnings(n: int, unreadable: int, label_shares: np.ndarray) -> list[str]:
    """Return warnings for ``n`` rows of a data set with ``unreadable`` ones and these label shares (NaN: there are
    none).
    """
    low = label_shares[label_shares < LEAST_LABEL_SHARE]
    words = []
    if unreadable:
        words.append(
            f"The model cannot read {unreadable:,} of the {n:,} texts: more than {100 * MOST_UNKNOWN:.0f}% of their "
            "tokens are unknown to it. What it predicts there says nothing about the text."
        )
    if len(low):
        words.append(
            f"For {len(low):,} of the {n:,} texts the label words together hold less than "
            f"{100 * LEAST_LABEL_SHARE:.0f}% of the next token (median {share_words(float(np.median(low)))}): "
            "the model would rather say something else, and the class probabilities compare these words only with "
            "each other."
        )
    return words


def cut_words(count: int) -> str:
    """Say how many tokens a model has no room for, and the consequence."""
    if count == 1:
        return "1 more token was cut: the model never read it"
    return f"{count:,} more tokens were cut: the model never read them"


def share_words(label_share: float) -> str:
    """Format ``label_share`` as a percentage with one decimal."""
    return f"{100 * label_share:.1f}%" if label_share >= 0.0005 else "less than 0.1%"


def _cut(classifier: Classifier, encoding: Encoding) -> list[str]:
    if not encoding.cut:
        return []
    side = "first" if classifier.tokenizer.truncation_side == "left" else "last"
    return [
        f"The model reads {len(encoding):,} tokens; the {side} {encoding.cut:,} of the text were cut and have no score."
    ]


def _unread(classifier: Classifier, encoding: Encoding) -> list[str]:
    """Warn of tokens at the end of the text that a decoder's head takes for padding."""
    if not encoding.unread:
        return []
    padding = classifier.decode([classifier.model.padding_read or 0])
    last = "token" if encoding.unread == 1 else f"{encoding.unread:,} tokens"
    return [f"The model takes the last {last} of the text, “{padding}”, for padding: it does not read what is there."]


def _unknown(classifier: Classifier, encoding: Encoding) -> list[str]:
    content, tokenizer = int(encoding.content.sum()), classifier.tokenizer
    unknown = unknown_count(tokenizer.unk_token_id, encoding.ids.tolist(), encoding.special.tolist())
    if not is_unreadable(unknown, content):
        return []
    return [
        f"The model cannot read this text: {unknown} of its {content} tokens are unknown to it "
        f"({tokenizer.unk_token}). What it predicts here, and why, says nothing about the text."
    ]


def _alone(classifier: Classifier, encoding: Encoding) -> list[str]:
    if not classifier.pairs or encoding.text_pair is not None:
        return []
    return ["The model was trained on pairs of texts, and this one has no second text: it never met such a text."]


def _segments(classifier: Classifier, encoding: Encoding) -> list[str]:
    """Warn if transformers would leave out a pair's segments, because of the input names given to the tokenizer."""
    tokenizer = classifier.tokenizer
    names = tokenizer.init_kwargs.get("model_input_names", type(tokenizer).model_input_names)
    if SEGMENTS in names or SEGMENTS not in tokenizer.model_input_names or not encoding.types.any():
        return []
    return [
        "The model reads the second text as segment 1, as the template of its tokenizer says; transformers 5 leaves "
        "segments out for such a tokenizer and gives other probabilities."
    ]


def _unlikely(label_share: float | None) -> list[str]:
    if label_share is None or label_share >= LEAST_LABEL_SHARE:
        return []
    return [
        f"The label words together hold {share_words(label_share)} of the next token: the model would rather say "
        "something else, and the class probabilities compare these words only with each other."
    ]
