"""A command that writes all words that users see to one file, one sentence a line, for reviewers of a change.

    .venv/bin/python -m tests.words

The words come from the literals of the product's Python files and scripts, from the text of its HTML templates, and
from the help of its commands.
``{…}`` stands for a value. ``tests/test_words.py`` says whether the file is up to date.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from docs.generate import every_command
from explainlab.settings import ASSETS, ROOT

FILE = ROOT / "tests" / "words.txt"
VALUE = "{…}"
UNSEEN_FOLDERS = ("explainlab/testing",)
"""Folders for developers."""

_LOGGERS, _SILENT_MODULES = {"log", "logger", "logging"}, {"re", "regex"}
_INLINE = {"a", "abbr", "b", "code", "em", "i", "q", "small", "span", "strong", "sub", "sup"}
_SHOWN_ATTRIBUTES = {"alt", "aria-label", "placeholder", "title"}

_WORD = re.compile(r"[^\W\d_]{2,}")
_TWO_WORDS = re.compile(r"[^\W\d_]{2,}[^\w\s]*\s+(?:\S+\s+)*?[^\w\s]*[^\W\d_]{2,}")
_CODE = re.compile(
    r"^(?:SELECT|INSERT|PRAGMA|BEGIN|CREATE) "  # SQL
    r"|[{;]\s*$|prefers-|gradient\(|\{\s*[\w-]+: |var\(--|sans-serif|monospace|^'?\w+-src "  # styles
    r"|^<|<[a-z!]+\s[^>]*="  # HTML
)
_TAG_IN_CHART = re.compile(r"<extra>.*?(?:</extra>|$)|<br>")
_END_OF_SENTENCE = re.compile(r"(?<!\bal)([.!?][”\")*]*)\s+(?=[A-Z“\"(*\[`{])")
_SCRIPT_VALUE = re.compile(r"\$\{(?:[^{}`]|`[^`]*`|\{[^}]*\})*\}")
_SCRIPT_LITERAL = re.compile(rf'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\$]|\\.|{_SCRIPT_VALUE.pattern}|\$)*)`')


def words() -> list[str]:
    """Return every sentence and label that users see, sorted."""
    product = [*(ROOT / "explainlab").rglob("*"), *(ROOT / "pages").rglob("*"), *ASSETS.rglob("*"), ROOT / "app.py"]
    seen = [path for path in product if not path.relative_to(ROOT).as_posix().startswith(UNSEEN_FOLDERS)]
    texts = [text for path in seen for text in _texts(path)]
    texts += [command.callback.__doc__ or "" for command in every_command().values()]
    shown = [text for text in texts if _TWO_WORDS.search(text) and not _CODE.search(text)]
    found = {sentence for text in shown for sentence in sentences(text)}
    return sorted(found, key=lambda sentence: (sentence.casefold(), sentence))


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of ``text``, each as one line."""
    for sentence in _END_OF_SENTENCE.sub(r"\1\n", _TAG_IN_CHART.sub("\n", text)).splitlines():
        if _WORD.search(sentence):
            yield " ".join(sentence.split())


def _texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file that may be words for users."""
    if path.suffix == ".py":
        yield from python_texts(path.read_text("utf-8"))
    elif path.suffix == ".js":
        yield from script_texts(path.read_text("utf-8"))
    elif path.suffix == ".j2":
        yield from template_texts(path.read_text("utf-8"))


def python_texts(source: str) -> Iterator[str]:
    """Yield the literals of a Python file without docstrings, log lines, patterns and assertions."""
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if (text := _literal(node)) is not None:
            yield text
            pending += [part.value for part in ast.walk(node) if isinstance(part, ast.FormattedValue)]
        elif not _is_unseen(node):
            pending += ast.iter_child_nodes(node)


def _literal(node: ast.AST) -> str | None:
    """Return the text of a literal, or None for any other expression."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(VALUE if (text := _literal(part)) is None else text for part in parts)
    return None


def _is_unseen(node: ast.AST) -> bool:
    """Say whether users see no literal below ``node``."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Assert() | ast.Call(func=ast.Attribute(ast.Constant(), "split")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module))):
            return module in _LOGGERS | _SILENT_MODULES
        case ast.Call(func=ast.Name(id=function)):
            return function == "cast"
    return False


def script_texts(source: str) -> Iterator[str]:
    """Yield the literals of a JavaScript file without names of classes."""
    source = re.sub(r"/\*.*?\*/|^\s*//.*?$", "", source, flags=re.DOTALL | re.MULTILINE)
    source = re.sub(r'\belement\("\w+", (\w+ \? "[^"]*" : )?"[^"]*"', "", source)
    for double, template in _SCRIPT_LITERAL.findall(source):
        yield double or _SCRIPT_VALUE.sub(VALUE, template)
        for value in _SCRIPT_VALUE.findall(template):
            yield from script_texts(value[2:-1])


def template_texts(source: str) -> list[str]:
    """Return the visible text of a Jinja template, a block a line."""
    source = re.sub(r"\{#.*?#\}", "", source, flags=re.DOTALL)
    source = re.sub(r"\{%.*?%\}", "\n", source, flags=re.DOTALL)
    source = re.sub(r"\{\{.*?\}\}", VALUE, source, flags=re.DOTALL)
    visible = _Visible()
    visible.feed(source)
    visible.close()
    return visible.text.splitlines()


class _Visible(HTMLParser):
    """The text that a browser shows of an HTML page, a block a line."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in _SHOWN_ATTRIBUTES:
                self.text = f"{value}\n{self.text}"
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self.text += "\n"

    def handle_data(self, data: str) -> None:
        if self.cdata_elem is None:
            self.text += data


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in words()), encoding="utf-8")
