"""What the Candidates page shows, as one plain record: the body of a link."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field

from explainlab.analyses.ablation.analysis import TABLE_6, Ablation
from explainlab.analyses.candidates.analysis import Family, RpiCandidates
from explainlab.analyses.candidates.result import CandidatesText
from explainlab.analyses.judged_map.analysis import EvaluatedAttribution
from explainlab.app.question import card_of
from explainlab.app.view import AnalysisView, ChosenData, view_of
from explainlab.attribution.diffusion import PresetId
from explainlab.attribution.random_maps import AttentionParameters
from explainlab.attribution.registry import get_method
from explainlab.attribution.selection import Search
from explainlab.figures.palette import DEFAULT, PaletteName, Scale
from explainlab.metrics.registry import metric_ids
from explainlab.models.architectures import Architecture
from explainlab.request import Dtype, Output, Request, Unit, checked

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
        """All candidates of the text."""
        return self._request(text=self.text, text_pair=self.text_pair)

    def text_requests(self) -> list[Request]:
        """The requests of the text's section."""
        return [self.text_request()]

    def data_request(self) -> Request | None:
        """The same for each text of the data set."""
        return None if self.data is None else self._request(self.data.drawn, **self.data.subject)

    def data_requests(self) -> list[Request]:
        """Of a single cell all candidates; of several the methods with equal budgets, which tells them apart."""
        if len(self.cells) < 2:
            return super().data_requests()
        cards = {model: card_of(model) for model, _ in self.cells}
        architectures = {model: card.architecture if card else None for model, card in cards.items()}
        return [self.of_cell(*cell).ablation(architectures[cell[0]], of_data=True) for cell in self.cells]

    def metric_result(self, body: CandidatesText, candidate: int) -> Request:
        """The texts behind the metrics of one ``candidate`` of the text's ``body``."""
        parameters = {"scores": body.candidates[candidate].scores, "metrics": list(self.metrics)}
        shared = {**self._shared(), "target": body.target.label}
        return checked(
            Request,
            question=EvaluatedAttribution.id,
            **shared,
            text=self.text,
            text_pair=self.text_pair,
            parameters=parameters,
        )

    def ablation(self, architecture: Architecture | None, of_data: bool) -> Request:
        """The methods that the ``architecture`` supports, with as many attributions, of the text or of the data set."""
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
        return checked(Request, question=Ablation.id, **self._shared(), **source, parameters=parameters)

    def method_labels(self) -> list[str]:
        return [get_method(self.family).label]

    def same_setting(self, other: CandidatesView) -> bool:
        """Whether both have the same model and settings, so that a data set's results belong to both."""
        return self._setting() == other._setting()

    def _shared(self) -> dict[str, Any]:
        return self.model_dump(include={"model", "target", "output", "unit", "seed", "dtype"})

    def _setting(self) -> dict[str, Any]:
        """The request's fields but for its text or data set."""
        own = {"family": self.family, "samples": self.samples, "search": self.search, "metrics": list(self.metrics)}
        return {**self._shared(), "parameters": {**self._of_family(self.family), **own}}

    def _of_family(self, family: str) -> dict[str, Any]:
        """The parameters of a candidate of ``family``; a family without layers and preset has none."""
        has_layers = issubclass(get_method(family).Parameters, AttentionParameters)
        return {name: getattr(self, name) for name in ("steps", "timesteps", *(_OF_LAYERS if has_layers else ()))}

    def _request(self, drawn: dict[str, Any] | None = None, **subject: Any) -> Request:
        setting = self._setting()
        parameters = {**setting.pop("parameters"), **(drawn or {})}
        return checked(Request, question=RpiCandidates.id, **setting, **subject, parameters=parameters)


def first_view() -> CandidatesView:
    """What the page opens with: an embedded model, a sentence with a contrast in it, and little to compute."""
    return CandidatesView(
        model="embedded:bert-mini-sst2",
        text="The first act drags a little, but the ending is so beautiful that I forgave everything.",
    )


def shows(request: Request) -> CandidatesView | None:
    """The view that shows the answer to ``request``; None for the request of another analysis."""
    if request.question != RpiCandidates.id:
        return None
    return view_of(CandidatesView, request, request.parameters, first_view().text, ())
