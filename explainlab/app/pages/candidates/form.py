"""The form of the Candidates page: a text and how its candidates are drawn, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

import streamlit as st
from pydantic import Field

from explainlab.analyses.ablation.analysis import TABLE_6, Ablation
from explainlab.analyses.candidates.analysis import Family, RpiCandidates
from explainlab.analyses.candidates.result import CandidatesText
from explainlab.analyses.judged_map.analysis import EvaluatedAttribution
from explainlab.app.components import bring_into_view
from explainlab.app.controls import PALETTE, REDRAW, Control, Form, OneOutput, RowCount, Scored, Seed, Several, Within
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question, card_of
from explainlab.app.view import ChosenData, TextView, made_once, view_of
from explainlab.attribution.diffusion import PresetId
from explainlab.attribution.random_maps import AttentionParameters
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import Search
from explainlab.figures.palette import DEFAULT, PaletteName, Scale
from explainlab.metrics.registry import metric_ids, parse_metric
from explainlab.models.loading import ModelCard
from explainlab.models.model import Architecture
from explainlab.request import Dtype, Request, validated
from explainlab.service.service import Service

METRICS = tuple(metric_ids("Perturbation"))
NAME = "candidates"
question = Question(NAME)
_OF_LAYERS = ("preset", "layers")
_HELP = {name: field.description or "" for name, field in RpiCandidates.Parameters.model_fields.items()}


def _bring_what_belongs_to_the_preset() -> None:
    parameters = {"preset": question.now("preset")}
    question.set("layers", AttentionParameters(**parameters).layers)
    question.set("output", get_method("rpi").default_output(parameters))


def _budget(label: str, help_text: str, most: int = 10_000) -> Control:
    return Control(label, help_text, row="budget", least=1, most=most)


_FAMILY = Control(
    "Method",
    "The method that makes the maps.",
    words=get_args(Family),
    options=lambda at: {name: get_method(name).label for name in get_args(Family)},
)
_PRESET = Control(
    options={"paper": "The paper", "reference": "Its authors' code"},
    help=_HELP["preset"],
    then=_bring_what_belongs_to_the_preset,
)
_LAYERS = Control(
    help=f"{_HELP['layers']} Methods on word embeddings have neither layers nor presets.",
    runs=True,
)
_SEARCH = Control(help=_HELP["search"], row="budget", options={"random": "Random", "adaptive": "Adaptive"}, radio=True)
_METRICS = Several(
    "Metrics",
    "To set options, type a metric's id and its options: log_odds:k=10, comprehensiveness:preset=eraser.",
    row="metrics",
    width=9,
    words=METRICS,
    options=dict.fromkeys(METRICS, ""),
    open=True,
    parse=parse_metric,
    placeholder="Choose one or more metrics",
)


class DataChoice(ChosenData):
    """A data set to be studied."""

    rows: RowCount = 20


class CandidatesView(TextView):
    """All candidates of one text by one model, and optionally a data set.

    ``sort`` is the metric that is reported and sorted by, ``across`` and ``up`` are those of the scatter, by their keys
    in the study; ``picked`` is the candidate that is open (None: the best by ``sort``).
    """

    page: Literal["candidates"] = "candidates"
    output: OneOutput = "probability"
    unit: Scored = "token"
    seed: Seed = 0
    dtype: Dtype = "float32"
    family: Annotated[Family, _FAMILY] = "rpi"
    preset: Annotated[PresetId, _PRESET] = "paper"
    layers: Annotated[str, _LAYERS] = "last"
    samples: Annotated[int, _budget("Draws R", f"{_HELP['samples']} As many for each layer.")] = 8
    steps: Annotated[int, _budget("Steps n", _HELP["steps"])] = 10
    timesteps: Annotated[int, _budget("Timesteps T", _HELP["timesteps"], most=100_000)] = 500
    search: Annotated[Search, _SEARCH] = "random"
    metrics: Annotated[tuple[str, ...], _METRICS] = METRICS
    sort: Annotated[str, REDRAW] = "comprehensiveness"
    across: Annotated[str, REDRAW] = "sufficiency"
    up: Annotated[str, REDRAW] = "comprehensiveness"
    picked: Annotated[int | None, REDRAW, Field(ge=0)] = None
    palette: Annotated[PaletteName, replace(PALETTE, row="budget")] = DEFAULT
    scale: Annotated[Scale, REDRAW] = "shared"
    data: Annotated[DataChoice | None, Within(first=DataChoice(source="embedded:sentiment", sample="random"))] = None

    def text_request(self) -> Request:
        """Return the request for all candidates of the text."""
        return self.text_requests()[0]

    @made_once
    def text_requests(self) -> list[Request]:
        """Return the requests of the text's section."""
        return [self.asks(RpiCandidates.id, **self._without_layers)]

    def data_request(self) -> Request | None:
        """Return the request for the same of each text of the data set."""
        return None if self.data is None else self.asks(RpiCandidates.id, self.data, **self._without_layers)

    def data_requests(self) -> list[Request]:
        """Return the request for all candidates of a cell; for several cells, for the methods with equal budgets."""
        if len(self.cells) < 2:
            return super().data_requests()
        cards = {model: card_of(model) for model, _ in self.cells}
        architectures = {model: card.architecture if card else None for model, card in cards.items()}
        return [self.of_cell(*cell).ablation(architectures[cell[0]], of_data=True) for cell in self.cells]

    def metric_result(self, body: CandidatesText, candidate: int) -> Request:
        """Return the request for the texts behind the metrics of one ``candidate`` of the text's ``body``."""
        parameters = {"scores": body.candidates[candidate].scores, "metrics": list(self.metrics)}
        shared = {**self._shared(), "target": body.target.label}
        return validated(
            Request,
            question=EvaluatedAttribution.id,
            **shared,
            text=self.text,
            text_pair=self.text_pair,
            parameters=parameters,
        )

    def ablation(self, architecture: Architecture | None, of_data: bool) -> Request:
        """Return the request for the methods that the ``architecture`` supports, with as many attributions."""
        methods = [name for name in TABLE_6 if architecture is None or not get_method(name).unsupported(architecture)]
        settings = {name: self._of_family(name) for name in methods if name in get_args(Family)}
        parameters = {
            "methods": methods,
            "samples": self.samples,
            "metrics": list(self.metrics),
            "settings": {name: {**values, "samples": self.samples} for name, values in settings.items()},
        }
        source: dict[str, Any] = {"text": self.text, "text_pair": self.text_pair}
        if of_data and self.data:
            parameters |= self.data.drawn
            source = self.data.subject
        return validated(Request, question=Ablation.id, **self._shared(), **source, parameters=parameters)

    def method_labels(self) -> list[str]:
        return [get_method(self.family).label]

    def _shared(self) -> dict[str, Any]:
        return self.model_dump(include={"model", "target", "output", "unit", "seed", "dtype"})

    def _of_family(self, family: str) -> dict[str, Any]:
        """Return the parameters of a candidate of ``family``; a family without layers and preset has none."""
        has_layers = issubclass(get_method(family).Parameters, AttentionParameters)
        return {name: getattr(self, name) for name in ("steps", "timesteps", *(_OF_LAYERS if has_layers else ()))}

    @property
    def _without_layers(self) -> dict[str, Any]:
        """The defaults of the parameters that the family does not have."""
        own, defaults = self._of_family(self.family), RpiCandidates.Parameters.model_fields
        return {name: defaults[name].default for name in _OF_LAYERS if name not in own}


def first_view() -> CandidatesView:
    """Return the first view of the page: an embedded model, a sentence with a contrast, and a small question."""
    return CandidatesView(
        model="embedded:bert-mini-sst2",
        text="The first act drags a little, but the ending is so beautiful that I forgave everything.",
    )


def shows(request: Request) -> CandidatesView | None:
    """Return the view that shows the answer to ``request``; None for the request of another analysis."""
    return view_of(first_view(), request) if request.question == RpiCandidates.id else None


FORM = Form(question, CandidatesView)


def draw_text_controls(run: Callable[[], None], label: str) -> ModelCard | None:
    """Draw the question about one text; an input that asks for an answer calls ``run``.

    So does the button with this ``label``.
    """
    card = question.draw(run)
    for row in ("main", "budget"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            FORM.draw(row, card, run)
    (button,) = FORM.columns("metrics", 2, card=card, run=run)
    button.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")
    return card


OPENED = "candidates_opened"
"""The container of the open map."""

PAGE = AnalysisPage(NAME, form=FORM, first=first_view, button="Draw candidates", shows=shows)


def ask_text(service: Service) -> None:
    """Ask about the text, with no candidate picked yet (a callback)."""
    pick(None)
    PAGE.ask_text(service)


def open_text(service: Service, text: str, pair: str | None) -> None:
    """Put a text of the data set into the section above and ask about it (a callback)."""
    pick(None)
    PAGE.open_text(service, text, pair)


def pick(candidate: int | None) -> None:
    """Open the map of a candidate and go to it (a callback); None: of the best."""
    question.set("picked", candidate)
    if candidate is not None:
        bring_into_view(OPENED)
