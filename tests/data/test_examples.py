"""The embedded examples: complete, balanced, readable, and varied enough to be worth explaining."""

from __future__ import annotations

import csv
import re
from collections import Counter

import pytest

from explainlab.data import EXAMPLES, embedded_examples, examples_for, read_dataset
from explainlab.errors import DataError

LEAST_ROWS = {"embedded:sentiment": 240, "embedded:news": 160}
WORDS = {"embedded:sentiment": (2, 65), "embedded:news": (10, 80)}
NOTES = {
    "embedded:sentiment": {
        "plain", "short", "long", "negation", "double negation", "contrast", "irony", "misleading words", "implicit",
        "idiom", "comparison", "names", "numbers", "typos", "quotes", "emoji", "accents", "ampersand",
    },
    "embedded:news": {
        "plain", "short", "long", "negation", "contrast", "ambiguous", "names", "numbers", "typos", "quotes", "accents",
        "ampersand",
    },
}  # fmt: skip


@pytest.fixture(params=list(EXAMPLES))
def examples(request):
    """Every embedded example set in turn."""
    return EXAMPLES[request.param]


def notes(examples) -> list[str]:
    """The column ``note`` of a set, which the reader ignores."""
    with examples.path.open(encoding="utf-8", newline="") as file:
        return [record["note"] for record in csv.DictReader(file)]


def test_set_is_large_and_balanced(examples):
    rows = read_dataset(examples.id, examples.labels).rows
    counts = Counter(row.label for row in rows)
    assert len(rows) >= LEAST_ROWS[examples.id]
    assert set(counts) == set(examples.labels)
    assert len(set(counts.values())) == 1


def test_any_beginning_is_balanced(examples):
    n = len(examples.labels)
    labels = [row.label for row in read_dataset(examples.id, examples.labels, limit=10 * n).rows]
    assert set(Counter(labels).values()) == {10}


def test_texts_are_distinct_clean_and_of_many_lengths(examples):
    texts = [row.text for row in read_dataset(examples.id, examples.labels).rows]
    assert len({re.sub(r"\W+", " ", text).casefold() for text in texts}) == len(texts)
    assert all(text == text.strip() and "  " not in text and text.isprintable() for text in texts)
    lengths = [len(text.split()) for text in texts]
    shortest, longest = WORDS[examples.id]
    assert min(lengths) >= shortest
    assert longest * 0.9 <= max(lengths) <= longest


def test_notes_cover_the_phenomena(examples):
    counts = Counter(notes(examples))
    assert set(counts) == NOTES[examples.id]
    assert sum(counts.values()) == len(read_dataset(examples.id).rows)


def test_card_tells_the_counts(examples):
    card = (examples.path.parent / "README.md").read_text(encoding="utf-8")
    section = card.split(f"## {examples.path.name}")[1].split("\n## ")[0]
    told = {name: int(count) for name, count in re.findall(r"^\| ([\w /-]+?) \| (\d+) \|", section, re.MULTILINE)}
    assert told == Counter(notes(examples)) | Counter(row.label for row in read_dataset(examples.id).rows)


def test_unknown_id_names_the_nearest():
    with pytest.raises(DataError, match=r"Did you mean embedded:sentiment\?"):
        embedded_examples("embedded:sentimnt")
    with pytest.raises(DataError, match="embedded:sentiment or embedded:news"):
        read_dataset("embedded:???????????")


def test_examples_for_matches_class_names_in_any_order_and_case(examples):
    assert examples_for(examples.labels) is examples
    assert examples_for([label.upper() for label in reversed(examples.labels)]) is examples


@pytest.mark.parametrize("labels", [(), ("positive",), ("negative", "neutral", "positive"), ("LABEL_0", "LABEL_1")])
def test_examples_for_other_class_names_is_none(labels):
    assert examples_for(labels) is None
