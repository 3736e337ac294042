"""Labelled texts for training or measuring, single or pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explainlab.data import Classes, Reader, read_dataset
from explainlab.data.labels import label_of
from explainlab.errors import DataError
from explainlab.reader import ANYBODY
from explainlab.request import digest


@dataclass(frozen=True)
class Examples:
    """Labelled texts; ``pairs`` are the second texts, or empty. :class:`explainlab.data.Classes` reads the labels.

    ``left_out``: how many rows of their file were left out for their label. ``rows``: their numbers in the file,
    counted from 1; empty: as they come. ``notes``: doubts about the file.
    """

    texts: Sequence[str]
    labels: Sequence[str]
    pairs: Sequence[str] = ()
    left_out: int = 0
    rows: Sequence[int] = ()
    notes: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def digest(self) -> str:
        """SHA-256 of all fields, in hexadecimal."""
        return digest([list(self.texts), [str(label) for label in self.labels], list(self.pairs)])

    def row(self, place: int) -> int:
        """Return the number in the file of the example at ``place``, which counts from 0."""
        return self.rows[place] if self.rows else place + 1

    def take(self, places: Sequence[int]) -> Examples:
        """Return the examples at these places, which count from 0."""
        texts, labels, pairs = ([part[place] for place in places] if part else [] for part in self._parts)
        return Examples(texts, labels, pairs, rows=[self.row(place) for place in places])

    def parted(self, share: float, seed: int) -> tuple[Examples, Examples]:
        """Split the examples into those without a random ``share`` and the share itself, which is at least one row."""
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(seed)).tolist()
        count = max(1, round(share * len(self)))
        return self.take(sorted(order[count:])), self.take(sorted(order[:count]))

    def read_as(self, names: Sequence[str], like: Examples | None = None) -> Classes:
        """Return the reader of these labels as classes ``names``; the labels of ``like`` share its column."""
        column = {label_of(label) for examples in (self, like) if examples for label in examples.labels}
        return Classes(names, {}, lambda: column)

    def classes(self, names: Sequence[str], like: Examples | None = None) -> Tensor:
        """Return the class indices, int64 [n], of the labels among ``names``.

        The labels are read as :meth:`read_as` does, where ``like`` are the examples that these are used with.
        Raises DataError for no or empty texts, for unknown labels, and where only one of both has pairs.
        """
        if not self.texts or len(self.texts) != len(self.labels):
            raise DataError(f"{len(self.texts)} texts with {len(self.labels)} labels.", "Give every text one label.")
        if self.pairs and len(self.pairs) != len(self.texts):
            raise DataError(f"{len(self.texts)} texts with {len(self.pairs)} second texts.", "Give every text one.")
        if like and bool(like.pairs) != bool(self.pairs):
            raise DataError(
                "Pairs of texts and single texts are mixed: a file of the two has no second texts.",
                "Give a second text (text_b) in all files, or in none.",
            )
        known = self.read_as(names, like)
        indices = []
        for place, (text, label) in enumerate(zip(self.texts, self.labels, strict=True)):
            if not text.strip():
                raise DataError(f"The text of row {self.row(place)} is empty.", "Remove it.")
            name = known.find(label)
            if name is None:
                raise DataError(
                    f"Row {self.row(place)} has the unknown label {label!r}.", f"Known: {', '.join(names)}."
                )
            indices.append(names.index(name))
        return torch.tensor(indices)

    @property
    def _parts(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        return self.texts, self.labels, self.pairs


def read_examples(
    source: str,
    label_names: Sequence[str] = (),
    *,
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    reader: Reader = ANYBODY,
) -> Examples:
    """Read all rows of a data set (see :func:`explainlab.data.read_dataset`); labels are names, or as the file writes
    them.

    Raises DataError for a file that cannot be read and a row without a label.
    """
    data = read_dataset(source, label_names or None, columns=columns, classes=classes, reader=reader)
    rows = data.rows
    missing = next((row.number for row in rows if row.label is None), None)
    if missing is not None:
        raise DataError(f"Row {missing} of {source} has no label.", "Give every row a label to learn.")
    pairs = [row.text_pair for row in rows if row.text_pair is not None]
    numbers = [row.number for row in rows]
    return Examples(
        [row.text for row in rows], [str(row.label) for row in rows], pairs, len(data.skipped), numbers, data.notes
    )
