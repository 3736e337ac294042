"""Batches for training: grouping by length, padding, random masks and the weight of each position in the loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from explainlab.models.classifier import Classifier
from explainlab.text.encoding import panics_told
from explainlab.text.prompt import ids_within
from explainlab.training.examples import Examples
from explainlab.training.settings import TrainingSettings
from explainlab.training.start import Start


@dataclass(frozen=True)
class Masked:
    """Tokens that ``token`` replaces, as positions in each of the ``examples`` and in each text of ``validation``.

    Without positions nothing is masked.
    """

    token: int = 0
    examples: Sequence[Sequence[int]] = ()
    validation: Sequence[Sequence[int]] = ()


@dataclass(frozen=True)
class Tokens:
    """Token ids of n texts, and for pairs the segment of every token (else None); ``pad_id`` fills up a batch.

    ``own``: True for the texts' own tokens if there is a prompt (else None: all but special tokens).
    """

    ids: list[list[int]]
    types: list[list[int]] | None
    pad_id: int
    own: list[list[bool]] | None = None

    def masked(self, positions: Sequence[Sequence[int]], token: int) -> Tokens:
        """Return the same tokens with ``token`` at the ``positions`` of every text."""
        ids = [list(row) for row in self.ids]
        for row, places in zip(ids, positions, strict=bool(positions)):
            for place in places:
                row[place] = token
        return replace(self, ids=ids)

    def batch(self, rows: Sequence[int]) -> dict[str, Tensor]:
        """Return the inputs of these rows by their names in transformers, int64 [batch, longest]."""
        inputs, attention = padded([self.ids[row] for row in rows], self.pad_id)
        batch = {"input_ids": inputs, "attention_mask": attention}
        if self.types:
            batch["token_type_ids"], _ = padded([self.types[row] for row in rows], 0)
        return batch

    def content(self, rows: Sequence[int], special: Tensor) -> Tensor:
        """Return bool [batch, longest]: the texts' own tokens, without the ids ``special``."""
        ids, attention = padded([self.ids[row] for row in rows], self.pad_id)
        content = ~torch.isin(ids, special) & attention.bool()
        if self.own:
            own, _ = padded([[int(owned) for owned in self.own[row]] for row in rows], 0)
            content &= own.bool()
        return content

    def masked_at_random(self, special: Tensor, token: int, seed: int) -> Tokens:
        """Return the same tokens with ``token`` in place of a share of each text's own tokens, drawn between none and
        all.
        """
        generator = torch.Generator().manual_seed(seed)
        places = []
        for row in range(len(self.ids)):
            drawn = torch.rand(1 + len(self.ids[row]), generator=generator)
            places.append(((drawn[1:] < drawn[0]) & self.content([row], special)[0]).nonzero().flatten().tolist())
        return self.masked(places, token)


def tokenized(model: Classifier | Start, examples: Examples) -> Tokens:
    """Tokenise all ``examples`` as ``model`` does; longer ones are cut to its most tokens.

    Raises :class:`TextError` for a text without room beside the prompt.
    """
    if model.prompt:
        parts = zip(examples.texts, examples.pairs or repeat(None), strict=False)
        read = [ids_within(model.tokenizer, model.prompt, *part, model.max_tokens) for part in parts]
        return Tokens([ids for ids, _ in read], None, model.pad_id, [own for _, own in read])
    texts = (list(examples.texts), list(examples.pairs)) if examples.pairs else (list(examples.texts),)
    with panics_told():
        encoded = model.tokenizer(*texts, truncation=True, max_length=model.max_tokens)
    return Tokens(encoded["input_ids"], encoded.get("token_type_ids") if examples.pairs else None, model.pad_id)


def shuffled_batches(ids: list[list[int]], size: int, generator: torch.Generator) -> Iterator[list[int]]:
    """Return batches of row numbers for one epoch: in random order, with texts of similar length together to save
    padding.
    """
    order = torch.randperm(len(ids), generator=generator).tolist()
    pool = 50 * size
    pools = (sorted(order[i : i + pool], key=lambda row: len(ids[row])) for i in range(0, len(order), pool))
    batches = [rows[i : i + size] for rows in pools for i in range(0, len(rows), size)]
    for i in torch.randperm(len(batches), generator=generator).tolist():
        yield batches[i]


def padded(ids: list[list[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Return right-padded ids and attention mask, both int64 of shape [batch, longest]."""
    lengths = torch.tensor([len(row) for row in ids])
    inputs = pad_sequence([torch.tensor(row) for row in ids], batch_first=True, padding_value=pad)
    return inputs, (torch.arange(inputs.shape[1]) < lengths[:, None]).long()


def masked(
    inputs: Tensor, content: Tensor, mask: int, settings: TrainingSettings, generator: torch.Generator
) -> Tensor:
    """Return ``inputs`` [batch, n] with random ``content`` tokens replaced by ``mask``.

    The share of masked tokens is drawn for each text: between 0 and ``mask_share``, or with probability ``heavy_mask``
    between 0 and 1. With ``masking`` it is between 0 and 1 for a random half of the texts, and 0 for the others; of an
    odd number the one in the middle falls to either by chance. ``content`` is bool [batch, n].
    """

    def draw(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float32)

    share = draw(len(inputs), 1)
    if settings.masking:
        order = torch.randperm(len(inputs), generator=generator)[:, None]
        share = torch.where(order < (len(inputs) / 2 + draw(1)).floor(), 0.0, share)
        return inputs.masked_fill((draw(*inputs.shape) < share) & content, mask)
    heavy = draw(len(inputs), 1) < settings.heavy_mask
    share = torch.where(heavy, share, share * settings.mask_share)
    return inputs.masked_fill((draw(*inputs.shape) < share) & content, mask)


def position_weights(attention: Tensor, prefix_weight: float) -> Tensor:
    """Return weights [batch, n] that sum to 1 for each text: ``prefix_weight`` over all positions, the rest on the
    last.
    """
    lengths = attention.sum(dim=1, keepdim=True)
    last = torch.arange(attention.shape[1]) == lengths - 1
    return prefix_weight * attention / lengths + (1 - prefix_weight) * last
