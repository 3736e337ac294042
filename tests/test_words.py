"""The file of all words that users see is up to date."""

from __future__ import annotations

from difflib import unified_diff

from tests.words import FILE, python_texts, script_texts, sentences, template_texts, words


def test_the_file_has_all_words_that_users_see() -> None:
    change = list(unified_diff(FILE.read_text("utf-8").splitlines(), words(), lineterm="", n=0))[2:]
    assert not change, "Run .venv/bin/python -m tests.words"


def test_literals_are_words_and_docstrings_and_logs_are_not() -> None:
    source = (
        '"""A docstring."""\nlog.info("a log line")\nre.compile("a pattern")\nassert x, "an assertion"\n'
        "raise TextError(f\"Row {row:.3f} is {'very ' if x else ''}empty. \" \"Fill it.\")\n"
    )
    assert set(python_texts(source)) == {"Row {…} is {…}empty. Fill it.", "very ", ""}
    assert list(script_texts('// a "comment"\nsay("so it is", `${n} of ${all ? `all ${m}` : "a"}`);')) == [
        "so it is",
        "{…} of {…}",
        "all {…}",
        "a",
    ]
    template = '{# a note #}<p title="a title">Move <b>the</b> {{ part }}.</p><script>let x = 1</script>'
    assert [text for text in template_texts(template) if text] == ["a title", "Move the {…}."]


def test_a_sentence_is_a_line() -> None:
    text = "One is e.g. a word. **Two!** Hooker et al. 2019 and Doe et al. (2020) are third.\nA line"
    assert list(sentences(text)) == [
        "One is e.g. a word.",
        "**Two!**",
        "Hooker et al. 2019 and Doe et al. (2020) are third.",
        "A line",
    ]
