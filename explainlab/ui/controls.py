"""Controls made from declarations: a method's parameters become its form; the page's choices become a view."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, get_args

import streamlit as st

from explainlab.attribution.method import Method, ParameterSpec
from explainlab.attribution.registry import get_method, methods
from explainlab.data import Row, examples_for, read_dataset
from explainlab.errors import ModelError
from explainlab.figures.palette import PALETTES
from explainlab.models.loading import ModelCard, describe, embedded_models
from explainlab.request import Dtype, checked
from explainlab.settings import settings
from explainlab.ui.components import enter_runs
from explainlab.ui.text import plain
from explainlab.ui.view import Choice, View

_FIELDS = ("model", "text", "target", "output", "unit", "seed", "dtype", "palette", "scale")
TEXT_BOXES = ["explain_text", "explain_pair"]
OUTPUT_HELP = "The number explained: the target's probability, or its logit (the score before the softmax)."


def seed_controls(view: View, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values = {_key(name): getattr(view, name) for name in _FIELDS}
    values[_key("pair_on")] = view.text_pair is not None
    values[_key("pair")] = view.text_pair or ""
    values[_key("methods")] = [choice.method for choice in view.methods]
    for request in view.requests():
        values |= {_parameter_key(request.method, name): value for name, value in request.parameters.items()}
    for key, value in values.items():
        if force or key not in st.session_state:
            st.session_state[key] = value


def set_text(text: str) -> None:
    """Put ``text`` into the text box (from a callback, before it is drawn)."""
    st.session_state[_key("text")] = text


def set_target(label: str) -> None:
    """Explain the class ``label`` (from a callback)."""
    st.session_state[_key("target")] = label


def draw_question(run) -> ModelCard | None:
    """The model and the text; ``run`` is called when either is entered.

    Returns the card of the model; None if the name is no usable model or one that would have to be fetched.
    """

    def change_model() -> None:
        _keep_target(_card(_now("model") or ""))
        run()

    known = embedded_models()
    current = _now("model")
    left, right = st.columns([3, 1], gap="medium")
    with right:
        models = known if current in known else [*known, current]
        st.selectbox(
            "Model",
            models,
            index=models.index(current),
            key=_key("model"),
            accept_new_options=True,
            on_change=change_model,
            help="An embedded model, or type a directory or a hub id (owner/name; safetensors only).",
        )
        card = _card(_now("model") or "")
        _draw_examples(card, run)
    with left:
        st.text_area(
            "Text",
            _now("text"),
            key=_key("text"),
            height=100,
            max_chars=settings().max_characters,
            on_change=run,
            help="Enter runs, Shift+Enter starts a new line.",
        )
        if st.toggle("Second text (for pair classifiers)", _now("pair_on"), key=_key("pair_on")):
            st.text_area(
                "Second text",
                _now("pair"),
                key=_key("pair"),
                height=70,
                max_chars=settings().max_characters,
                on_change=run,
            )
        enter_runs(TEXT_BOXES)
    return card


def draw_options(card: ModelCard | None, run) -> None:
    """Methods, target, output and unit, with everything rarer behind *More* and *Parameters*."""
    st.multiselect(
        "Methods",
        list(methods()),
        _now("methods"),
        key=_key("methods"),
        format_func=lambda method_id: methods()[method_id].label,
        placeholder="Choose one or more methods",
    )
    targets = _keep_target(card)
    target, output, unit, more, button = st.columns([2, 2, 3, 1.4, 1.4], vertical_alignment="bottom")
    target.selectbox(
        "Target",
        targets,
        index=targets.index(_now("target")),
        key=_key("target"),
        help="The class that the scores speak for or against.",
    )
    with output:
        _choose("Output", "output", {"probability": "probability", "logit": "logit"}, OUTPUT_HELP)
    with unit:
        _choose("Unit", "unit", {u: u for u in ("token", "word", "sentence")}, "What gets one score each.")
    with more.popover("More", icon=":material/tune:", width="stretch"):
        _draw_more()
    button.button("Explain", type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")


def draft() -> View:
    """The view that the controls describe now; raises :class:`explainlab.errors.RequestError` for what cannot be."""
    state = st.session_state
    values = {name: state[_key(name)] for name in _FIELDS}
    return checked(
        View,
        **values,
        text_pair=state[_key("pair")] if state[_key("pair_on")] else None,
        methods=tuple(
            Choice(method=method_id, parameters=_chosen(get_method(method_id))) for method_id in state[_key("methods")]
        ),
    )


def _draw_examples(card: ModelCard | None, run) -> None:
    rows = _examples(card.labels) if card else []
    if not rows:
        return

    def take() -> None:
        picked = st.session_state[_key("example")]
        if picked is not None:
            set_text(rows[picked].text)
            st.session_state[_key("example")] = None
            run()

    st.selectbox(
        "Example",
        range(len(rows)),
        index=None,
        key=_key("example"),
        on_change=take,
        format_func=lambda i: f"{rows[i].label}: {rows[i].text}",
        placeholder=f"{len(rows)} labelled examples",
    )


def _keep_target(card: ModelCard | None) -> list[str]:
    """The targets that the model has; a target chosen that is none of them gives way to the prediction."""
    targets = ["predicted", *(card.labels if card else ())]
    if _now("target") not in targets:
        set_target("predicted")
    return targets


def _card(model_id: str) -> ModelCard | None:
    try:
        return describe(model_id)
    except ModelError:
        return None


@lru_cache(maxsize=8)
def _examples(labels: tuple[str, ...]) -> list[Row]:
    examples = examples_for(labels)
    return list(read_dataset(examples.id, labels).rows) if examples else []


def _draw_more() -> None:
    names = list(PALETTES)
    st.selectbox(
        "Colours",
        names,
        index=names.index(_now("palette")),
        key=_key("palette"),
        format_func=lambda name: PALETTES[name].label,
    )
    scales = {"each": "One per map", "shared": "One for all"}
    _choose("Scale", "scale", scales, "One for all compares only methods whose scores have the same meaning.")
    st.number_input(
        "Seed", 0, 2**32 - 1, _now("seed"), step=1, key=_key("seed"), help="Everything random starts from it."
    )
    _choose("Precision", "dtype", {d: d for d in get_args(Dtype)}, "Half precision is for GPUs.")
    for method_id in _now("methods"):
        method = get_method(method_id)
        specs = method.parameter_specs()
        if specs:
            st.markdown(f"**{plain(method.label)}**")
        for spec in specs:
            _draw_parameter(method, spec)


def _choose(label: str, name: str, options: dict[str, str], help_text: str) -> None:
    names = list(options)
    st.radio(
        label,
        names,
        index=names.index(_now(name)),
        key=_key(name),
        format_func=options.get,
        horizontal=True,
        help=help_text,
    )


def _draw_parameter(method: Method, spec: ParameterSpec) -> Any:
    key = _parameter_key(method.id, spec.name)
    value = st.session_state.setdefault(key, spec.default)
    label = spec.name.replace("_", " ").capitalize()
    if spec.kind == "choice":
        return st.selectbox(label, spec.choices, index=spec.choices.index(value), key=key, help=spec.help)
    if spec.kind == "flag":
        return st.toggle(label, value, key=key, help=spec.help)
    if spec.kind == "text":
        return st.text_input(label, str(value), key=key, help=spec.help)
    whole = spec.kind == "integer"
    number = int if whole else float
    return st.number_input(
        label,
        min_value=None if spec.minimum is None else number(spec.minimum),
        max_value=None if spec.maximum is None else number(spec.maximum),
        value=number(value),
        step=1 if whole else None,
        format=None if whole else "%g",
        key=key,
        help=spec.help,
    )


def _chosen(method: Method) -> dict[str, Any]:
    """The parameters of ``method`` that the page holds; the rest keep their defaults."""
    keys = {spec.name: _parameter_key(method.id, spec.name) for spec in method.parameter_specs()}
    return {name: st.session_state[key] for name, key in keys.items() if st.session_state.get(key) is not None}


def _now(name: str) -> Any:
    return st.session_state[_key(name)]


def _key(name: str) -> str:
    return f"explain_{name}"


def _parameter_key(method_id: str, name: str) -> str:
    return f"explain_{method_id}_{name}"
