"""The form of the Candidates page: a text and how its candidates are drawn, and the requests that these make."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, get_args

import streamlit as st
from pydantic import Field

from explainlab.analyses.ablation.analysis import TABLE_6, Ablation
from explainlab.analyses.candidates.analysis import Family, RpiCandidates
from explainlab.analyses.candidates.result import CandidatesText
from explainlab.analyses.judged_map.analysis import EvaluatedAttribution
from explainlab.app.components import bring_into_view
from explainlab.app.data_set import data_choice, data_controls
from explainlab.app.glossary import explained
from explainlab.app.page import AnalysisPage
from explainlab.app.question import Question, card_of, chip
from explainlab.app.view import AnalysisView, ChosenData, view_of
from explainlab.attribution.diffusion import PresetId
from explainlab.attribution.random_maps import AttentionParameters
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import Search
from explainlab.figures.palette import DEFAULT, PaletteName, Scale
from explainlab.metrics.registry import metric_ids, parse_metric
from explainlab.models.loading import ModelCard
from explainlab.models.model import Architecture
from explainlab.request import Dtype, Output, Request, Unit, validated
from explainlab.service.service import Service

METRICS = tuple(metric_ids("Perturbation"))
_OF_LAYERS = ("preset", "layers")


class DataChoice(ChosenData):
    """A data set to be studied."""

    rows: int = Field(20, ge=1)


class CandidatesView(AnalysisView):
    """All candidates of one text by one model, and optionally a data set.

    ``sort`` is the metric that is reported and sorted by, ``across`` and ``up`` are those of the scatter, by their keys
    in the study; ``picked`` is the candidate that is open (None: the best by ``sort``).
    """

    page: Literal["candidates"] = "candidates"
    model: str
    text: str
    text_pair: str | None = None
    target: str = "predicted"
    output: Output = "probability"
    unit: Unit = "token"
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Dtype = "float32"
    family: Family = "rpi"
    preset: PresetId = "paper"
    layers: str = "last"
    samples: int = 8
    steps: int = 10
    timesteps: int = 500
    search: Search = "random"
    metrics: tuple[str, ...] = METRICS
    sort: str = "comprehensiveness"
    across: str = "sufficiency"
    up: str = "comprehensiveness"
    picked: int | None = Field(None, ge=0)
    palette: PaletteName = DEFAULT
    scale: Scale = "shared"
    data: DataChoice | None = None

    def text_request(self) -> Request:
        """Return the request for all candidates of the text."""
        return self._request(text=self.text, text_pair=self.text_pair)

    def text_requests(self) -> list[Request]:
        """Return the requests of the text's section."""
        return [self.text_request()]

    def data_request(self) -> Request | None:
        """Return the request for the same of each text of the data set."""
        return None if self.data is None else self._request(self.data.drawn, **self.data.subject)

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

    def same_setting(self, other: CandidatesView) -> bool:
        """Return True if both have the same model and settings, so that a data set's results belong to both."""
        return self._setting() == other._setting()

    def _shared(self) -> dict[str, Any]:
        return self.model_dump(include={"model", "target", "output", "unit", "seed", "dtype"})

    def _setting(self) -> dict[str, Any]:
        """Return the request's fields but for its text or data set."""
        own = {"family": self.family, "samples": self.samples, "search": self.search, "metrics": list(self.metrics)}
        return {**self._shared(), "parameters": {**self._of_family(self.family), **own}}

    def _of_family(self, family: str) -> dict[str, Any]:
        """Return the parameters of a candidate of ``family``; a family without layers and preset has none."""
        has_layers = issubclass(get_method(family).Parameters, AttentionParameters)
        return {name: getattr(self, name) for name in ("steps", "timesteps", *(_OF_LAYERS if has_layers else ()))}

    def _request(self, drawn: dict[str, Any] | None = None, **subject: Any) -> Request:
        setting = self._setting()
        parameters = {**setting.pop("parameters"), **(drawn or {})}
        return validated(Request, question=RpiCandidates.id, **setting, **subject, parameters=parameters)


def first_view() -> CandidatesView:
    """Return the first view of the page: an embedded model, a sentence with a contrast, and a small question."""
    return CandidatesView(
        model="embedded:bert-mini-sst2",
        text="The first act drags a little, but the ending is so beautiful that I forgave everything.",
    )


def shows(request: Request) -> CandidatesView | None:
    """Return the view that shows the answer to ``request``; None for the request of another analysis."""
    if request.question != RpiCandidates.id:
        return None
    return view_of(CandidatesView, request, request.parameters, first_view().text, ())


NAME = "candidates"
question = Question(NAME)

_ASKED = (
    "model",
    "text",
    "target",
    "output",
    "unit",
    "family",
    "preset",
    "layers",
    "samples",
    "steps",
    "timesteps",
    "search",
    "seed",
    "dtype",
)
DRAWN = ("palette", "sort", "across", "up", "picked", "scale")
"""Choices that need no other answer."""
_HELP = {name: field.description for name, field in RpiCandidates.Parameters.model_fields.items()}
_SEARCHES = {"random": "Random", "adaptive": "Adaptive"}
_PRESETS = {"paper": "The paper", "reference": "Its authors' code"}
_MOST = 10_000
_MOST_TIMESTEPS = 100_000


def seed_controls(view: CandidatesView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in (*_ASKED, *DRAWN)}
    data = view.data or DataChoice(source="embedded:sentiment", sample="random")
    values |= {"metrics": list(view.metrics), **question.text_controls(view), **data_controls(data)}
    question.seed(values, force)


def draft() -> CandidatesView:
    """Return the view that the controls describe now; raises ``RequestError`` for an invalid one."""
    return validated(
        CandidatesView,
        **{name: question.now(name) for name in (*_ASKED, *DRAWN)},
        text_pair=question.text_pair,
        metrics=tuple(question.now("metrics")),
        data=validated(DataChoice, **data_choice(question)),
    )


def draw_text_controls(run: Callable[[], None], label: str) -> ModelCard | None:
    """Draw the question about one text; an input that asks for an answer calls ``run``.

    So does the button with this ``label``.
    """
    card = question.draw(run)
    _draw_method(card, run)
    _draw_budget()
    metrics, button = st.columns([9, 2], vertical_alignment="bottom")
    metrics.multiselect(
        "Metrics",
        list(dict.fromkeys([*METRICS, *question.now("metrics")])),
        question.now("metrics"),
        key=question.key("metrics"),
        accept_new_options=True,
        format_func=partial(chip, parse_metric),
        placeholder="Choose one or more metrics",
        help=explained(
            "To set options, type a metric's id and its options: log_odds:k=10, comprehensiveness:preset=eraser.",
            *METRICS,
        ),
    )
    button.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")
    return card


def draw_data_controls(card: ModelCard | None, run: Callable[[], None]) -> None:
    """Draw the question about a data set."""
    source, rows, button = st.columns([4, 4, 3], vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    button.button("Study the data set", icon=":material/dataset:", on_click=run, width="stretch")


def _draw_method(card: ModelCard | None, run: Callable[[], None]) -> None:
    """Draw the text, the target, and the method."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_target(card)
        question.draw_output()
        question.draw_unit()
        families = {name: get_method(name).label for name in get_args(Family)}
        question.select("Method", "family", families, explained("The method that makes the maps.", *families))
        presets = {name: _PRESETS[name] for name in get_args(PresetId)}
        question.select("Preset", "preset", presets, _HELP["preset"], _bring_what_belongs_to_the_preset)
        st.text_input(
            "Layers",
            question.now("layers"),
            key=question.key("layers"),
            on_change=run,
            help=f"{_HELP['layers']} Methods on word embeddings have neither layers nor presets.",
        )


def _bring_what_belongs_to_the_preset() -> None:
    parameters = {"preset": question.now("preset")}
    question.set("layers", AttentionParameters(**parameters).layers)
    question.set("output", get_method("rpi").default_output(parameters))


def _draw_budget() -> None:
    """Draw the number of candidates, the way they are drawn, and the colours of heatmaps."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.draw_number("Draws R", "samples", _MOST, f"{_HELP['samples']} As many for each layer.")
        question.draw_number("Steps n", "steps", _MOST, _HELP["steps"])
        question.draw_number("Timesteps T", "timesteps", _MOST_TIMESTEPS, _HELP["timesteps"])
        question.choose("Search", "search", {name: _SEARCHES[name] for name in get_args(Search)}, _HELP["search"])
        question.draw_palette()


OPENED = "candidates_opened"
"""The container of the open map."""

PAGE = AnalysisPage(
    NAME,
    question=question,
    record=CandidatesView,
    first=first_view,
    seed=seed_controls,
    draft=draft,
    button="Draw candidates",
    drawn=DRAWN,
    shows=shows,
)


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
