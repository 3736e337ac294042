"""Prompt templates, with which a language model classifies by what it would say next: checked, listed, read, saved."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo, field_validator

from explainlab.declared import lookup
from explainlab.errors import RequestError
from explainlab.files import write_file
from explainlab.limits import MAX_CONFIGURATION_MB
from explainlab.request import checked, digest
from explainlab.settings import ASSETS, settings
from explainlab.text.prompt import Prompt, pieces_of

PRESETS = ASSETS / "templates"
_SECOND = "{text_pair}"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_OWNER = re.compile(r"[0-9a-f]{16}")


def _named(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"A template cannot be called {name[:80]!r}.",
            "Use up to 64 small letters, digits, '-' and '_', the first of them a letter or a digit.",
        )
    return name


class Record(BaseModel):
    """A frozen record without fields of other names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Example(Record):
    """A text (or a pair) that the prompt shows with its label."""

    text: str
    text_pair: str | None = None
    label: str


class Template(Record):
    """The prompt around a text for a language model, and the words that name its classes.

    The prompt is the ``instruction``, then each of the ``examples`` in the form ``text``, followed by its label's word
    and the ``separator``, then the text to classify in the form ``text``. The form has the places ``{text}`` and, for a
    second text, ``{text_pair}``. ``labels`` gives each class its word as it follows the prompt, with any leading blank.
    Raises :class:`RequestError` for a form without its place, or with nothing after it, for fewer than two labels, a
    label without a word, a word of two labels, and an example of no label.
    """

    name: Annotated[str, AfterValidator(_named)]
    instruction: str = ""
    text: str
    separator: str = "\n\n"
    labels: dict[str, str]
    examples: tuple[Example, ...] = ()

    @field_validator("text")
    @classmethod
    def _places(cls, text: str) -> str:
        for place, needed in (("{text}", True), (_SECOND, False)):
            if text.count(place) > 1 or (needed and place not in text):
                times = f"{text.count(place)} places" if place in text else "no place"
                raise RequestError(f"The template has {times} for the text.", f"Write {place} once, where it belongs.")
        if not str(pieces_of(text, _SECOND)[-1]).strip():
            raise RequestError(
                "The template ends with the text, so nothing asks for an answer.",
                "Put something after it, for example a line with 'Label:'.",
            )
        return text

    @field_validator("labels")
    @classmethod
    def _words(cls, labels: dict[str, str]) -> dict[str, str]:
        if len(labels) < 2:
            raise RequestError(f"The template has {len(labels)} labels.", "Give two or more, each with its word.")
        for label, word in labels.items():
            if not label.strip() or not word.strip():
                raise RequestError(f"The label {label!r} has the word {word!r}.", "Give every label a name and a word.")
        if len(set(labels.values())) < len(labels):
            raise RequestError("Two labels have the same word.", "Give every label a word of its own.")
        return labels

    @field_validator("examples")
    @classmethod
    def _known(cls, examples: tuple[Example, ...], info: ValidationInfo) -> tuple[Example, ...]:
        labels, paired = info.data.get("labels", {}), _SECOND in info.data.get("text", "")
        for number, example in enumerate(examples, start=1):
            if example.label not in labels:
                raise RequestError(
                    f"Example {number} has the label {example.label!r}.", f"The labels are {', '.join(labels)}."
                )
            if (example.text_pair is not None) != paired:
                lacks = "has no second text" if paired else "has a second text"
                raise RequestError(f"Example {number} {lacks}.", "Give one exactly where the template has {text_pair}.")
        return examples

    @property
    def prompt(self) -> Prompt:
        """What stands around a text to classify. Nothing in an example is read as a place."""
        pieces = pieces_of(self.text, _SECOND)
        shown = self.instruction
        for example in self.examples:
            texts = [example.text, example.text_pair or ""]
            shown += Prompt(pieces).rendered(texts)[0] + self.labels[example.label] + self.separator
        return Prompt((f"{shown}{pieces[0]}", *pieces[1:]))

    @property
    def digest(self) -> str:
        """What identifies the content, whatever its name: 64 hexadecimal digits. The order of the labels counts."""
        body = self.model_dump(mode="json", exclude={"name"})
        return digest({**body, "labels": list(self.labels.items())})


def template_id(name: str, owner: str = "") -> str:
    """What names a template in the id of a model: ``NAME``, or ``NAME@OWNER`` where it belongs to a user."""
    return f"{name}@{owner}" if owner else name


def template_parts(template_id: str) -> tuple[str, str]:
    """The inverse of :func:`template_id`."""
    name, _, owner = template_id.partition("@")
    return name, owner


def template_ids(owner: str = "") -> list[str]:
    """The ids of the templates that belong to ``owner``; without one those of everybody, the project's own first."""
    return [template_id(name, owner) for name in (*({} if owner else _files(PRESETS)), *_files(template_folder(owner)))]


def template_folder(owner: str = "") -> Path:
    """Where the templates of ``owner`` (16 hexadecimal digits) are saved; without one, those of everybody."""
    folder = settings().home / "templates"
    return folder / owner if _OWNER.fullmatch(owner) else folder


def read_template(template_id: str) -> Template:
    """The template of this id; raises :class:`RequestError` if there is none or its file is damaged.

    Whose it is decides nothing here: see :mod:`explainlab.service.templates`.
    """
    name, owner = template_parts(template_id)
    own = _files(template_folder(owner)).get(name) if _OWNER.fullmatch(owner) else None
    path = own or lookup("template", template_id, {**_files(template_folder()), **_files(PRESETS)})
    try:
        with path.open("rb") as file:
            fields = json.loads(file.read(MAX_CONFIGURATION_MB * 2**20))
    except (OSError, ValueError, RecursionError) as error:
        raise RequestError(f"The template '{name}' cannot be read: {error}", "Save it again.") from error
    if not isinstance(fields, dict):
        raise RequestError(f"The template '{name}' is not a JSON object.", "Save it again.")
    return checked(Template, **{**fields, "name": name})


def save_template(template: Template, owner: str = "") -> Path:
    """Save ``template`` in the folder of ``owner``, replacing any of its name; returns its file.

    Raises :class:`RequestError` for the name of a template that comes with the project and, on a shared instance, of
    any existing template of everybody: requests name it.
    """
    if template.name in _files(PRESETS):
        raise RequestError(f"'{template.name}' comes with ExplainLab and stays as it is.", "Choose another name.")
    path = template_folder(owner) / f"{template.name}.json"
    everybodys = settings().hosted and not owner
    if everybodys and path.exists() and read_template(template.name).digest != template.digest:
        raise RequestError(f"There is another template '{template.name}' here.", "Choose another name.")
    write_file(path, template.model_dump_json(indent=2).encode())
    return path


def _files(folder: Path) -> dict[str, Path]:
    """The templates of a folder by name; a file of another name is none."""
    return {path.stem: path for path in sorted(folder.glob("*.json")) if _NAME.fullmatch(path.stem) and path.is_file()}
