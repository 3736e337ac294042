"""Measures of importance in a grid: their order of a text's words, the words that they mask, the selection."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from reprlib import repr as quote
from typing import Any, NamedTuple

import numpy as np

from explainlab.analyses.attributions import text_seed
from explainlab.analyses.roar.data import GridData
from explainlab.analyses.roar.parameters import WHOLE
from explainlab.analyses.roar.texts import SPLITS, TOGETHER, Split, SplitName
from explainlab.attribution.explain import NotFinite, outcomes_of
from explainlab.attribution.method import Method, Outcome
from explainlab.attribution.methods.paths import IntegratedGradients
from explainlab.attribution.path import Path, evaluate, nodes, read_ends
from explainlab.attribution.registry import MethodSpec, get_method
from explainlab.attribution.subject import Subject
from explainlab.errors import ModelError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import SHARE, Body, RunContext
from explainlab.request import digest

TOLD = (
    "As the paper's code computes, for comparison only: integrated gradients weight every gradient by its place α on "
    "the path, so that what is nearer to the text counts more, and do not add up to the change of the output. Of a "
    "linear model they are (n + 1) / 2n of what they should be."
)

CUT = "Faithfulness is cut to [-1, 1] seed by seed, as the paper's code does."


class AlphaWeighted(IntegratedGradients):
    """φᵢ = Σ_d (xᵢ - x′ᵢ) · 1/n Σₖ αₖ ∂F(x′ + αₖ(x - x′))/∂xᵢ: differentiated by x itself, through αₖ x."""

    def attribute_many(self, subjects: Sequence[Subject], parameters: IntegratedGradients.Parameters) -> list[Outcome]:
        """See :meth:`Method.attribute_many`."""
        assert parameters.rule != "adaptive"  # which the study's parameters refuse
        paths = [Path(subject, subject.baseline(parameters.baseline)) for subject in subjects]
        alphas, weights = nodes(parameters.rule, parameters.steps)
        read_ends(paths)
        evaluate(paths, [alphas] * len(paths))
        return [Outcome(path.subject.units.sum_tokens((weights * alphas) @ path.slopes(alphas))) for path in paths]


def count(tokens: int, step: int, counted: bool) -> int:
    """Return the number of ``tokens`` to mask at ``step``: per cent rounded down or, if ``counted``, a number."""
    if step == WHOLE:
        return tokens
    return min(step, tokens) if counted else tokens * step // WHOLE


def most_important(scores: np.ndarray, masked: np.ndarray, number: int) -> np.ndarray:
    """Return bool [n]: the ``masked`` tokens and those with the largest ``scores`` float64 [n], ``number`` in all.

    Of equal scores the first comes first.
    """
    order = np.where(masked, -np.inf, -scores).argsort(kind="stable")
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[order[:number]] = True
    return chosen


class Masks:
    """The masks of several texts with ``lengths`` [T] tokens: ``bits``, bool [sum of lengths]."""

    def __init__(self, lengths: Sequence[int], bits: np.ndarray) -> None:
        self.bits = bits
        self._ends = np.cumsum(lengths, dtype=np.int64)
        self._starts = self._ends - lengths

    @classmethod
    def none(cls, lengths: Sequence[int]) -> Masks:
        """Return masks of no token."""
        return cls(lengths, np.zeros(sum(lengths), dtype=bool))

    @classmethod
    def all(cls, lengths: Sequence[int]) -> Masks:
        """Return masks of every token."""
        return cls(lengths, np.ones(sum(lengths), dtype=bool))

    @classmethod
    def joined(cls, lengths: Sequence[int], each: Iterator[np.ndarray]) -> Masks:
        """Join the bits of texts, given one by one."""
        return cls(lengths, np.concatenate([np.zeros(0, dtype=bool), *each]))

    @classmethod
    def placed(cls, lengths: Sequence[int], parts: Iterator[tuple[list[int], np.ndarray]]) -> Masks:
        """Join the bits of all texts, given in parts: the numbers of some texts, and their bits one after another."""
        whole = cls.none(lengths)
        for texts, bits in parts:
            starts, ends = whole._starts[texts], whole._ends[texts]
            before = np.cumsum(ends - starts) - (ends - starts)
            whole.bits[np.arange(len(bits)) + np.repeat(starts - before, ends - starts)] = bits
        return whole

    def __getitem__(self, text: int) -> np.ndarray:
        """Return the mask of a text, bool [n]."""
        own: np.ndarray = self.bits[self._starts[text] : self._ends[text]]
        return own

    def __len__(self) -> int:
        return len(self._ends)


def packed(bits: np.ndarray) -> str:
    """Pack bits as text: eight a byte, compressed by zlib, in base64."""
    return base64.b64encode(zlib.compress(np.packbits(bits).tobytes())).decode()


def unpacked(text: str, number: int) -> np.ndarray:
    """Return bool [number], the inverse of :func:`packed`."""
    raw = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    return np.unpackbits(raw, count=number).astype(bool)


FIRST_TOKENS = 10
_NUMBERS, _PERCENTS = np.arange(1, FIRST_TOKENS + 1), np.arange(10, 101, 10)


class Measure(NamedTuple):
    """A measure; ``absolute``: scores count by their size; ``alpha_weighted``: computed as in the paper's code."""

    request: MethodSpec
    absolute: bool
    alpha_weighted: bool = False

    @property
    def method(self) -> Method:
        """The attribution method that computes the measure."""
        return AlphaWeighted() if self.alpha_weighted else get_method(self.request.method)


def scores_of(
    batcher: Batcher, split: Split, rows: Sequence[int], gold: Sequence[int], masks: Masks, measure: Measure, seed: int
) -> list[np.ndarray]:
    """Return the scores of the maskable tokens of the texts ``rows`` of ``split``, as they are masked, float64 [n].

    They explain the logit of each text's ``gold`` class, an index [T]. A random method draws from ``seed`` and the
    text. Raises as :func:`explainlab.attribution.explain.outcomes_of`; scores that are no numbers with their text.
    """
    classifier, method, parameters = batcher.classifier, measure.method, measure.request.parameters
    data = parameters.model_dump().get("baseline_data", "")
    subjects = []
    for row, encoding in zip(rows, split.masked(rows, masks), strict=True):
        subject = Subject(
            classifier,
            encoding,
            target=classifier.labels[gold[row]],
            output="logit",
            seed=seed,
            baseline_data=data,
            batcher=batcher,
            units=split.read(row).units,
        )
        if method.random:
            subject.seed = text_seed(subject)
        subjects.append(subject)
    try:
        outcomes = outcomes_of(subjects, method, parameters)
    except NotFinite as error:
        text = quote(split.examples.texts[rows[error.place]])
        problem = f"{method.label} gave scores that are not finite numbers for a text of the {split.name} data: {text}."
        raise ModelError(problem, "Leave the row out, or choose another measure.") from None
    scores = []
    for row, outcome in zip(rows, outcomes, strict=True):
        read = split.read(row)
        own: np.ndarray = outcome.scores[read.units.membership[read.candidates]]
        scores.append(np.abs(own) if measure.absolute else own)
    return scores


def concentration(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Return the share of the sum of a text's |scores| that the largest 1 to 10 hold, then the largest 10% to 100%.

    The result is float64 [k, 20]: of ``scores``, float64 [n] of each text, only the k texts with a sum above 0 count. A
    per cent of the tokens is rounded up.
    """
    own = [np.abs(text) for text in scores if text.any()]
    lengths = np.array([len(text) for text in own], dtype=np.int64)[:, None]
    sizes = np.zeros((len(own), int(lengths.max(initial=1))))
    sizes[np.arange(sizes.shape[1]) < lengths] = np.concatenate([np.zeros(0), *own])
    held = np.cumsum(-np.sort(-sizes, axis=1), axis=1)
    numbers = np.concatenate([np.tile(_NUMBERS, (len(own), 1)), -(-lengths * _PERCENTS // 100)], axis=1)
    shares: np.ndarray = np.take_along_axis(held, np.minimum(numbers, lengths) - 1, axis=1) / held[:, -1:]
    return shares


SHARES = 20
"""Numbers of :func:`explainlab.analyses.roar.measures.concentration`."""


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
