"""The prompt editor's fields and rows: a template survives the round trip, and an impossible one gives an error."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explainlab.app.template_editor import (
    LABEL,
    PAIR,
    TEXT,
    WORD,
    example_rows,
    keep,
    label_rows,
    read_back,
    spelled_out,
    template,
)
from explainlab.errors import RequestError
from explainlab.models.prompting import Template, read_template, template_ids
from explainlab.service.users import LOCAL

MINE = Template(
    name="mine",
    instruction="Is it good?\n",
    text="Text: {text}\nLabel:",
    labels={"bad": " N", "good": " P"},
    examples=[{"text": "no film", "label": "bad"}],
)
PAIRED = Template(
    name="pairs",
    text="{text} and {text_pair}:",
    labels={"same": "S", "other": "O"},
    examples=[{"text": "a", "text_pair": "b", "label": "other"}],
)


def made(start: Template = MINE, **changes) -> Template:
    fields = {name: getattr(start, name) for name in ("name", "instruction", "text", "separator")}
    rows = {"labels": label_rows(start), "examples": example_rows(start)}
    return template(**{**fields, **rows, **changes})


@pytest.mark.parametrize("start", [MINE, PAIRED, *map(read_template, ("sst2", "emotion", "rotten_tomatoes"))])
def test_fields_and_rows_are_the_template_again(start: Template) -> None:
    assert made(start) == start


def test_rows_that_an_editor_adds() -> None:
    labels = pd.concat([label_rows(MINE), pd.DataFrame([{LABEL: "fair", WORD: " F"}, {LABEL: None, WORD: None}])])
    added = [{TEXT: "so so", LABEL: "fair"}, {TEXT: None, PAIR: None, LABEL: " "}]
    examples = pd.concat([example_rows(MINE), pd.DataFrame(added)])
    edited = made(name=" mine ", labels=labels, examples=examples)
    assert edited.name == "mine"
    assert list(edited.labels.items()) == [("bad", " N"), ("good", " P"), ("fair", " F")]
    assert [(example.text, example.text_pair, example.label) for example in edited.examples] == [
        ("no film", None, "bad"),
        ("so so", None, "fair"),
    ]


def test_second_texts_come_and_go_with_their_place() -> None:
    assert made(PAIRED, text="{text}:").examples[0].text_pair is None
    assert made(text="{text} {text_pair}:").examples[0].text_pair == ""


@pytest.mark.parametrize(
    ("changes", "pattern"),
    [
        ({"labels": pd.DataFrame({LABEL: ["a", "b", "a"], WORD: ["1", "2", "3"]})}, "Two rows have the label 'a'"),
        ({"labels": pd.DataFrame({LABEL: ["a", "b"], WORD: ["1", None]})}, "label 'b' has the word ''"),
        ({"labels": label_rows(MINE)[:0]}, "has 0 labels"),
        ({"examples": pd.DataFrame({TEXT: ["x"], PAIR: [None], LABEL: [None]})}, "Example 1 has the label ''"),
        ({"text": "no place"}, "no place for the text"),
        ({"name": "Mine!"}, "cannot be called"),
    ],
)
def test_what_is_no_template_is_told(changes: dict, pattern: str) -> None:
    with pytest.raises(RequestError, match=pattern) as caught:
        made(**changes)
    assert caught.value.remedy


@given(st.text())
def test_a_separator_on_one_line_is_read_back(text: str) -> None:
    assert "\n" not in spelled_out(text)
    assert read_back(spelled_out(text)) == text


def test_a_separator_as_people_write_it() -> None:
    assert spelled_out("\n\n") == r"\n\n"
    assert read_back(r"###\n") == "###\n"
    assert read_back(r"\t") == r"\t"


def test_what_is_kept_and_under_which_name(home: Path) -> None:
    preset, others = read_template("sst2"), template_ids()
    keep(preset, preset, "sst2", LOCAL)
    assert template_ids() == others
    with pytest.raises(RequestError, match="'sst2' comes with ExplainLab"):
        keep(preset.model_copy(update={"separator": "\n"}), preset, "sst2", LOCAL)
    keep(MINE, preset, "sst2", LOCAL)
    assert read_template("mine") == MINE
    changed = MINE.model_copy(update={"instruction": "New."})
    with pytest.raises(RequestError, match="There is a template 'mine' already"):
        keep(changed, preset, "sst2", LOCAL)
    assert read_template("mine") == MINE
    keep(changed, MINE, "mine", LOCAL)
    assert read_template("mine") == changed
