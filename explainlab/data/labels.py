"""The labels of a data set: one rule maps a whole column of them to the classes of a model."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from itertools import islice, pairwise
from reprlib import repr as quote
from typing import Any

from explainlab.errors import DataError

NO_CLASS = "is not a class of the model"
"""The reason why a row cannot be used if its label names none of the classes."""
LEFT_OUT = ""
"""The class that means: leave rows with this label out."""
LONGEST_LABEL = 200
"""Characters of a label, or of a name, that are compared."""
_MOST_MATCHED = 30
"""Most labels that are matched with the nearest classes."""
_LISTED = 5
"""Most numbers in a message."""
_NUMBER = re.compile(r"[+-]?\d{1,9}(\.\d{1,9})?(e[+-]?\d{1,2})?", re.ASCII)
_UNNAMED = re.compile(r"label_(\d{1,9})", re.ASCII)
_TRUTH = {"false": 0, "true": 1}
"""The index, of two classes, of a truth value."""


class LeftOut(DataError):
    """A row that is left out for its label, by the reader's or the annotator's wish."""


class Unclear(DataError):
    """A row with a number as its label, in a column of unmatched numbers without a clear meaning."""


class Classes:
    """The classes ``names`` of a model, for the labels of one column; without names, labels stay as written.

    ``meant`` translates labels; those that mean :data:`LEFT_OUT` are in ``left_out``. Every other label is the class
    with exactly its name, else the only class whose name differs in nothing but case, blanks, the quotation marks of
    JSON, or the spelling of a number.

    All numbers of a column are read alike; ``column`` returns its different labels, and is called at the first number.
    Either all numbers are names, or all are indexes from 0: each is below the number of classes, no class is named by a
    number, and 0 is among them, as several could count from 1 without it. ``LABEL_1`` is the number 1; if all labels
    have this form, they count from 0. Numbers in ``meant`` count too, unless they are left out.

    Raises :class:`DataError` if ``meant`` maps a label to something that is not a class.
    """

    def __init__(
        self, names: Sequence[str] | None, meant: Mapping[str, str], column: Callable[[], Collection[str]]
    ) -> None:
        self.names = None if names is None else list(names)
        self._column = column
        forms = [_form(name) for name in self.names or ()]
        counts = Counter(forms)
        self._by_form = {form: name for form, name in zip(forms, self.names or (), strict=True) if counts[form] == 1}
        self._by_name = {name: name for name in self.names or ()}
        self.left_out = {label_of(written) for written, name in meant.items() if name == LEFT_OUT}
        self.meant = {label_of(written): self._meant(name) for written, name in meant.items() if name != LEFT_OUT}
        self._found: dict[str, str | None] = {}

    def require_kept(self, written: Any) -> None:
        """Raise :class:`LeftOut` for a cell whose row is left out."""
        label = label_of(written)
        if label in self.left_out:
            raise LeftOut(f"The label {quote(label)} is left out." if label else "Rows without a label are left out.")

    def match(self, written: Any) -> str | None:
        """Return the class of a cell; without classes the cell's text, and None if it is empty.

        Raises :class:`DataError` if there are classes and the cell is none of them: :class:`Unclear` for a number
        whose column has no clear meaning.
        """
        name = self.find(written)
        if name is not None or self.names is None:
            return name
        label = label_of(written)
        if doubt := self.doubt(label):
            raise Unclear(f"The label {quote(label)} {NO_CLASS} for certain: {doubt}.", self._remedy)
        if not label:
            raise DataError("The label is missing.", "Give every row a label; or skip bad rows.")
        raise DataError(f"The label {quote(label)} {NO_CLASS}.", self._remedy)

    def find(self, written: Any) -> str | None:
        """Return the class of a cell as :meth:`match` does, and None in place of its errors."""
        label = label_of(written)
        if self.names is None or label in self.meant:
            return self.meant.get(label, label or None)
        if label not in self._found:
            self._found[label] = self._named(label) if _index(label) is None else self._numbers[0].get(label)
        return self._found[label]

    def doubt(self, label: str) -> str:
        """Return the reason why the class of a number is unclear; empty for other labels, and if one was matched."""
        matched = any(_index(other) is not None for other in self.meant)
        return "" if matched or _index(label) is None else self._numbers[1]

    def is_heading(self, label: str) -> bool:
        """Tell whether ``label`` is likely the name of the column: it alone is neither a class nor a number."""
        with suppress(DataError):  # reading reports the damage later
            strange = [other for other in self._kept if _index(other) is None and self.find(other) is None]
            return strange == [label] != self._kept
        return False

    def _named(self, label: str) -> str | None:
        """Return the class with this name, without regard to the rest of the column."""
        return self._by_name.get(label) or self._by_form.get(_form(label))

    def _meant(self, name: str) -> str:
        """Return the class with this name or else this index; raise :class:`DataError` if there is none."""
        if self.names is None:
            return name
        index = _index(name)
        named = self._named(name)
        if named is None and index is not None and index in range(len(self.names)) and not self._has_numbers:
            named = self.names[int(index)]
        if named is None:
            raise DataError(f"The label {quote(name)} {NO_CLASS}.", self._choices)
        return named

    @property
    def _has_numbers(self) -> bool:
        """Tell if a class is named by a number."""
        return any(_number(name) is not None for name in self.names or ())

    @cached_property
    def _numbers(self) -> tuple[dict[str, str], str]:
        """Read all numbers in the column: their classes; or none, and the reason."""
        names = self.names or []
        values = {label: value for label in self._kept if (value := _index(label)) is not None}
        named = {label: name for label in values if (name := self._named(label)) is not None}
        if len(named) == len(values):
            return named, ""
        listed = ", ".join([*islice(sorted(values, key=values.__getitem__), _LISTED), "..."][: len(values)])
        if any(value not in range(len(names)) for value in values.values()):
            return {}, f"the numbers of the column ({listed}) are neither names nor indexes from 0 to {len(names) - 1}"
        plain = any(_number(label) is not None for label in values)  # transformers counts from 0
        if plain and self._has_numbers:
            return {}, f"the numbers of the column ({listed}) may be names of classes, or indexes from 0"
        if plain and 0 not in values.values() and len(set(values.values())) > 1:
            return {}, f"the numbers of the column ({listed}) may count the classes from 0 or from 1"
        return {label: names[int(value)] for label, value in values.items()}, ""

    @cached_property
    def _kept(self) -> list[str]:
        """List the different labels of the column, but for those left out."""
        return [label for label in self._column() if label and label not in self.left_out]

    @cached_property
    def _remedy(self) -> str:
        """Say how to match the labels of the column with classes."""
        names = self.names or []
        with suppress(DataError):  # reading reports the damage later
            likely = proposed([label for label in self._kept if label in self.meant or self.find(label) is None], names)
            unread = {label: likely.get(label, LEFT_OUT) for label in self._kept if self.find(label) is None}
            if any(unread.values()) and len(unread) <= max(_MOST_MATCHED, len(names)):
                return f"Match the labels with classes, on the command line by {options(unread, names)}"
        return self._choices

    @property
    def _choices(self) -> str:
        """List the classes for a sentence."""
        names = self.names or []
        use = f"Use {' or '.join(names)}, or an index from 0 to {len(names) - 1}"
        return f"{use}; or match the label, on the command line by --label WRITTEN=CLASS; or skip bad rows."


def label_of(cell: Any) -> str:
    """Return a label as the file writes it, with single blanks, also where it is in a list of its own; else empty."""
    if isinstance(cell, list) and len(cell) < 2:
        cell = cell[0] if cell else None
    return "" if cell is None else " ".join(str(cell).split())


def proposed(labels: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """Return the class of ``names`` that each of ``labels`` is likely to mean, for those with a likely one.

    ``labels`` are those of a column without a certain class. Numbers are the classes in their order if there is one
    for each, at equal distances (-1 and 1; 0, 2 and 4), else they count from 1 if they can; else each is a name or an
    index from 0, or is left out. Of two classes, False is the first and True the second. Others, up to 30, are the
    nearest name.
    """
    labels = list(labels)
    truths = {label: names[_TRUTH[_form(label)]] for label in labels if len(names) == 2 and _form(label) in _TRUTH}
    found = {label: _index(label) for label in labels if label not in truths}
    values = {label: value for label, value in found.items() if value is not None}
    places = _places(sorted(set(values.values())), names)
    others = islice((label for label in found if label not in values), _MOST_MATCHED)
    near = {label: name for label in others if (name := nearest(label, names))}
    return near | truths | {label: places.get(value, LEFT_OUT) for label, value in values.items()}


def _places(values: Sequence[float], names: Sequence[str]) -> dict[float, str]:
    """Return the classes that ascending numbers are likely to mean."""
    if len(values) == len(names) and len({after - before for before, after in pairwise(values)}) == 1:
        return dict(zip(values, names, strict=True))
    if all(value in range(1, len(names) + 1) for value in values):
        return {value: names[int(value) - 1] for value in values}
    numbered = {number: name for name in names if (number := _number(name)) is not None}
    indexes = dict[float, str](enumerate(names))
    return indexes if not numbered or (numbered.keys() < {*values, *numbered} and {*values} <= {*indexes}) else numbered


def options(meant: Mapping[str, str], names: Sequence[str]) -> str:
    """Return ``meant``, from labels to classes of ``names``, as options of a command line, quoted for a shell.

    The part after the last equals sign is the class, so a class with this sign goes by its index.
    """
    classes = {name: str(names.index(name)) if "=" in name else name for name in meant.values()}
    return " ".join(f"--label {shlex.quote(f'{label}={classes[name]}')}" for label, name in meant.items())


def nearest(name: str, known: Sequence[str]) -> str | None:
    """Return the name among ``known`` that is most like ``name``, in any case; None if none is, or if it is long."""
    if len(name) > LONGEST_LABEL:
        return None
    folded = {other.casefold(): other for other in reversed(known) if len(other) <= LONGEST_LABEL}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    return folded[near[0]] if near else None


def _bare(name: str) -> str:
    """Return a name in lower case, without blanks and without the quotation marks of JSON."""
    bare = name.strip()
    if bare.startswith('"'):
        with suppress(ValueError):
            text = json.loads(bare)
            bare = text if isinstance(text, str) else bare
    return "".join(bare.split()).casefold()


def _number(name: str) -> float | None:
    """Return the number that a name is, if it is one."""
    bare = _bare(name)
    return float(bare) + 0.0 if _NUMBER.fullmatch(bare) else None  # -0 is 0


def _form(name: str) -> str:
    """Return the form that a name shares with all ways to write it."""
    number = _number(name)
    return _bare(name) if number is None else repr(number)


def _index(label: str) -> float | None:
    """Return the number of a label, also of a name that transformers itself gives to a class, as LABEL_1."""
    unnamed = _UNNAMED.fullmatch(_bare(label))
    return float(unnamed[1]) if unnamed else _number(label)
