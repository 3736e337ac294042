"""Prompts edited on the page: a template and a language model chosen, changed, checked, saved and taken into use."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from explainlab.app import session
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, ModelError, RequestError
from explainlab.models.loading import answer_pieces
from explainlab.models.prompting import PREFIX, Example, Template, read_template, template_parts
from explainlab.request import digest, validated
from explainlab.service import templates
from explainlab.service.limits import require_model
from explainlab.service.users import LOCAL, User

LABEL, WORD, TEXT, PAIR = "Label", "Word", "Text", "Second text"
_PLACE, _PAIR_PLACE = "{text}", "{text_pair}"
_CAPTION = "A language model classifies a text by the label word that it finds most likely after a prompt."
_PATTERN_HELP = (
    f"What is asked of every text: {_PLACE} stands for it, {_PAIR_PLACE} for a second one if there is to be one. "
    "What follows them must ask for the label's word."
)
_SEPARATOR_HELP = "What separates the examples. `\\n` is a line break, `\\\\` a backslash."
_WORD_HELP = (
    "Exactly as it follows the prompt, with a leading blank where one is needed. It must be one token of the model."
)
_NAME_HELP = (
    "Small letters, digits, '-' and '_'. Templates that come with ExplainLab cannot be overwritten. Yours are private "
    "until you share them."
)
_IN_USE = ":material/check_circle: This prompt and this model are in use."
_WIDTH = 640  # pixels, less where the window is narrower


@dataclass(frozen=True)
class _Form:
    """The fields of one editor: their values live in the session under names that begin with ``place``.

    ``id`` is that of the template ``start``.
    """

    place: str
    id: str
    start: Template

    def key(self, name: str) -> str:
        """Return the name of a field; another template to start from has fields of its own."""
        return f"{self.place}_{self.id}_{self.start.digest[:12]}_{name}"

    def draw(self) -> Template:
        """Return the template of the fields; raises :class:`RequestError` for an invalid one."""
        start = self.start
        instruction = st.text_area("Instruction", start.instruction, key=self.key("instruction"), height=100)
        text = st.text_area("Text pattern", start.text, key=self.key("text"), height=80, help=_PATTERN_HELP)
        labels = self._draw_labels()
        examples = self._draw_examples(paired=_PAIR_PLACE in text)
        left, right = st.columns(2)
        separator = left.text_input(
            "Separator", spelled_out(start.separator), key=self.key("separator"), help=_SEPARATOR_HELP
        )
        name = right.text_input("Name", start.name, key=self.key("name"), max_chars=64, help=_NAME_HELP)
        return template(name, instruction, text, read_back(separator), labels, examples)

    def _draw_labels(self) -> pd.DataFrame:
        st.caption("Label words", help=_WORD_HELP)
        columns = {name: st.column_config.TextColumn(name, required=True) for name in (LABEL, WORD)}
        return st.data_editor(
            label_rows(self.start),
            key=self.key("labels"),
            column_config=columns,
            num_rows="dynamic",
            hide_index=True,
            alt="Every label and its word",
        )

    def _draw_examples(self, paired: bool) -> pd.DataFrame:
        st.caption("Examples", help="Texts that the prompt shows with their labels, in this order.")
        columns = [TEXT, PAIR, LABEL] if paired else [TEXT, LABEL]
        return st.data_editor(
            example_rows(self.start),
            key=self.key("examples"),
            column_config={name: st.column_config.TextColumn(name) for name in (TEXT, PAIR, LABEL)},
            column_order=columns,
            num_rows="dynamic",
            hide_index=True,
            alt="The examples that the prompt shows",
        )


def draw_template_editor(page: str, model_id: str) -> str | None:
    """Draw the popover *Prompt* of ``page``, which opens with the template of ``model_id`` if it has one.

    Returns the id of the model that is to be used, in the run in which its template has been checked and saved.
    """
    used, language_model = _parts(model_id)
    place = f"{page}_prompt_{digest([used, language_model])[:12]}"
    popover = st.popover(
        "Prompt", icon=":material/edit_note:", width="stretch", key=f"{page}_prompt", on_change="rerun"
    )
    if not popover.open:
        return None
    with popover, st.container(width=_WIDTH):
        st.caption(_CAPTION)
        user = session.user()
        names = templates.readable_templates(user.id)
        left, right = st.columns(2)
        index = list(names).index(used) if used in names else 0
        start_with = left.selectbox(
            "Start from", list(names), index, key=f"{place}_start", format_func=lambda each: names.get(each, each)
        )
        model = right.text_input(
            "Language model",
            language_model,
            key=f"{place}_model",
            placeholder="A directory or a hub id",
            help="A decoder: GPT-2, Llama, Mistral, Qwen2 or Qwen3; safetensors only.",
        ).strip()
        try:
            form = _Form(place, start_with, read_template(start_with))
            drawn = form.draw()
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")
            return None
        made = _draw_buttons(form, drawn, model, model_id, user)
        if templates.is_own(start_with, user):
            _draw_own(start_with, user)
        return made


def spelled_out(text: str) -> str:
    """Return ``text`` on one line: a line break as ``\n``, a backslash as two."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def read_back(line: str) -> str:
    """Return the text that :func:`spelled_out` has spelled out."""
    return re.sub(r"\\([\\n])", lambda found: "\n" if found[1] == "n" else "\\", line)


def label_rows(template: Template) -> pd.DataFrame:
    """Return the table: a row a label, in their order, with ``Label`` and ``Word``."""
    return pd.DataFrame(list(template.labels.items()), columns=[LABEL, WORD], dtype="str")


def example_rows(template: Template) -> pd.DataFrame:
    """Return the table: a row an example, with ``Text``, ``Second text`` (missing without one) and ``Label``."""
    rows = [(example.text, example.text_pair, example.label) for example in template.examples]
    return pd.DataFrame(rows, columns=[TEXT, PAIR, LABEL], dtype="str")


def template(
    name: str, instruction: str, text: str, separator: str, labels: pd.DataFrame, examples: pd.DataFrame
) -> Template:
    """Return the template of these fields and rows, as of :func:`label_rows` and :func:`example_rows`.

    Empty rows are passed over; second texts count only where ``text`` has their place. Raises :class:`RequestError`
    for two rows of one label, and for what no :class:`Template` can be.
    """
    words = _rows(labels, [LABEL, WORD])
    names = [label for label, _ in words]
    twice = next((label for label in names if names.count(label) > 1), None)
    if twice is not None:
        raise RequestError(f"Two rows have the label {twice!r}.", "Give every label one word.")
    paired = _PAIR_PLACE in text
    shown = [
        validated(Example, text=first, text_pair=second if paired else None, label=label)
        for first, second, label in _rows(examples, [TEXT, PAIR, LABEL])
    ]
    return validated(
        Template,
        name=name.strip(),
        instruction=instruction,
        text=text,
        separator=separator,
        labels=dict(words),
        examples=tuple(shown),
    )


def keep(edited: Template, start: Template, start_id: str, user: User) -> str:
    """Save ``edited``, made from ``start``, as the user's own, unless it still equals ``start``; return its id.

    Raises :class:`RequestError` for the name of a preset, or of another template than ``start``.
    """
    if edited == start:
        return start_id
    made = templates.own_id(edited.name, user)
    if made != start_id and made in templates.readable_templates(user.id):
        raise RequestError(f"There is a template '{edited.name}' already.", "Choose another name, or start from it.")
    return templates.save_own(edited, user)


def _parts(model_id: str) -> tuple[str, str]:
    """Return the names of the template and of the language model in ``model_id``; two empty ones if it names none."""
    if not model_id.startswith(PREFIX):
        return "", ""
    name, _, model = model_id.removeprefix(PREFIX).partition(":")
    return name, model


def _rows(frame: pd.DataFrame, columns: list[str]) -> list[list[str]]:
    """Return the cells of every row that is not empty; a missing one is an empty text."""
    cells = frame[columns].astype(object).where(frame[columns].notna(), "")
    return [row for row in cells.values.tolist() if any(cell.strip() for cell in row)]


def _draw_buttons(form: _Form, edited: Template, model: str, current: str, user: User) -> str | None:
    """Draw both buttons and their effects above; return the id to use in place of ``current``, if any."""
    told = st.container()
    pressed = _pressed(form.place)
    if pressed is None:
        if edited == form.start and f"{PREFIX}{form.id}:{model}" == current:
            told.caption(_IN_USE)
        return None
    try:
        if not model:
            raise ModelError("No language model is chosen.", "Type a directory or a hub id (owner/name).")
        require_model(f"{PREFIX}{form.id}:{model}", user.id)
        pieces = answer_pieces(edited, model)
        if pressed == "use":
            made = f"{PREFIX}{keep(edited, form.start, form.id, user)}:{model}"
            require_model(made, user.id)
            told.caption(_IN_USE)
            return made
    except ExplainLabError as error:
        told.error(plain(str(error)), icon=":material/error:")
        return None
    with told:
        _draw_check(edited, pieces)
    return None


def _draw_own(each: str, user: User) -> None:
    """Draw the owner's actions on a saved template: share it, where there are others, and delete it."""
    key = f"template_shared_{each}"

    def share() -> None:
        templates.share_template(each, st.session_state[key], user)

    with st.container(horizontal=True, vertical_alignment="center"):
        if user != LOCAL:
            st.toggle("Everyone here may use it", templates.is_shared(each), key=key, on_change=session.guarded(share))
        st.button(
            f"Delete '{template_parts(each)[0]}'",
            key=f"template_delete_{each}",
            icon=":material/delete:",
            type="tertiary",
            on_click=session.guarded(templates.delete_template),
            args=(each, user),
        )


def _pressed(place: str) -> str | None:
    """Draw both buttons; the one that has been pressed since, which a page that starts anew does not forget."""
    name = f"{place}_pressed"

    def press(which: str) -> None:
        st.session_state[name] = which

    check, use = st.columns(2)
    check.button(
        "Check",
        key=f"{place}_check",
        icon=":material/spellcheck:",
        on_click=press,
        args=("check",),
        width="stretch",
    )
    use.button(
        "Save and use",
        key=f"{place}_use",
        icon=":material/save:",
        type="primary",
        on_click=press,
        args=("use",),
        width="stretch",
    )
    pressed: str | None = st.session_state.pop(name, None)
    return pressed


def _draw_check(edited: Template, pieces: dict[str, str] | None) -> None:
    """Draw the text that the model will read, and the token that answers each label."""
    if pieces is None:
        st.info("The model has not been downloaded yet: its tokens are checked when it is.", icon=":material/cloud:")
    else:
        st.success("Every word is one token, and no two begin alike.", icon=":material/check_circle:")
        rows = [
            {LABEL: plain(label), WORD: plain(repr(edited.labels[label])), "Token": plain(piece)}
            for label, piece in pieces.items()
        ]
        st.table(pd.DataFrame(rows), hide_index=True)
    st.caption("The prompt as the model reads it, with the text in its place:")
    st.code(edited.prompt.rendered([_PLACE, _PAIR_PLACE])[0], language=None, wrap_lines=True)
