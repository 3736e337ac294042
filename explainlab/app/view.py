"""The content of a page as a plain record: the body of a link, and the requests that it needs."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Annotated, Any, Self, TypedDict, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field

from explainlab.analyses.parameters import Sample
from explainlab.analyses.registry import get_study, new_request
from explainlab.app.controls import (
    REDRAW,
    Further,
    FurtherReadings,
    ReadAs,
    RowCount,
    SecondText,
    Source,
    Target,
    Within,
    controls_of,
)
from explainlab.errors import ExplainLabError
from explainlab.figures.palette import PaletteName
from explainlab.models.loading import model_name
from explainlab.request import Dtype, Output, Request, Unit, validated

V = TypeVar("V", bound="AnalysisView")
_BEGIN = 48  # characters of the text in a line
MOST_FURTHER = 20
"""Further models, and further data sets."""


class SharedInputs(TypedDict, total=False):
    """The inputs that pages share: a model, a text or a data set, the settings of the question, and those of drawing.

    Those of :data:`_TRAVELS` travel with the reader from page to page, the others only with a text that is opened
    elsewhere. ``methods`` may have options after colons.
    """

    model: str
    text: str
    text_pair: str | None
    target: str
    unit: Unit
    source: str
    columns: dict[str, str]
    classes: dict[str, str]
    method: str
    methods: tuple[str, ...]
    output: Output
    seed: int
    dtype: Dtype
    palette: PaletteName


_ASKED = ("model", "target", "output", "unit", "seed", "dtype")
_TRAVELS = ("model", "text", "text_pair", "target", "unit", "source", "columns", "classes")


def carried_by(record: BaseModel) -> SharedInputs:
    """Return the inputs that travel from a view or a request to another page."""
    fields = {name: getattr(record, name) for name in _TRAVELS if name in type(record).model_fields}
    return cast(SharedInputs, fields)


def beginning(text: str) -> str:
    """Return the first words of ``text`` in a line."""
    text = " ".join(text.split())
    return text if len(text) <= _BEGIN else f"{text[:_BEGIN].rstrip()}…"


class Reading(BaseModel):
    """The reading of a file: ``columns`` and ``classes`` as for :func:`explainlab.data.read_dataset`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: Annotated[dict[str, str], ReadAs()] = Field(default_factory=dict)
    classes: Annotated[dict[str, str], ReadAs()] = Field(default_factory=dict)


class DataSource(Reading):
    """A data set, an embedded id or a file's path, and how it is read."""

    source: Annotated[str, Source(key="data", row="data", width=4)]

    @property
    def subject(self) -> dict[str, Any]:
        """The fields of a request about the data set."""
        return {"data": self.source, "columns": self.columns, "classes": self.classes}


class ChosenSets(DataSource):
    """A data set, with further ones beside it.

    ``models`` and ``sources`` are further models and data sets: every model is studied on every data set. ``readings``
    say how further files are read, those whose own column names do not do. ``by`` is what is measured in the tables
    over all cells, ``on`` the data set of their figures; empty: the first.
    """

    models: Annotated[tuple[str, ...], Further()] = Field((), max_length=MOST_FURTHER)
    sources: Annotated[tuple[str, ...], Further()] = Field((), max_length=MOST_FURTHER)
    readings: Annotated[dict[str, Reading], FurtherReadings()] = Field(default_factory=dict)
    by: Annotated[str, REDRAW] = ""
    on: Annotated[str, REDRAW] = ""

    def cells_with(self, model: str) -> list[tuple[str, str]]:
        """Return every model with every data set, ``model`` being the first."""
        models = dict.fromkeys((model, *self.models))
        return [(name, source) for name in models for source in dict.fromkeys((self.source, *self.sources))]

    def alone(self, source: str) -> Self:
        """Return the same for one of the data sets and one model."""
        reading = self if source == self.source else self.readings.get(source, Reading())
        read_as = {"columns": reading.columns, "classes": reading.classes}
        return self.model_copy(update={"source": source, **read_as, "models": (), "sources": (), "readings": {}})


class ChosenData(ChosenSets):
    """Data sets of which some rows are studied."""

    rows: RowCount = 100
    sample: Sample = "first"

    @property
    def drawn(self) -> dict[str, Any]:
        """The parameters that say which rows are studied."""
        return {"rows": self.rows, "sample": self.sample}


@dataclass(frozen=True)
class _Asked:
    """The fields of a ``view`` that its requests depend on."""

    record: type[AnalysisView]
    fields: str
    view: AnalysisView = field(compare=False)


def made_once(make: Callable[[Any], Sequence[Request]]) -> Callable[[Any], list[Request]]:
    """Return ``make``, which makes the requests of a view's text, so that equal views share them.

    Fields that only redraw, and the section about a data set, do not count.
    """

    @lru_cache(maxsize=64)
    def made(asked: _Asked) -> tuple[Request, ...]:
        return tuple(make(asked.view))

    @wraps(make)
    def requests(view: AnalysisView) -> list[Request]:
        unused = {name for name, control in controls_of(type(view)).items() if control.redraw}
        fields = view.model_dump(exclude=unused | {"data"})
        return list(made(_Asked(type(view), json.dumps(fields, sort_keys=True, default=str), view)))

    return requests


class AnalysisView(BaseModel, ABC):
    """The view of a page; choices of a section about a data set are in a field ``data``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def text_requests(self) -> Sequence[Request]:
        """Return the requests of the main part."""

    def data_request(self) -> Request | None:
        """Return the request of the section about a data set, its first cell; None without one."""
        return None

    @property
    def chosen(self) -> ChosenSets | None:
        """The models and data sets of its section about data sets; None without one."""
        chosen: ChosenSets | None = getattr(self, "data", None)
        return chosen

    @property
    def cells(self) -> list[tuple[str, str]]:
        """Every model with every data set that it studies."""
        return [] if self.chosen is None else self.chosen.cells_with(self.shared_inputs()["model"])

    def of_cell(self, model: str, source: str) -> Self:
        """Return the view of one model and one data set alone."""
        assert self.chosen is not None
        return self.model_copy(update={"model": model, "data": self.chosen.alone(source)})

    def data_requests(self) -> list[Request]:
        """Return the requests of the section about data sets, one for each cell."""
        requests = (self.of_cell(*cell).data_request() for cell in self.cells)
        return [request for request in requests if request is not None]

    def requests(self) -> list[Request]:
        """Return all requests; raises :class:`explainlab.errors.RequestError` for an invalid one."""
        return [*self.text_requests(), *self.data_requests()]

    def shown_requests(self) -> list[Request]:
        """Return all requests of its answers, also of sections with a button; raises as :meth:`requests`."""
        return self.requests()

    def same_setting(self, other: Self) -> bool:
        """Return True if the result of the data set of ``other`` fits this view: both make the same requests of it."""
        if "data" not in type(self).model_fields:
            return True
        data = {"data": other.chosen or first_data(type(self))}
        try:
            return self.model_copy(update=data).data_requests() == other.model_copy(update=data).data_requests()
        except ExplainLabError:
            return False

    def asks(self, question: str, data: DataSource | None = None, **own: Any) -> Request:
        """Return the request of a ``question`` about a data set (None: about the text), with the fields of this view.

        Each field of a request, and each parameter of the question, is the field of that name of this view or of
        ``data``, unless it is among its ``own``. Raises :class:`explainlab.errors.RequestError`.
        """
        values = {**dict(self), **({} if data is None else dict(data)), **own}
        known = get_study(question).Parameters.model_fields.keys() - (("rows", "sample") if data is None else ())
        fields = {name: values[name] for name in _ASKED if name in values}
        output = fields.pop("output", None)
        about = {"text": values["text"], "text_pair": values["text_pair"]} if data is None else data.subject
        return new_request(
            question=question,
            **fields,
            **about,
            output=None if output == "own" else output,
            parameters={name: _plain(value) for name, value in values.items() if name in known},
        )

    def method_labels(self) -> Sequence[str]:
        """Return the labels of its methods."""
        return ()

    @property
    def whole_data(self) -> str | None:
        """The data set, of a view that is about no single text."""
        return None

    def begin(self) -> str:
        """Return the beginning of the text; empty without a text."""
        return beginning(self.shared_inputs().get("text", ""))

    def line(self) -> str:
        """Return the question in a line: the model, how the text begins, and the methods."""
        fields, begin = self.shared_inputs(), self.begin()
        parts = [model_name(fields["model"]), f"“{begin}”" if begin else "", ", ".join(self.method_labels())]
        return " · ".join(part for part in parts if part)

    def shared_inputs(self) -> SharedInputs:
        """Return the inputs that travel from it to another page."""
        return carried_by(self)

    def with_shared_inputs(self, inputs: SharedInputs) -> Self:
        """Return this view with the ``inputs`` that it can take."""
        fields = {name: value for name, value in inputs.items() if name in type(self).model_fields}
        return self.model_copy(update=fields)


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


class TextView(AnalysisView):
    """The view of a page that is about one text."""

    model: str
    text: str
    text_pair: Annotated[str | None, SecondText()] = None
    target: Target = "predicted"


class DataView(ChosenData, AnalysisView):
    """The view of a page that is about data sets as a whole."""

    model: str

    @abstractmethod
    def request(self) -> Request:
        """Return the request of the first model on the first data set."""

    @made_once
    def text_requests(self) -> list[Request]:
        """Return the requests of all cells."""
        return [self.of_cell(*cell).request() for cell in self.cells]

    @property
    def chosen(self) -> ChosenData:
        """See :attr:`AnalysisView.chosen`."""
        return self

    def of_cell(self, model: str, source: str) -> Self:
        """See :meth:`AnalysisView.of_cell`."""
        return self.alone(source).model_copy(update={"model": model})

    @property
    def whole_data(self) -> str | None:
        """See :attr:`AnalysisView.whole_data`."""
        return self.source

    def line(self) -> str:
        """See :meth:`AnalysisView.line`."""
        several = len(self.cells)
        return super().line() if several == 1 else f"{super().line()} · {several} cells"


def view_of(first: V, request: Any, **more: Any) -> V:
    """Return the view that shows ``request``: its fields and parameters by their names, and ``more``; else defaults.

    ``first`` is the first view of the page, whose text stands above a data set.
    """
    record = type(first)
    fields, parameters = record.model_fields, {**request.parameters, **more}
    if request.output == "probability" and parameters.get("outputs") == "own":
        parameters["output"] = "own"
    values: dict[str, Any] = {**request.model_dump(exclude={"data", "parameters"}), **parameters}
    if request.data is not None:
        values["source"] = request.data
    if request.data is not None and "data" in fields:
        names = type(first_data(record)).model_fields
        values["data"] = {name: value for name, value in {**parameters, **values}.items() if name in names}
        values |= {"text": first.shared_inputs()["text"], "text_pair": None}
    return validated(record, **{name: value for name, value in values.items() if name in fields})


def first_data(record: type[AnalysisView]) -> BaseModel:
    """Return the data set that the controls of a ``record`` have at first, in a section beside that of the text."""
    control = controls_of(record)["data"]
    assert isinstance(control, Within)
    return control.first
