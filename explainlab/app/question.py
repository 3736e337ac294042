"""The controls that pages about one text share: model, text and its pair, example, target, output, colours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import streamlit as st

from explainlab.app import session
from explainlab.app.components import draw_text_area, enter_runs
from explainlab.app.template_editor import draw_template_editor
from explainlab.attribution.method import Method
from explainlab.attribution.registry import MethodSpec, methods
from explainlab.data import EXAMPLES, Row, examples_for, read_dataset
from explainlab.declared import ParameterSpec
from explainlab.errors import ModelError, RequestError
from explainlab.metrics.registry import MetricSpec
from explainlab.models.loading import ModelCard, describe, model_name
from explainlab.models.stored.places import embedded_models
from explainlab.request import digest
from explainlab.service.limits import require_model
from explainlab.service.store.made import own_names, resolve_model_alias

_MODEL_WIDTH, _PROMPT_WIDTH = 300, 130  # pixels, less where the window is narrower


@dataclass(frozen=True)
class Question:
    """The controls of one ``page``: their values live in the session under ``PAGE_name``."""

    page: str

    def key(self, name: str) -> str:
        """Return the name of a control in the session."""
        return f"{self.page}_{name}"

    def now(self, name: str) -> Any:
        """Return the value of a control now."""
        return st.session_state[self.key(name)]

    def set(self, name: str, value: Any) -> None:
        """Give a control a value (from a callback, before it is drawn)."""
        st.session_state[self.key(name)] = value

    def seed(self, values: dict[str, Any], force: bool = False) -> None:
        """Set controls to ``values``; those that already hold one keep it unless ``force``."""
        for name, value in values.items():
            if force or self.key(name) not in st.session_state:
                self.set(name, value)

    def further(self, source: str) -> Question:
        """Return the controls of a further data set and its columns."""
        own = Question(self.key(further_name(source)))
        own.seed({"data": source, "reading": {"source": source, "columns": {}, "classes": {}}})
        return own

    def draw(self, run: Callable[[], None]) -> ModelCard | None:
        """Draw the model and the text; ``run`` is called when a text is entered.

        Returns the card of the model; None if the name is no usable model or one that would have to be fetched.
        """

        def change_model() -> None:
            self._keep_target(card_of(self.now("model") or ""))

        with st.container(horizontal=True, vertical_alignment="bottom"):
            card = self.draw_model(change_model)
            self._draw_examples(card, run)
        self._draw_text("Text", "text", 100, run, "Press Enter to run, Shift+Enter for a new line.")
        if st.toggle("Second text (for pair classifiers)", self.now("pair_on"), key=self.key("pair_on")):
            self._draw_text("Second text", "pair", 70, run)
        enter_runs([self.key("text"), self.key("pair")])
        return card

    def keep_data(self, card: ModelCard | None) -> list[str]:
        """Return the examples that fit the model of ``card``; other chosen examples give way to them.

        Without a card, of a model that is not known yet, the choice stays.
        """
        fitting = examples_for(card.labels) if card else None
        known = [fitting.id] if fitting else []
        if card is not None and self.now("data") in EXAMPLES and self.now("data") not in known:
            self.set("data", known[0] if known else None)
        return known

    def reading(self) -> dict[str, Any]:
        """Return the data set with its ``columns`` and ``classes``; choices for another one do not count."""
        current, source = self.now("reading"), self.now("data") or ""
        return current if current["source"] == source else {"source": source, "columns": {}, "classes": {}}

    def select(
        self,
        label: str,
        name: str,
        options: Mapping[str, str],
        help_text: str | None = None,
        on_change: Callable[[], None] | None = None,
        radio: bool = False,
    ) -> None:
        """Draw a choice among ``options`` (value: label); ``radio`` shows all of them."""
        names, draw = list(options), partial(st.radio, horizontal=True) if radio else st.selectbox
        draw(
            label,
            names,
            index=names.index(self.now(name)),
            key=self.key(name),
            format_func=options.__getitem__,
            help=help_text,
            on_change=on_change,
        )

    def draw_value(
        self,
        label: str,
        name: str,
        spec: ParameterSpec,
        help_text: str | None = None,
        on_change: Callable[[], None] | None = None,
        step: float | None = None,
        placeholder: str = "",
        icon: str | None = None,
    ) -> None:
        """Draw a switch, a number or a text, as ``spec`` declares."""
        key, value = self.key(name), self.now(name)
        if spec.kind == "flag":
            st.toggle(label, value, key=key, on_change=on_change, help=help_text)
        elif spec.kind == "text":
            st.text_input(
                label, value, key=key, on_change=on_change, help=help_text, placeholder=placeholder, icon=icon
            )
        else:
            whole = spec.kind == "integer"
            number = int if whole else float
            st.number_input(
                label,
                min_value=None if spec.minimum is None else number(spec.minimum),
                max_value=None if spec.maximum is None else number(spec.maximum),
                value=number(value),
                step=step or (1 if whole else None),
                format=None if whole else "%g",
                key=key,
                on_change=on_change,
                help=help_text,
            )

    def draw_model(self, on_change: Callable[[], None]) -> ModelCard | None:
        """Draw the model and its prompt, side by side in a horizontal container.

        A change computes nothing.

        Returns what :meth:`draw` does.
        """
        box = st.container(width=_MODEL_WIDTH)
        with st.container(width=_PROMPT_WIDTH):
            made = draw_template_editor(self.page, self.now("model") or "")
        if made is not None:
            self.set("model", made)
            on_change()
        with box:
            self.draw_model_name(
                "Model",
                "model",
                "Choose an embedded model or one of yours, or type a directory or a hub id (owner/name; safetensors "
                "only). A language model needs a prompt.",
                on_change,
            )
        return card_of(self.now("model") or "")

    def draw_model_of_data(self) -> ModelCard | None:
        """Draw the model of a data set, as :meth:`draw_model`; examples that do not fit it give way to others."""

        def change_model() -> None:
            self.keep_data(card_of(self.now("model") or ""))

        return self.draw_model(change_model)

    def draw_model_name(
        self,
        label: str,
        name: str,
        help_text: str,
        on_change: Callable[[], None] | None = None,
        more: Mapping[str, str] = {},
    ) -> None:
        """Draw the choice of a model: those in ``more`` (id: words), embedded ones, the user's own, or a typed one."""
        own, current = {**more, **own_names(session.user().id)}, self.now(name)
        known = dict.fromkeys([*more, *embedded_models(), *own])
        models = list(known if current in known else [*known, current])
        names = [own.get(model, model_name(model or "")) for model in models]

        def told_apart(model: str) -> str:
            short = own.get(model, model_name(model or ""))
            return model if names.count(short) > 1 else short

        st.selectbox(
            label,
            models,
            index=models.index(current),
            key=self.key(name),
            accept_new_options=True,
            format_func=told_apart,
            on_change=on_change,
            help=help_text,
        )

    def _draw_text(
        self, label: str, name: str, height: int, run: Callable[[], None], help_text: str | None = None
    ) -> None:
        draw_text_area(label, self.now(name), self.key(name), height, run, help_text)

    def _draw_examples(self, card: ModelCard | None, run: Callable[[], None]) -> None:
        rows = _examples(card.labels) if card else []
        if not rows:
            return

        def take() -> None:
            picked = self.now("example")
            if picked is not None:
                self.set("text", rows[picked].text)
                self.set("example", None)
                run()

        st.selectbox(
            "Example",
            range(len(rows)),
            index=None,
            key=self.key("example"),
            on_change=take,
            format_func=lambda i: f"{rows[i].label}: {rows[i].text}",
            placeholder=f"{len(rows)} labelled examples",
        )

    def _keep_target(self, card: ModelCard | None) -> list[str]:
        """Return the targets of the model; any other chosen target gives way to the prediction."""
        targets = ["predicted", *(card.labels if card else ())]
        if self.now("target") not in targets:
            self.set("target", "predicted")
        return targets


def further_name(source: str) -> str:
    """Return the beginning of the names of the controls of a further data set."""
    return f"further_{digest([source])[:8]}"


def supported_methods(card: ModelCard | None) -> dict[str, Method]:
    """Return, by id, the methods that the model of ``card`` supports; all where it is not known yet."""
    known = methods().items()
    return {name: method for name, method in known if card is None or not method.unsupported(card.architecture)}


def chip(parse: Callable[[str], MethodSpec | MetricSpec], name: str) -> str:
    """Return the label of the method or metric in ``name``, with its options; else ``name`` itself."""
    try:
        return parse(name).label
    except RequestError:
        return name


def card_of(model_id: str) -> ModelCard | None:
    """Return the card of a model; None for a name of no usable model, or of one that would have to be fetched."""
    try:
        own = resolve_model_alias(model_id, session.user().id)
        require_model(own, session.user().id)
        return describe(own)
    except ModelError:
        return None


@lru_cache(maxsize=8)
def _examples(labels: tuple[str, ...]) -> list[Row]:
    examples = examples_for(labels)
    return list(read_dataset(examples.id, labels).rows) if examples else []
