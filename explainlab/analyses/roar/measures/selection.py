"""The selection of a measure on one model: the next tokens to mask in all texts, computed and kept part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from explainlab.analyses.roar.data import GridData
from explainlab.analyses.roar.measures.importance import Measure, concentration, scores_of
from explainlab.analyses.roar.measures.masks import Masks, count, most_important, packed, unpacked
from explainlab.analyses.roar.texts import SPLITS, TOGETHER, Split, SplitName
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import SHARE, Body, RunContext
from explainlab.request import digest

SHARES = 20
"""Numbers of :func:`explainlab.analyses.roar.measures.importance.concentration`."""


class _Part(NamedTuple):
    """A part of the texts of a split, whose importance is computed together and kept under ``name``.

    ``tokens`` are those of their encodings.
    """

    split: SplitName
    rows: list[int]
    name: str
    tokens: int


@dataclass(frozen=True)
class Selected:
    """The masks at each ratio, by split; ``shares`` float64 [20], the mean concentration of the test texts.

    ``shares`` is None where no test text has any importance. ``seconds`` is the time of the measure.
    """

    masks: Mapping[int, Mapping[SplitName, Masks]]
    shares: np.ndarray | None
    seconds: float


class Selection:
    """The tokens that ``measure`` has masked at ``ratios``, on a model whose texts are masked already.

    ``key`` is the digest of all that decides the model and the measure's scores; a random measure draws from ``seed``.
    """

    def __init__(
        self,
        data: GridData,
        measure: Measure,
        key: str,
        ratios: Sequence[int],
        counted: bool,
        seed: int,
        context: RunContext,
    ) -> None:
        self._data, self._measure, self._ratios, self._counted = data, measure, ratios, counted
        self._seed, self._context = seed, context
        self._parts = [part for name, split in data.splits.items() for part in _parts(name, split, key)]

    def recalled(self) -> Selected | None:
        """Return the selection, if all of it is known."""
        known = self._known()
        return self._joined(known) if len(known) == len(self._keys(self._parts)) else None

    def computed(self, classifier: Classifier, masks: Mapping[SplitName, Masks], phase: str) -> Selected:
        """Return the selection; its unknown parts are computed on the model, whose texts have these ``masks``.

        Raises as :func:`explainlab.attribution.explain.outcomes_of`.
        """
        known = self._known()
        batcher, total = Batcher(classifier, self._context), sum(part.tokens for part in self._parts)
        after = 0
        for part in self._parts:
            before, after = after, after + part.tokens
            if all(key in known for key in self._keys([part])):
                continue
            with batcher.span(before, after, total):
                notes = self._of_part(part, batcher, masks[part.split])
            self._context.cache.put_many(notes)
            self._context.progress.report(round(SHARE * after / total), SHARE, phase)
            known |= notes
        return self._joined(known)

    def _keys(self, parts: Sequence[_Part]) -> list[str]:
        """Return the keys of notes: one of each part and ratio, and one of the rest of each part."""
        kinds: list[int | str] = [*self._ratios, ""]
        return [self._key(part, what) for part in parts for what in kinds]

    def _key(self, part: _Part, what: int | str) -> str:
        return digest([part.name, self._counted, what])

    def _known(self) -> dict[str, Body]:
        return self._context.cache.get_many(self._keys(self._parts))

    def _of_part(self, part: _Part, batcher: Batcher, masks: Masks) -> dict[str, Body]:
        since, gold = batcher.mark().seconds, self._data.gold[part.split].tolist()
        split = self._data.splits[part.split]
        scores = scores_of(batcher, split, part.rows, gold, masks, self._measure, self._seed)
        notes: dict[str, Body] = {}
        for ratio in self._ratios:
            chosen = [
                most_important(own, masks[row], count(len(own), ratio, self._counted))
                for row, own in zip(part.rows, scores, strict=True)
            ]
            notes[self._key(part, ratio)] = {"masked": packed(np.concatenate(chosen))}
        shares = concentration(scores if part.split == "test" else [])
        sums = shares.sum(axis=0).tolist() if len(shares) else None
        seconds = batcher.mark().seconds - since
        notes[self._key(part, "")] = {"shares": sums, "texts": len(shares), "seconds": seconds}
        return notes

    def _joined(self, notes: Mapping[str, Body]) -> Selected:
        facts: list[dict[str, Any]] = [notes[self._key(part, "")] for part in self._parts]
        texts = sum(own["texts"] for own in facts)
        sums = [np.array(own["shares"]) for own in facts if own["shares"] is not None]
        return Selected(
            masks={ratio: self._masks(notes, ratio) for ratio in self._ratios},
            shares=np.sum(sums, axis=0) / texts if texts else None,
            seconds=sum(own["seconds"] for own in facts),
        )

    def _masks(self, notes: Mapping[str, Body], ratio: int) -> dict[SplitName, Masks]:
        joined: dict[SplitName, Masks] = {}
        for name in SPLITS:
            joined[name] = Masks.placed(self._data.splits[name].lengths, self._bits(notes, ratio, name))
        return joined

    def _bits(self, notes: Mapping[str, Body], ratio: int, name: SplitName) -> Iterator[tuple[list[int], np.ndarray]]:
        lengths = np.array(self._data.splits[name].lengths)
        for part in self._parts:
            if part.split == name:
                yield part.rows, unpacked(notes[self._key(part, ratio)]["masked"], lengths[part.rows].sum())


def _parts(name: SplitName, split: Split, key: str) -> Iterator[_Part]:
    """Yield the texts of a split, those of similar length together, the longest first: so batches are even."""
    tokens = np.array(split.tokens)
    order = np.argsort(-tokens, kind="stable")
    for start in range(0, len(split), TOGETHER):
        rows = order[start : start + TOGETHER].tolist()
        yield _Part(name, rows, digest([key, name, "by length", start]), int(tokens[rows].sum()))
