"""Model passes of many texts together: points of several subjects in a stream of batches, longest texts first.

A point is a version of a text in word-embedding space: the text itself, a masked text, a step of a path. All subjects
of a call share the first's :class:`Batcher`, which sizes batches, reports progress and can stop between two batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from explainlab.models.classifier import Classifier
from explainlab.models.inputs import FEWEST_TEXTS, LEAST_PREFIX, Inputs, Prefix

if TYPE_CHECKING:
    from explainlab.attribution.subject import Subject

T = TypeVar("T")
Rows = TypeVar("Rows", np.ndarray, Tensor)


@dataclass(frozen=True, eq=False)
class Part:
    """The ``points`` of subject ``number`` in a batch, and their ``rows`` in the batch."""

    number: int
    subject: Subject
    points: slice
    rows: slice

    @property
    def count(self) -> int:
        """Number of points."""
        return int(self.rows.stop - self.rows.start)

    def own(self, rows: Rows) -> Rows:
        """Return [count, N, ...]: this subject's part of ``rows`` [B, longest, ...], without padding."""
        own: Rows = rows[self.rows, : len(self.subject.encoding)]
        return own


@dataclass(frozen=True, eq=False)
class Batch:
    """B points of several texts in one pass, padded on the right to the first text, the longest.

    ``prefix``: the shared beginning of all texts, if it was read separately.
    """

    parts: tuple[Part, ...]
    prefix: Callable[[], Prefix | None]

    @property
    def classifier(self) -> Classifier:
        """The classifier of all texts."""
        return self.parts[0].subject.classifier

    @property
    def size(self) -> int:
        """B."""
        return int(self.parts[-1].rows.stop)

    @cached_property
    def inputs(self) -> Inputs:
        """The texts, each repeated for each of its points."""
        texts = self.classifier.inputs([part.subject.encoding for part in self.parts])
        return texts if self.size == len(self.parts) else texts.repeat(*(part.count for part in self.parts))

    def texts(self) -> Tensor:
        """Return the word embeddings [B, N, d] of the texts themselves."""
        return self.classifier.embed(self.inputs.ids)

    def stacked(self, each: Sequence[Tensor]) -> Tensor:
        """Return [sum of k, N, ...] of ``each`` [k, own N, ...], one per part, with padding of zeros, which no model
        reads.
        """
        length = len(self.parts[0].subject.encoding)
        return torch.cat([_filled(points, length) for points in each])

    def explained(self, logits: Tensor) -> Tensor:
        """Return [B]: the explained scalars, from ``logits`` [B, classes]; the subjects' targets must be fixed."""
        indices = np.repeat([part.subject.target.index for part in self.parts], [part.count for part in self.parts])
        values = logits if self.parts[0].subject.output == "logit" else logits.softmax(dim=-1)
        return values.gather(1, torch.as_tensor(indices, device=logits.device)[:, None])[:, 0]

    def see(self, logits: Tensor) -> None:
        """Give every subject its first row of ``logits`` [B, classes] as the logits of its text."""
        finite = self.classifier.finite(logits.detach())
        for part in self.parts:
            part.subject.see(finite[part.rows.start])

    def count(self, forward: int = 0, backward: int = 0) -> None:
        """Count this many passes per point with every subject."""
        for part in self.parts:
            part.subject.forward += forward * part.count
            part.subject.backward += backward * part.count


def stream(
    subjects: Sequence[Subject],
    counts: Sequence[int],
    run: Callable[[Batch], T],
    *,
    gradients: bool,
    phase: str,
    rows: int = 1,
) -> Iterator[T]:
    """Call ``run`` with batches of all points: ``counts[i]`` of ``subjects[i]``, each point ``rows`` model inputs.

    Texts of a batch explain the same output, begin with the same prompt, and differ little in length.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for i, subject in enumerate(subjects):
        if counts[i]:
            kind = subject.output, subject.classifier.end_count(subject.encoding.ids), _prompt(subject)
            alike.setdefault(kind, []).append(i)
    done, total = 0, sum(counts)
    for numbers in alike.values():
        numbers.sort(key=lambda i: -len(subjects[i].encoding))
        points = _Points(subjects, numbers, np.cumsum([counts[i] for i in numbers]))
        prefix = cache(partial(_prefix, points))  # read within a batch, which handles a lack of memory
        over = partial(subjects[0].batcher.over, gradients=gradients, phase=phase, total=total, rows=rows)
        yield from over(points.lengths, partial(_run, run, points, prefix), done=done)
        done += points.count


@dataclass(frozen=True, eq=False)
class _Points:
    """The points of the subjects ``numbers``, longest text first; those of the jth end before ``ends[j]``."""

    subjects: Sequence[Subject]
    numbers: Sequence[int]
    ends: np.ndarray

    @property
    def count(self) -> int:
        return int(self.ends[-1])

    @property
    def lengths(self) -> np.ndarray:
        """int64 [count]: the text length of every point."""
        each = np.diff(self.ends, prepend=0)
        return np.repeat([len(self.subjects[i].encoding) for i in self.numbers], each)

    def parts(self, part: slice) -> tuple[Part, ...]:
        """Return the points from ``part.start`` to ``part.stop``, text by text."""
        parts, start = [], part.start
        j = int(np.searchsorted(self.ends, start, side="right"))
        while start < part.stop:
            begin, stop = (int(self.ends[j - 1]) if j else 0), min(int(self.ends[j]), part.stop)
            own, rows = slice(start - begin, stop - begin), slice(start - part.start, stop - part.start)
            parts.append(Part(self.numbers[j], self.subjects[self.numbers[j]], own, rows))
            start, j = stop, j + 1
        return tuple(parts)


def _run(run: Callable[[Batch], T], points: _Points, prefix: Callable[[], Prefix | None], part: slice) -> T:
    return run(Batch(points.parts(part), prefix))


def _prefix(points: _Points) -> Prefix | None:
    """Return the prompt before all texts if reading it once pays."""
    first = points.subjects[points.numbers[0]]
    before = len(_prompt(first))
    if not before or points.count < FEWEST_TEXTS:
        return None
    return first.classifier.prefix(first.inputs.ids[0, :before])


def _filled(points: Tensor, length: int) -> Tensor:
    missing = length - points.shape[1]
    return pad(points, (*(0, 0) * (points.ndim - 2), 0, missing)) if missing else points


def _prompt(subject: Subject) -> tuple[int, ...]:
    """Return the prompt's tokens before a text, the same at every point; empty if a separate reading is no gain."""
    encoding = subject.encoding
    causal = subject.classifier.architecture.causal
    before = int(encoding.content.argmax()) if encoding.prompt and causal else 0
    return tuple(encoding.ids[:before].tolist()) if before >= LEAST_PREFIX else ()
