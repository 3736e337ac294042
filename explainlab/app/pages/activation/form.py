"""The form of the Activation page: a text and its methods, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import streamlit as st
from pydantic import Field

from explainlab.analyses.activation.analysis import Activation
from explainlab.analyses.registry import new_request
from explainlab.app.data_set import data_choice, data_controls
from explainlab.app.glossary import explained
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question, chip
from explainlab.app.view import AnalysisView, ChosenData, view_of
from explainlab.attribution.registry import get_method, parse_spec
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.metrics.presets import Filler
from explainlab.models.loading import ModelCard
from explainlab.request import Output, Request, Unit, validated

SAMPLES = 16
"""Times the number of features: the samples of the reference."""
Reference = Literal["", "kernel_shap:samples=16n"]


class DataChoice(ChosenData):
    """A data set to be studied, and the reference method."""

    rows: int = Field(20, ge=1)
    reference: Reference = ""


class ActivationView(AnalysisView):
    """One text and one model, revealed by any number of methods, and optionally a data set.

    ``methods`` may have options after colons; random is among them whether it is named or not. ``output``: ``own`` is
    each method's own.
    """

    page: Literal["activation"] = "activation"
    model: str
    text: str
    text_pair: str | None = None
    target: str = "predicted"
    output: Output | Literal["own"] = "own"
    unit: Unit = "word"
    methods: tuple[str, ...]
    baseline: Filler = "mask"
    palette: PaletteName = DEFAULT
    data: DataChoice | None = None

    def text_request(self) -> Request:
        """Return the request for both curves of every method, for the text."""
        return self._request(text=self.text, text_pair=self.text_pair)

    def text_requests(self) -> list[Request]:
        """Return the requests of the section about the text."""
        return [self.text_request()]

    def data_request(self) -> Request | None:
        """Return the request for the same of each text of the data set."""
        data = self.data
        if data is None:
            return None
        return self._request({**data.drawn, "reference": data.reference}, **data.subject)

    def map_request(self, method: str) -> Request:
        """Return the request for one method's attribution of the text, of its own output unless all have one."""
        output = get_method(method).default_output({}) if self.output == "own" else self.output
        shared = {**self._shared(), "output": output}
        return validated(Request, **shared, text=self.text, text_pair=self.text_pair, question=method)

    def method_labels(self) -> list[str]:
        return [chip(parse_spec, name) for name in self.methods]

    def same_setting(self, other: ActivationView) -> bool:
        """Return True if both have the same model and settings, so that a data set's results belong to both."""
        names = ("model", "target", "output", "unit", "methods", "baseline")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def _shared(self) -> dict[str, Any]:
        return self.model_dump(include={"model", "target", "unit"})

    def _request(self, more: dict[str, Any] | None = None, **subject: Any) -> Request:
        parameters = {"methods": list(self.methods), "baseline": self.baseline, **(more or {})}
        output = None if self.output == "own" else self.output
        return new_request(question=Activation.id, **self._shared(), **subject, output=output, parameters=parameters)


def first_view() -> ActivationView:
    """Return the first view of the page: an embedded decoder, a sentence between topics, and a small question."""
    return ActivationView(
        model="embedded:gpt2-mini-ag-news",
        text="The champion sued the phone maker for using his name in a game, and the court in Geneva agreed.",
        methods=("occlusion", "input_x_gradient"),
    )


def shows(request: Request) -> ActivationView | None:
    """Return the view that shows the answer to ``request``; None for the request of another analysis."""
    if request.question != Activation.id:
        return None
    own = request.output == "probability" and request.parameters["outputs"] == "own"
    parameters = {**request.parameters, "output": "own" if own else request.output}
    return view_of(ActivationView, request, parameters, first_view().text, ("reference",))


NAME = "activation"
question = Question(NAME)

_ASKED = ("model", "text", "target", "output", "unit", "baseline", "palette")
_HELP = {name: field.description or "" for name, field in Activation.Parameters.model_fields.items()}
_REFERENCES = {"": "None", "kernel_shap:samples=16n": "KernelSHAP, 16n samples"}


def seed_controls(view: ActivationView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in _ASKED}
    values |= {"methods": list(view.methods), **question.text_controls(view)}
    data = view.data or DataChoice(source="embedded:news", sample="random")
    values |= {**data_controls(data), "reference": data.reference}
    question.seed(values, force)


def draft() -> ActivationView:
    """Return the view that the controls describe now; raises ``RequestError`` for an invalid one."""
    return validated(
        ActivationView,
        **{name: question.now(name) for name in _ASKED},
        text_pair=question.text_pair,
        methods=tuple(question.now("methods")),
        data=validated(DataChoice, **data_choice(question), reference=question.now("reference")),
    )


def draw_text_controls(run: Callable[[], None], label: str) -> ModelCard | None:
    """Draw the question about one text; an input that asks for an answer calls ``run``.

    So does the button with this ``label``.
    """
    card = question.draw(run)
    question.draw_methods(card)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_target(card)
        question.draw_outputs()
        question.draw_unit("What is revealed at each step.")
        fillers = {name: name for name in get_args(Filler)}
        question.select("Baseline", "baseline", fillers, explained(_HELP["baseline"], "baseline"))
        question.draw_palette()
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")
    return card


def draw_data_controls(card: ModelCard | None, run: Callable[[], None]) -> None:
    """Draw the question about a data set."""
    source, rows, reference, button = st.columns([4, 4, 3, 3], vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    with reference:
        names = {name: _REFERENCES[name] for name in get_args(Reference)}
        question.select(
            "Compare maps with", "reference", names, "How similar is each method's map to the map of this method?"
        )
    button.button("Study the data set", icon=":material/dataset:", on_click=run, width="stretch")


PAGE = AnalysisPage(
    NAME,
    question=question,
    record=ActivationView,
    first=first_view,
    seed=seed_controls,
    draft=draft,
    button="Reveal",
    drawn=("palette",),
    shows=shows,
)
