"""The embedded example sets: small labelled files that come with ExplainLab and need no download."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from explainlab.errors import DataError
from explainlab.settings import ASSETS

PREFIX = "embedded:"


@dataclass(frozen=True)
class ExampleSet:
    """An embedded example set: its id, a title to show, its file and the label names in that file."""

    id: str
    title: str
    path: Path
    labels: tuple[str, ...]


EXAMPLES: dict[str, ExampleSet] = {
    examples.id: examples
    for examples in (
        ExampleSet(
            PREFIX + "sentiment",
            "Opinions on films, books, meals, music and gadgets",
            ASSETS / "examples" / "sentiment.csv",
            ("negative", "positive"),
        ),
        ExampleSet(
            PREFIX + "news",
            "Short news items on four topics",
            ASSETS / "examples" / "news.csv",
            ("World", "Sports", "Business", "Sci/Tech"),
        ),
    )
}

TO_LEARN: dict[str, ExampleSet] = {
    examples.id: examples
    for examples in (
        ExampleSet(
            PREFIX + "meals",
            "Reviews of meals, made of patterns, to train small models on",
            ASSETS / "examples" / "meals.csv",
            ("negative", "positive"),
        ),
        ExampleSet(
            PREFIX + "meals-test",
            "More reviews of meals, to test these models on",
            ASSETS / "examples" / "meals-test.csv",
            ("negative", "positive"),
        ),
        ExampleSet(
            PREFIX + "today",
            "Sentences about meals of which one word tells a little, to show how masks leak the class",
            ASSETS / "examples" / "today.csv",
            ("negative", "positive"),
        ),
        ExampleSet(
            PREFIX + "today-test",
            "More such sentences, to test models on",
            ASSETS / "examples" / "today-test.csv",
            ("negative", "positive"),
        ),
    )
}
"""Sets from which small models learn in seconds; the texts to explain are in :data:`EXAMPLES`."""


def embedded_examples(example_id: str) -> ExampleSet:
    """Return the example set with this id (``embedded:...``).

    Raises :class:`DataError`, naming the nearest ids, if there is none.
    """
    every = EXAMPLES | TO_LEARN
    if example_id in every:
        return every[example_id]
    names = [known.removeprefix(PREFIX) for known in every]
    near = get_close_matches(example_id.removeprefix(PREFIX), names) or names
    raise DataError(f"There is no example set {example_id!r}.", f"Did you mean {PREFIX}{f' or {PREFIX}'.join(near)}?")


def examples_for(labels: Sequence[str]) -> ExampleSet | None:
    """Return the example set with exactly these class names, in any order and case; None if no set fits."""
    wanted = sorted(label.casefold() for label in labels)
    fitting = (s for s in EXAMPLES.values() if sorted(label.casefold() for label in s.labels) == wanted)
    return next(fitting, None)
