"""Markdown that shows a user's words exactly as they are: a CommonMark parser finds nothing but text in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from explainlab.app.text import plain

NASTY = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "a film<br /><br />with breaks",
    "&amp; &lt;b&gt; &#60; &nbsp;",
    "[a link](https://example.com) ![an image](x.png) <https://example.com>",
    "https://example.com/a_b_c www.example.com ann@example.com",
    "**bold** _italic_ `code` ~~gone~~ ***both***",
    "# no heading",
    "> no quote",
    "- no list",
    "1. no list",
    "1) no list",
    "+ no list",
    "| a | b |",
    "---",
    "===",
    "```python",
    "    no code block",
    "\tno code block",
    "back\\slash \\* \\\\ and a trailing one\\",
    "$x^2$ $$y$$ costs $5 and $6",
    ":material/delete: :red[x] :blue-background[x] :smile: :streamlit: :small[x]",
    "[^1] [x]: https://example.com",
    "right\u202eto\u202cleft مرحبا 🎬 👩‍👩‍👧",
    "[CLS] ##ing </s> <|endoftext|> <extra_id_0>",
    "line\nbreak\r\nand\u2028another\x0bone\x00",
    "",
]

_parser = MarkdownIt("gfm-like", {"linkify": False}).enable("table")
"""CommonMark with GitHub's tables and strikethrough; raw HTML on, so that any that comes through is seen as such."""


JOINER = "\u2060"
"""Shows nothing; it may keep characters apart that Streamlit would read as one."""


def visible(markdown: str) -> str:
    """Return the visible text of ``markdown``; fail if it has anything but text."""
    shown = ""
    for block in _parser.parse(markdown):
        assert block.type in ("paragraph_open", "inline", "paragraph_close"), block.type
        for token in block.children or []:
            assert token.type in ("text", "text_special"), token.type
            shown += token.content
    return shown.replace(JOINER, "")


def expected(text: str) -> str:
    """The same text with every control character and line break as a blank."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text).replace(JOINER, "")


@pytest.mark.parametrize("text", NASTY)
def test_nothing_but_the_very_characters_is_shown(text: str) -> None:
    assert visible(plain(text).strip()) == expected(text).strip(), "Streamlit strips what it is given"
    assert visible(f"The class {plain(text)} is explained.") == f"The class {expected(text)} is explained."


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_at_all(text: str) -> None:
    assert visible(plain(f"x{text}x")) == expected(f"x{text}x")


STREAMLITS = {
    "arrow or dash": r"(^|\s)(<->|->|<-|--|>=|<=|~=)(\s|$)",
    "icon or emoji": r":(material[_/])?[\w+-]+:",
    "web address": r"https?://[-.\w]|www\.[-.\w]",
    "mail address": r"[-.\w+]+@[-\w]+\.",
}
"""The patterns that Streamlit's page replaces in the text after Markdown and its escapes."""


@pytest.mark.parametrize("reading", STREAMLITS)
@pytest.mark.parametrize(
    "text",
    ["a -> b <- c <-> d -- e", "x >= 1 and y <= 2 or z ~= 3", "-> -- ->", ":streamlit: :material_home: :+1: :a_b:",
     "http://a.b HTTPS://a.b www.a.b WWW.a.b", "ann@a.b ann+x.y@a-b.c_d"],
)  # fmt: skip
def test_streamlit_reads_nothing_in_what_is_left(text: str, reading: str) -> None:
    left = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", plain(text))
    assert left.replace(JOINER, "") == text
    assert not re.search(STREAMLITS[reading], left, re.IGNORECASE)


@given(st.text(st.sampled_from("$:[]()*_`#<>&\\/|~!-+=. \n1ax{}\"'@^")))
def test_any_mixture_of_what_markdown_reads(text: str) -> None:
    assert visible(plain(f"x{text}x")) == expected(f"x{text}x")


@given(st.text(st.sampled_from("$:[]\\ax/ ")))
def test_no_formula_directive_or_icon_of_streamlit_begins(text: str) -> None:
    """Streamlit reads ``$``, ``:name[`` and ``:name:`` beyond CommonMark; a backslash stops each of them."""
    assert not re.search(r"(?<!\\)(\\\\)*[$:\[\]]", plain(text))
