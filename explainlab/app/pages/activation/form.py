"""The form of the Activation page: a text and its methods, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

import streamlit as st

from explainlab.analyses.activation.analysis import Activation
from explainlab.app.controls import UNIT, Control, Form, Methods, Outputs, Palette, RowCount, Within
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question, chip
from explainlab.app.view import ChosenData, TextView, made_once, view_of
from explainlab.attribution.registry import get_method, parse_spec
from explainlab.figures.palette import DEFAULT
from explainlab.metrics.presets import Filler
from explainlab.models.loading import ModelCard
from explainlab.request import Request, Unit, validated

Reference = Literal["", "kernel_shap:samples=16n"]
_REFERENCES = {"": "None", "kernel_shap:samples=16n": "KernelSHAP, 16n samples"}
_REFERENCE = Control(
    "Compare maps with",
    "How similar is each method's map to the map of this method?",
    row="data",
    width=3,
    options=_REFERENCES,
)
_UNIT = replace(UNIT, help="What is revealed at each step.")
_BASELINE = Control(help=Activation.Parameters.model_fields["baseline"].description or "", words=("baseline",))


class DataChoice(ChosenData):
    """A data set to be studied, and the reference method."""

    rows: RowCount = 20
    reference: Annotated[Reference, _REFERENCE] = ""


class ActivationView(TextView):
    """One text and one model, revealed by any number of methods, and optionally a data set.

    ``methods`` may have options after colons; random is among them whether it is named or not. ``output``: ``own`` is
    each method's own.
    """

    page: Literal["activation"] = "activation"
    output: Outputs = "own"
    unit: Annotated[Unit, _UNIT] = "word"
    methods: Methods
    baseline: Annotated[Filler, _BASELINE] = "mask"
    palette: Palette = DEFAULT
    data: Annotated[DataChoice | None, Within(first=DataChoice(source="embedded:news", sample="random"))] = None

    def text_request(self) -> Request:
        """Return the request for both curves of every method, for the text."""
        return self.text_requests()[0]

    @made_once
    def text_requests(self) -> list[Request]:
        """Return the requests of the section about the text."""
        return [self.asks(Activation.id)]

    def data_request(self) -> Request | None:
        """Return the request for the same of each text of the data set."""
        return None if self.data is None else self.asks(Activation.id, self.data)

    def map_request(self, method: str) -> Request:
        """Return the request for one method's attribution of the text, of its own output unless all have one."""
        output = get_method(method).default_output({}) if self.output == "own" else self.output
        shared = self.model_dump(include={"model", "target", "unit", "text", "text_pair"})
        return validated(Request, **shared, output=output, question=method)

    def method_labels(self) -> list[str]:
        return [chip(parse_spec, name) for name in self.methods]


def first_view() -> ActivationView:
    """Return the first view of the page: an embedded decoder, a sentence between topics, and a small question."""
    return ActivationView(
        model="embedded:gpt2-mini-ag-news",
        text="The champion sued the phone maker for using his name in a game, and the court in Geneva agreed.",
        methods=("occlusion", "input_x_gradient"),
    )


def shows(request: Request) -> ActivationView | None:
    """Return the view that shows the answer to ``request``; None for the request of another analysis."""
    return view_of(first_view(), request) if request.question == Activation.id else None


NAME = "activation"
question = Question(NAME)
FORM = Form(question, ActivationView)


def draw_text_controls(run: Callable[[], None], label: str) -> ModelCard | None:
    """Draw the question about one text; an input that asks for an answer calls ``run``.

    So does the button with this ``label``.
    """
    card = question.draw(run)
    FORM.draw("methods", card, run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        FORM.draw("main", card, run)
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")
    return card


PAGE = AnalysisPage(NAME, form=FORM, first=first_view, button="Reveal", shows=shows)
