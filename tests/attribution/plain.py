"""The model of a classifier as transformers alone runs it, for references that share no code with ours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

Scalar = Callable[[Tensor], Tensor]
"""Word embeddings [B, N, d] -> the explained scalar [B]."""


def close(found: np.ndarray, expected: np.ndarray | Tensor, tolerance: float = 1e-4) -> None:
    """Equal within ``tolerance`` of the largest absolute score."""
    expected = np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


class Plain:
    """A model with eager attention in float32, called with ``inputs_embeds``."""

    def __init__(self, path: str, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self.model = AutoModelForSequenceClassification.from_pretrained(
            path, attn_implementation="eager", dtype=torch.float32
        )
        self.model.eval().requires_grad_(False)
        if self.model.config.pad_token_id is None:  # transformers asks for one; no text here is padded
            self.model.config.pad_token_id = 0

    def ids(self, text: str) -> Tensor:
        """Return the token ids, int64 [N]."""
        return torch.tensor(self.tokenizer(text)["input_ids"])

    def special(self, text: str) -> Tensor:
        """Return the tokens that the tokenizer added, bool [N]."""
        return torch.tensor([part is None for part in self.tokenizer(text).sequence_ids(0)])

    def embed(self, ids: Tensor) -> Tensor:
        """Return the embeddings, float32 [1, N, d]."""
        return self.model.get_input_embeddings().weight[ids][None]

    def filler(self, kind: str) -> int | None:
        """The id of the token that stands for no information; None where the tokenizer has none."""
        token = getattr(self.tokenizer, f"{kind}_token_id")
        return self.tokenizer(" ...")["input_ids"][-1] if token is None and kind == "mask" else token

    def baseline(self, text: str, kind: str = "mask") -> Tensor:
        """float32 [1, N, d]: the text with a filler, or with zeros, for every token of its own."""
        special = self.special(text)
        if kind == "zero":
            return self.embed(self.ids(text)) * special[:, None]
        return self.embed(torch.where(special, self.ids(text), self.filler(kind)))

    def scalar(self, output: str, target: int) -> Scalar:
        """The probability or the logit of a class."""

        def value(embeddings: Tensor) -> Tensor:
            logits = self.model(inputs_embeds=embeddings).logits
            return (logits.softmax(dim=-1) if output == "probability" else logits)[:, target]

        return value

    def predicted(self, text: str) -> int:
        """The class of the highest logit."""
        return int(self.model(inputs_embeds=self.embed(self.ids(text))).logits.argmax())


def gradient(scalar: Scalar, point: Tensor) -> Tensor:
    """[1, N, d]: by autograd, in a pass of its own."""
    point = point.clone().requires_grad_()
    return torch.autograd.grad(scalar(point).sum(), point)[0]
