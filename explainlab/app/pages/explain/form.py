"""The form of the Explain page: a text, a model and any number of methods, and the requests that these make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Self

import streamlit as st
from pydantic import BaseModel, ConfigDict, Field

from explainlab.analyses.registry import get_study, kind_of
from explainlab.analyses.trust.analysis import Trust
from explainlab.app.controls import (
    PALETTE,
    SEED,
    Control,
    Drawing,
    Form,
    Held,
    Outputs,
    Scored,
    Seed,
    Several,
    control_of,
)
from explainlab.app.glossary import draw_guide_button, explained
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question
from explainlab.app.text import plain
from explainlab.app.view import SharedInputs, TextView, made_once
from explainlab.attribution.method import Method
from explainlab.attribution.registry import (
    complete,
    complete_method,
    get_method,
    methods,
    parse_spec,
    request_label,
    swept,
)
from explainlab.declared import ParameterSpec, parse
from explainlab.figures.palette import DEFAULT, PaletteName, Scale
from explainlab.models.loading import ModelCard
from explainlab.request import Dtype, Output, Request, validated

MOST_TOP = 50
"""The most features of highest score that a map marks."""


def trust_request(request: Request) -> Request:
    """Return the complete request that compares the attribution of the complete ``request`` with random ones."""
    shared = request.model_dump(exclude={"question", "parameters"})
    parameters = {"method": request.question, "settings": request.parameters}
    return get_study(Trust.id).complete(Request(question=Trust.id, **shared, parameters=parameters))


class Choice(BaseModel):
    """One method with the parameters that differ from its defaults or were set on the page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    parameters: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, spec: str) -> Choice:
        """Return the method of ``spec``, options after colons; raises :class:`explainlab.errors.RequestError`."""
        asked = parse_spec(spec)
        return cls(method=asked.method, parameters=asked.parameters.model_dump(mode="json"))

    @property
    def spec(self) -> str:
        """The method with the options that differ from their defaults, as :func:`parse_spec` reads it."""
        return complete_method(self.method, self.parameters).name

    @property
    def own_output(self) -> Output:
        """The output that the method explains by default; raises :class:`explainlab.errors.RequestError`."""
        return get_method(self.method).default_output(self.parameters)


NAME = "explain"
BELIEFS = "beliefs"
"""Key of the unfolded section on a decoder's beliefs on the way; a view that compares them with masked texts opens
so."""
question = Question(NAME)
_SCALE = Control(
    "Scale",
    "Choose one for all only where the methods' scores mean the same.",
    row="more",
    options={"each": "One for each map", "shared": "One for all"},
    radio=True,
    redraw=True,
)
_TOP = Control(
    "Mark the top k",
    "Each map frames this many words or tokens of highest score; 0 frames none. Nothing is computed.",
    row="more",
    redraw=True,
)
_PRECISION = Control("Precision", "Half precision is faster on GPUs and less exact.", row="more", radio=True)


class ChosenMethods(Several):
    """The methods, of which those without typed options have a control for each parameter."""

    def seeds(self, record: View) -> dict[str, Any]:
        values: dict[str, Any] = {self.key: record.names}
        for name, choice in zip(record.names, record.methods, strict=True):
            if name == choice.method:
                chosen = complete_method(name, choice.parameters).parameters.model_dump(mode="json")
                specs = get_method(name).parameter_specs()
                values |= {_name(name, spec.name): spec.written(chosen[spec.name]) for spec in specs}
        return values

    def read(self, question: Question) -> tuple[Choice, ...]:
        return tuple({choice.spec: choice for choice in _choices()}.values())

    @property
    def help_text(self) -> str:
        return explained(self.help, *_with_controls())


_METHODS = ChosenMethods(
    "Methods",
    "Each method makes a map of its own. For several settings of one method, type its id with its options: "
    "integrated_gradients:rule=right:steps=10+20.",
    row="methods",
    options=lambda at: dict.fromkeys(methods(), ""),
    open=True,
    parse=parse_spec,
)


class Masked(Held):
    """The comparison with masked texts, which unfolds its section."""

    def seeds(self, record: View) -> dict[str, Any]:
        return {self.key: record.masked, **({BELIEFS: True} if record.masked else {})}


class View(TextView):
    """One text and one model, explained by any number of methods, and the drawing of the heatmaps.

    ``output``: ``own`` is each method's own; ``top`` is the number of highest features that each map marks. ``masked``
    compares a decoder's predictions on the way with its predictions for the text whose rest is masked.
    """

    output: Outputs = "own"
    unit: Scored = "token"
    methods: Annotated[tuple[Choice, ...], _METHODS] = ()
    palette: Annotated[PaletteName, replace(PALETTE, row="more")] = DEFAULT
    scale: Annotated[Scale, _SCALE] = "each"
    top: Annotated[int, _TOP, Field(ge=0, le=MOST_TOP)] = 0
    seed: Annotated[Seed, replace(SEED, row="more", help="Everything random is drawn from it.")] = 0
    dtype: Annotated[Dtype, _PRECISION] = "float32"
    masked: Annotated[bool, Masked(redraw=True)] = False

    @made_once
    def text_requests(self) -> list[Request]:
        """Return one complete request a method; raises :class:`explainlab.errors.RequestError`."""
        shared = self.model_dump(exclude={"methods", "output", "palette", "scale", "top", "masked"})
        return [
            complete(
                validated(
                    Request,
                    **shared,
                    output=choice.own_output if self.output == "own" else self.output,
                    question=choice.method,
                    parameters=choice.parameters,
                )
            )
            for choice in self.methods
        ]

    def shown_requests(self) -> list[Request]:
        requests = self.text_requests()
        return [*requests, *map(trust_request, requests)]

    def method_labels(self) -> list[str]:
        return [request_label(request) for request in self.text_requests()]

    @property
    def names(self) -> list[str]:
        """Each choice as the control of methods names it: by its id alone, unless its method has several settings."""
        counts = Counter(choice.method for choice in self.methods)
        return [choice.spec if counts[choice.method] > 1 else choice.method for choice in self.methods]

    def with_shared_inputs(self, inputs: SharedInputs) -> Self:
        """See :meth:`AnalysisView.with_shared_inputs`; each method of its own output."""
        asked: dict[str, Any] = {}
        if "methods" in inputs:
            asked["methods"] = tuple(map(Choice.of, dict.fromkeys(inputs["methods"])))
            asked["output"] = inputs.get("output", "own")
        elif "method" in inputs:
            asked["methods"] = (Choice(method=inputs["method"]),)
        return super().with_shared_inputs(inputs).model_copy(update=asked)


def first_view() -> View:
    """Return the first view of the page: an embedded model, a sentence with a contrast, and two methods."""
    return View(
        model="embedded:bert-mini-sst2",
        text="The first act drags a little, but the ending is so beautiful that I forgave everything.",
        methods=(Choice(method="integrated_gradients"), Choice(method="kernel_shap")),
    )


def shows(request: Request) -> View | None:
    """Return the view of ``request`` for an attribution, or for its comparison with random ones; None for any other."""
    if kind_of(request) == "attribution":
        choice = Choice(method=request.question, parameters=request.parameters)
    elif request.question == Trust.id and request.text is not None:
        choice = Choice(method=request.parameters["method"], parameters=request.parameters["settings"])
    else:
        return None
    values = request.model_dump(include=View.model_fields.keys() - {"methods", "output"})
    output = "own" if request.output == choice.own_output else request.output
    return validated(View, **values, methods=(choice,), output=output)


FORM = Form(question, View)


def draw_options(card: ModelCard | None, run: Callable[[], None]) -> None:
    """Draw methods, target, output and unit, with everything rarer behind *More* and *Parameters*."""
    chosen, guide = st.columns([5, 1.6], vertical_alignment="bottom")
    with chosen:
        FORM.draw("methods")
    with guide:
        draw_guide_button()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        FORM.draw("main", card, run)
        with st.popover("More", icon=":material/tune:", width="content"):
            _draw_more()
        st.button("Explain", type="primary", icon=":material/play_arrow:", on_click=run, width="content")


def _draw_more() -> None:
    FORM.draw("more")
    for method_id in _with_controls():
        method = get_method(method_id)
        specs = method.parameter_specs()
        if specs:
            st.markdown(f"**{plain(method.label)}**")
        for spec in specs:
            bring = partial(_bring_what_belongs_to, method, spec) if spec.choices else None
            control_of(spec, _name(method.id, spec.name), then=bring).draw(Drawing(question))


def _bring_what_belongs_to(method: Method, spec: ParameterSpec) -> None:
    """Set the parameters whose default depends on that of ``spec`` to their defaults for the new choice."""
    defaults = {choice: parse(method, {spec.name: choice}).model_dump(mode="json") for choice in spec.choices}
    chosen = defaults[st.session_state[question.key(_name(method.id, spec.name))]]
    for other in method.parameter_specs():
        value = chosen[other.name]
        if other.name != spec.name and any(values[other.name] != value for values in defaults.values()):
            st.session_state[question.key(_name(method.id, other.name))] = other.written(value)


def _with_controls() -> list[str]:
    """Return the ids of the chosen methods whose parameters are set by controls."""
    return [name for name in question.now("methods") if name in methods()]


def _choices() -> Iterator[Choice]:
    """Yield the chosen methods, with the parameters of the controls or the typed options."""
    for name in question.now("methods"):
        if name in methods():
            yield Choice(method=name, parameters=_chosen(get_method(name)))
        else:
            yield from map(Choice.of, swept(name))


def _chosen(method: Method) -> dict[str, Any]:
    """Return the parameters of ``method`` that the page holds; the rest keep their defaults."""
    keys = {spec.name: question.key(_name(method.id, spec.name)) for spec in method.parameter_specs()}
    return {name: st.session_state[key] for name, key in keys.items() if st.session_state.get(key) is not None}


def _name(method_id: str, parameter: str) -> str:
    """Return the control of a method's parameter."""
    return f"{method_id}_{parameter}"


PAGE = AnalysisPage(NAME, form=FORM, first=first_view, button="Explain", shows=shows)
