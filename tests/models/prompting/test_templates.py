"""Templates: invalid ones are refused when they are made, and names stay in their folder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from explainlab.errors import RequestError
from explainlab.models.prompting import PRESETS, Template, read_template, save_template, template_ids
from explainlab.settings import settings

FIELDS: dict[str, Any] = {
    "name": "mine",
    "instruction": "Is it good?\n",
    "text": "Text: {text}\nLabel:",
    "labels": {"bad": " N", "good": " P"},
    "examples": [{"text": "a great film", "label": "good"}, {"text": "no {text}, no film", "label": "bad"}],
}


def made(**changes: Any) -> Template:
    return Template(**{**FIELDS, **changes})


def test_the_prompt_is_instruction_examples_and_text() -> None:
    whole, spans = made().prompt.rendered(["{text} {text_pair}"])
    assert whole == (
        "Is it good?\nText: a great film\nLabel: P\n\nText: no {text}, no film\nLabel: N\n\n"
        "Text: {text} {text_pair}\nLabel:"
    )
    assert [whole[slice(*span)] for span in spans] == ["{text} {text_pair}"]


def test_a_pair_stands_where_the_template_says() -> None:
    pairs = [{"text": "one", "text_pair": "two", "label": "bad"}]
    template = made(text="B: {text_pair}\nA: {text}\nSo", examples=pairs, separator="|")
    whole, spans = template.prompt.rendered(["first", "second"])
    assert whole == "Is it good?\nB: two\nA: one\nSo N|B: second\nA: first\nSo"
    assert [whole[slice(*span)] for span in spans] == ["first", "second"]
    assert template.prompt.takes_pair
    assert not made().prompt.takes_pair


@pytest.mark.parametrize(
    ("changes", "pattern"),
    [
        ({"text": "Label:"}, r"no place for the text.*\{text\}"),
        ({"text": "{text} {text}:"}, "2 places for the text"),
        ({"text": "{text_pair}{text}{text_pair}:"}, r"2 places.*\{text_pair\}"),
        ({"text": "{text_pair}:"}, "no place for the text"),
        ({"text": "Label: {text}"}, "ends with the text"),
        ({"text": "Label: {text} \n"}, "ends with the text"),
        ({"labels": {"good": " P"}, "examples": []}, "has 1 labels"),
        ({"labels": {}, "examples": []}, "has 0 labels"),
        ({"labels": {"bad": "", "good": "P"}}, "label 'bad' has the word ''"),
        ({"labels": {"bad": "  ", "good": "P"}}, "label 'bad' has the word"),
        ({"labels": {" ": "N", "good": "P"}, "examples": []}, "has the word 'N'"),
        ({"labels": {"bad": "P", "good": "P"}}, "the same word"),
        ({"examples": [{"text": "a", "label": "fine"}]}, "Example 1 has the label 'fine'.*bad, good"),
        ({"examples": [{"text": "a", "text_pair": "b", "label": "bad"}]}, "Example 1 has a second text"),
        ({"text": "{text} {text_pair} so"}, "Example 1 has no second text"),
        ({"name": "../escape"}, "cannot be called"),
        ({"name": "a/b"}, "cannot be called"),
        ({"name": ""}, "cannot be called"),
        ({"name": "Ä"}, "cannot be called"),
        ({"name": "x" * 65}, "cannot be called"),
    ],
)
def test_what_cannot_be_asked_is_refused(changes: dict[str, Any], pattern: str) -> None:
    with pytest.raises(RequestError, match=pattern) as caught:
        made(**changes)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_saved_templates_come_back(home: Path) -> None:
    presets = template_ids()
    assert save_template(made()) == home / "templates" / "mine.json"
    assert template_ids() == [*presets, "mine"]
    assert read_template("mine") == made()
    save_template(made(instruction="New."))
    assert read_template("mine").instruction == "New."
    assert [path.name for path in (home / "templates").iterdir()] == ["mine.json"]


def test_of_many_who_save_one_name_one_wins(home: Path) -> None:
    """Each writes a file of its own: none reads or replaces the half of another's."""
    versions = [made(instruction=str(number) * 100_000) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            saved = set(pool.map(save_template, versions))
            assert read_template(versions[0].name) in versions
    assert set((home / "templates").iterdir()) == saved


def test_presets_are_not_replaced(home: Path) -> None:
    with pytest.raises(RequestError, match="'sst2' comes with ExplainLab"):
        save_template(made(name="sst2"))
    (home / "templates").mkdir()
    (home / "templates" / "sst2.json").write_text("{}")
    assert read_template("sst2").labels == {"negative": " N", "positive": " P"}


def test_where_others_ask_with_a_template_nobody_changes_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "auth", "oidc")
    save_template(made())
    save_template(made())
    with pytest.raises(RequestError, match="another template 'mine' here"):
        save_template(made(instruction="New."))
    assert read_template("mine") == made()


@pytest.mark.parametrize("name", ["nothing", "../mine", "templates/../sst2", "", ".", "sst2.json"])
def test_unknown_names_are_refused(home: Path, name: str) -> None:
    (home / "mine.json").write_text("{}")
    with pytest.raises(RequestError, match="There is no template"):
        read_template(name)


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        ("{", "cannot be read"),
        ("[]", "not a JSON object"),
        ("{}", "text"),
        ('{"text": 7, "labels": 3}', "text = 7 is not accepted"),
    ],
)
def test_damaged_files_are_told(home: Path, content: str, pattern: str) -> None:
    (home / "templates").mkdir()
    (home / "templates" / "mine.json").write_text(content)
    assert "mine" in template_ids()
    with pytest.raises(RequestError, match=pattern):
        read_template("mine")


@pytest.mark.parametrize(
    "changes",
    [
        {"instruction": "Is it bad?\n"},
        {"text": "Text: {text}\nlabel:"},
        {"separator": "\n"},
        {"labels": {"bad": "N", "good": " P"}},
        {"labels": {"good": " P", "bad": " N"}},
        {"examples": []},
    ],
)
def test_the_digest_knows_all_but_the_name(changes: dict[str, Any]) -> None:
    assert made(name="other").digest == made().digest
    assert made(**changes).digest != made().digest


def test_the_presets_answer_with_the_letters_they_announce() -> None:
    """The paper shows one negative example with the letter 0, and its code fear with 4 and surprise with fear's E."""
    names = sorted(path.stem for path in PRESETS.glob("*.json"))
    assert names == ["emotion", "rotten_tomatoes", "sst2"]
    for template in map(read_template, names):
        for label, word in template.labels.items():
            announced = f"{word} if" in template.instruction or f"{word} for {label}" in template.instruction
            assert announced, (template.name, label)
            assert template.prompt.rendered(["?"])[0].endswith("Text: ?\nLabel:")
    assert list(read_template("emotion").labels.values()) == [f" {letter}" for letter in "ABCDEF"]
    shown = {name: [example.label for example in read_template(name).examples] for name in names}
    assert shown["sst2"] == ["negative", "positive", "positive", "negative"]
    assert shown["rotten_tomatoes"] == ["negative", "positive", "negative", "positive", "positive", "negative"]
