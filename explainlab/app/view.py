"""What a page shows, as a plain record: the body of a link, and the requests that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from explainlab.analyses.parameters import Sample
from explainlab.figures.palette import PaletteName
from explainlab.request import Output, Request, Unit, checked

V = TypeVar("V", bound="AnalysisView")


class ChosenData(BaseModel):
    """A data set: an embedded id or a file's path, which of its rows are studied, and how they are read.

    ``columns`` and ``classes`` as for :func:`explainlab.data.read_dataset`. Links without ``sample`` are older than
    that choice and show the first rows; whatever is new asks for random ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    rows: int = Field(100, ge=1)
    sample: Sample = "first"
    columns: dict[str, str] = Field(default_factory=dict)
    classes: dict[str, str] = Field(default_factory=dict)

    @property
    def subject(self) -> dict[str, Any]:
        """The fields of a request about the data set."""
        return {"data": self.source, "columns": self.columns, "classes": self.classes}

    @property
    def drawn(self) -> dict[str, Any]:
        """The parameters that say which rows are studied."""
        return {"rows": self.rows, "sample": self.sample}


class AnalysisView(BaseModel):
    """The view of a page; choices of a section about a data set are in a field ``data``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def text_requests(self) -> Sequence[Request]:
        """The requests of the main part."""
        raise NotImplementedError

    def data_request(self) -> Any:
        """The request of the section about a data set; None without one."""
        return None

    def requests(self) -> list[Request]:
        """All requests; raises :class:`explainlab.errors.RequestError` for an invalid one."""
        data = self.data_request()
        return [*self.text_requests(), *([data] if data else [])]

    def same_setting(self, other: Self) -> bool:
        """Whether both make the same request of the same model, so that a data set's result fits both."""
        return True


@dataclass(frozen=True)
class CarriedText:
    """A text that one page hands to another, with its model and how it was explained."""

    model: str
    text: str
    text_pair: str | None
    method: str
    output: Output
    unit: Unit
    palette: PaletteName


def with_text(view: V, carried: CarriedText) -> V:
    """``view`` with another text and another model."""
    text = {"model": carried.model, "text": carried.text, "text_pair": carried.text_pair}
    return view.model_copy(update=text)


def view_of(
    record: type[V],
    request: Any,
    parameters: Mapping[str, Any],
    text: str,
    data: Sequence[str],
) -> V:
    """The view of type ``record`` that shows ``request``: its fields and ``parameters``, else the defaults.

    For a request about a data set, ``data`` are the parameters that belong to it beside the choice of rows, and
    ``text`` is the text shown above.
    """
    fields = record.model_fields
    values = {name: value for name, value in request.model_dump().items() if name in fields and name != "data"}
    values |= {name: value for name, value in parameters.items() if name in fields}
    if request.data is not None:
        chosen = {name: parameters[name] for name in ("rows", "sample", *data)}
        values["data"] = {"source": request.data, "columns": request.columns, "classes": request.classes, **chosen}
        values |= {"text": text, "text_pair": None}
    return checked(record, **values)
