"""Prompts of language models that classify by their next token: templates, and the scores of their label words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import transformers
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo, field_validator
from torch import nn

from explainlab.declared import lookup
from explainlab.errors import ModelError, RequestError
from explainlab.files import write_file
from explainlab.limits import MAX_CONFIGURATION_MB
from explainlab.models.anatomy import SCORE
from explainlab.request import digest, validated
from explainlab.settings import ASSETS, settings
from explainlab.text.prompt import Prompt, pieces_of, read_prompt

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
        """The prompt around a text to classify. Examples have no places."""
        pieces = pieces_of(self.text, _SECOND)
        shown = self.instruction
        for example in self.examples:
            texts = [example.text, example.text_pair or ""]
            shown += Prompt(pieces).rendered(texts)[0] + self.labels[example.label] + self.separator
        return Prompt((f"{shown}{pieces[0]}", *pieces[1:]))

    @property
    def digest(self) -> str:
        """The digest of the content without its name: 64 hexadecimal digits. The order of the labels counts."""
        body = self.model_dump(mode="json", exclude={"name"})
        return digest({**body, "labels": list(self.labels.items())})


def template_id(name: str, owner: str = "") -> str:
    """Return the name of a template in the id of a model: ``NAME``, or ``NAME@OWNER`` if it belongs to a user."""
    return f"{name}@{owner}" if owner else name


def template_parts(template_id: str) -> tuple[str, str]:
    """Split a template id into name and owner, as the inverse of :func:`template_id`."""
    name, _, owner = template_id.partition("@")
    return name, owner


def template_ids(owner: str = "") -> list[str]:
    """List the ids of the templates of ``owner``; without one the public ones, the project's own first."""
    return [template_id(name, owner) for name in (*({} if owner else _files(PRESETS)), *_files(template_folder(owner)))]


def template_folder(owner: str = "") -> Path:
    """Return the folder of the templates of ``owner`` (16 hexadecimal digits); without one, of the public ones."""
    folder = settings().home / "templates"
    return folder / owner if _OWNER.fullmatch(owner) else folder


def read_template(template_id: str) -> Template:
    """Read the template of this id; raises :class:`RequestError` if there is none or its file is damaged.

    The function does not check the owner: :mod:`explainlab.service.templates` does.
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
    return validated(Template, **{**fields, "name": name})


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
    """Return the templates of a folder by name; skips files with other names."""
    return {path.stem: path for path in sorted(folder.glob("*.json")) if _NAME.fullmatch(path.stem) and path.is_file()}


PREFIX = "completion:"
_TEXT = "a"  # a text for calls in which only the prompt matters
_ANSWERS = "answers"


def split_id(model_id: str) -> tuple[Template | None, str]:
    """Return the template that ``model_id`` names (None: it names none) and the id of the model itself.

    Raises :class:`ModelError` for a template that does not exist or cannot be read.
    """
    if not model_id.startswith(PREFIX):
        return None, model_id
    name, _, model = model_id.removeprefix(PREFIX).partition(":")
    if not name or not model:
        raise ModelError(f"There is no model '{model_id}'.", f"Write {PREFIX}TEMPLATE:MODEL.")
    try:
        return read_template(name), model
    except RequestError as error:
        raise ModelError(error.problem, error.remedy) from error


def answer_tokens(
    template: Template, tokenizer: transformers.PreTrainedTokenizerBase, max_tokens: int
) -> dict[str, int]:
    """Return the token id of every label's word after the prompt.

    Raises :class:`ModelError` for a prompt that leaves none of ``max_tokens`` to the text, a word that is not in the
    vocabulary, has several tokens or merges with the prompt's end, and two words with the same first token.
    """
    texts = [_TEXT] * (1 + template.prompt.takes_pair)
    prompt = template.prompt.rendered(texts)[0]
    before = read_prompt(tokenizer, prompt).ids
    if len(before) > max_tokens:
        raise ModelError(
            f"The prompt of template '{template.name}' takes {len(before):,} tokens; the model reads {max_tokens:,}.",
            "Shorten it, show fewer examples, or choose a model that reads more.",
        )
    answers = {
        label: _answer(label, word, before, read_prompt(tokenizer, prompt + word).ids, tokenizer)
        for label, word in template.labels.items()
    }
    _require_distinct(answers, tokenizer)
    for label, ids in answers.items():
        if len(ids) > 1:
            pieces = " ".join(tokenizer.convert_ids_to_tokens(ids.tolist()))
            raise ModelError(
                f"The word {template.labels[label]!r} of label '{label}' is {len(ids)} tokens ({pieces}).",
                "Choose a word that is one token, with or without a leading blank.",
            )
    return {label: int(ids[0]) for label, ids in answers.items()}


def take_head(model: transformers.PreTrainedModel, ids: list[int], device: torch.device) -> None:
    """Give ``model`` a classification head ``score`` on ``device``: the rows ``ids`` of its language-model head.

    Raises :class:`ModelError` where that head is no plain matrix.
    """
    whole = model.get_output_embeddings()
    if type(whole) is not nn.Linear:
        raise ModelError(
            f"The output layer of this model is a {type(whole).__name__}, whose rows cannot be read one by one.",
            "Give a model whose output layer is neither quantised nor adapted.",
        )
    head = nn.Linear(whole.in_features, len(ids), bias=whole.bias is not None, device=device, dtype=whole.weight.dtype)
    rows = torch.tensor(ids, device=whole.weight.device)
    with torch.no_grad():
        head.weight.copy_(whole.weight[rows])
        if whole.bias is not None:
            head.bias.copy_(whole.bias[rows])
    head.register_buffer(_ANSWERS, rows, persistent=False)
    setattr(model, SCORE, head.requires_grad_(False).eval())


def answers_of(model: transformers.PreTrainedModel) -> list[int]:
    """Return the token ids of the rows that :func:`take_head` put into the head of ``model``."""
    ids: list[int] = getattr(getattr(model, SCORE), _ANSWERS).tolist()
    return ids


def _answer(
    label: str, word: str, before: np.ndarray, after: np.ndarray, tokenizer: transformers.PreTrainedTokenizerBase
) -> np.ndarray:
    """Return the ids that a word adds to the prompt ``before``."""
    if len(after) <= len(before) or not np.array_equal(after[: len(before)], before):
        raise ModelError(
            f"The word {word!r} of label '{label}' is not read apart from the end of the prompt.",
            "End the template without a blank and begin the word with one, or the other way round.",
        )
    ids = after[len(before) :]
    if tokenizer.unk_token_id in ids:
        raise ModelError(f"The word {word!r} of label '{label}' is not in the vocabulary.", "Choose another word.")
    return ids


def _require_distinct(answers: Mapping[str, np.ndarray], tokenizer: transformers.PreTrainedTokenizerBase) -> None:
    """Raise :class:`ModelError` for two labels with the same next token."""
    begun: dict[int, str] = {}
    for label, ids in answers.items():
        first = int(ids[0])
        if first in begun:
            raise ModelError(
                f"The words of '{begun[first]}' and '{label}' begin with the same token "
                f"({tokenizer.convert_ids_to_tokens(first)}), so the next one cannot tell them apart.",
                "Choose words that begin differently.",
            )
        begun[first] = label
