"""The controls of the Explain page: a method's parameters become its form; the page's choices become a view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

import streamlit as st

from explainlab.app.glossary import explained
from explainlab.app.guide import draw_guide_button
from explainlab.app.pages.explain.view import MOST_TOP, Choice, View
from explainlab.app.question import Question
from explainlab.app.text import plain
from explainlab.attribution.method import Method
from explainlab.attribution.registry import get_method, methods, parse_method, swept
from explainlab.declared import ParameterSpec, parse
from explainlab.models.loading import ModelCard
from explainlab.request import Dtype, checked

PAGE = "explain"
_FIELDS = ("model", "text", "target", "output", "unit", "seed", "dtype", "palette", "scale", "top", "masked")
BELIEFS = "beliefs"
"""Whether what a decoder believed on the way is unfolded; a view that compares it with masked texts opens so."""
_METHODS_HELP = (
    "Each method makes a map of its own. For several settings of one method, type its id with its options: "
    "integrated_gradients:rule=right:steps=10+20."
)
question = Question(PAGE)


def seed_controls(view: View, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values = {name: getattr(view, name) for name in _FIELDS} | question.text_controls(view)
    values["methods"] = view.names
    values |= {BELIEFS: True} if view.masked else {}
    for name, request in zip(view.names, view.text_requests(), strict=True):
        if name == request.question:
            specs = get_method(name).parameter_specs()
            values |= {_name(name, spec.name): spec.written(request.parameters[spec.name]) for spec in specs}
    question.seed(values, force)


def draw_options(card: ModelCard | None, run: Callable[[], None]) -> None:
    """Methods, target, output and unit, with everything rarer behind *More* and *Parameters*."""
    chosen, guide = st.columns([5, 1.6], vertical_alignment="bottom")
    with chosen:
        question.draw_specs(
            "Methods", "methods", list(methods()), parse_method, explained(_METHODS_HELP, *_with_controls())
        )
    with guide:
        draw_guide_button()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_target(card)
        question.draw_outputs()
        question.draw_unit()
        with st.popover("More", icon=":material/tune:", width="content"):
            _draw_more()
        st.button("Explain", type="primary", icon=":material/play_arrow:", on_click=run, width="content")


def draft() -> View:
    """The view that the controls describe now; raises :class:`explainlab.errors.RequestError` for what cannot be."""
    view = checked(
        View,
        **{name: question.now(name) for name in _FIELDS},
        text_pair=question.text_pair,
        methods=tuple({choice.spec: choice for choice in _choices()}.values()),
    )
    view.requests()
    return view


def _draw_more() -> None:
    question.draw_palette()
    scales = {"each": "One for each map", "shared": "One for all"}
    question.choose("Scale", "scale", scales, "Choose one for all only where the methods' scores mean the same.")
    st.number_input(
        "Mark the top k",
        0,
        MOST_TOP,
        question.now("top"),
        step=1,
        key=question.key("top"),
        help="Each map frames so many words or tokens of highest score; 0 frames none. Nothing is computed.",
    )
    st.number_input(
        "Seed",
        0,
        2**32 - 1,
        question.now("seed"),
        step=1,
        key=question.key("seed"),
        help=explained("Everything random is drawn from it.", "seed"),
    )
    question.choose(
        "Precision", "dtype", {d: d for d in get_args(Dtype)}, "Half precision is faster on GPUs and less exact."
    )
    for method_id in _with_controls():
        method = get_method(method_id)
        specs = method.parameter_specs()
        if specs:
            st.markdown(f"**{plain(method.label)}**")
        for spec in specs:
            bring = partial(_bring_what_belongs_to, method, spec)
            question.draw_parameter(_name(method.id, spec.name), spec, bring)


def _bring_what_belongs_to(method: Method, spec: ParameterSpec) -> None:
    """Set the parameters whose default depends on that of ``spec`` to their defaults for the new choice."""
    defaults = {choice: parse(method, {spec.name: choice}).model_dump(mode="json") for choice in spec.choices}
    chosen = defaults[st.session_state[question.key(_name(method.id, spec.name))]]
    for other in method.parameter_specs():
        value = chosen[other.name]
        if other.name != spec.name and any(values[other.name] != value for values in defaults.values()):
            st.session_state[question.key(_name(method.id, other.name))] = other.written(value)


def _with_controls() -> list[str]:
    """The ids of the chosen methods whose parameters are set by controls."""
    return [name for name in question.now("methods") if name in methods()]


def _choices() -> Iterator[Choice]:
    """The methods chosen, with what the controls set or, where options were typed, with these."""
    for name in question.now("methods"):
        if name in methods():
            yield Choice(method=name, parameters=_chosen(get_method(name)))
        else:
            yield from map(Choice.of, swept(name))


def _chosen(method: Method) -> dict[str, Any]:
    """The parameters of ``method`` that the page holds; the rest keep their defaults."""
    keys = {spec.name: question.key(_name(method.id, spec.name)) for spec in method.parameter_specs()}
    return {name: st.session_state[key] for name, key in keys.items() if st.session_state.get(key) is not None}


def _name(method_id: str, parameter: str) -> str:
    """The control of a method's parameter."""
    return f"{method_id}_{parameter}"
