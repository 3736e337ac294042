"""What a page shows, as one plain record: the body of a link, and the requests that it stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict

from explainlab.figures.palette import PaletteName
from explainlab.request import Output, Request, Unit, checked

V = TypeVar("V", bound="AnalysisView")


class AnalysisView(BaseModel):
    """The view of one page; a page with a section about a data set has its choices in a field ``data``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def text_requests(self) -> Sequence[Request]:
        """What the page needs before all else."""
        raise NotImplementedError

    def data_request(self) -> Any:
        """What the section about a data set needs; None if that is nothing."""
        return None

    def requests(self) -> list[Request]:
        """All of them; raises :class:`explainlab.errors.RequestError` for one that cannot be."""
        data = self.data_request()
        return [*self.text_requests(), *([data] if data else [])]

    def same_setting(self, other: Self) -> bool:
        """Whether both ask the same of the same model, so that the result of one data set belongs to either."""
        return True


@dataclass(frozen=True)
class CarriedText:
    """A text that one page hands to another: before which model, and how it was explained."""

    model: str
    text: str
    text_pair: str | None
    method: str
    output: Output
    unit: Unit
    palette: PaletteName


def with_text(view: V, carried: CarriedText) -> V:
    """``view`` of another text before another model."""
    text = {"model": carried.model, "text": carried.text, "text_pair": carried.text_pair}
    return view.model_copy(update=text)


def view_of(
    record: type[V],
    request: Any,
    parameters: Mapping[str, Any],
    text: str,
    data: Sequence[str],
) -> V:
    """The view of ``record`` that shows ``request``: all that this and its ``parameters`` say, else the defaults.

    For a request about a data set, ``data`` are the parameters that belong to it, and ``text`` is the text shown above.
    """
    fields = record.model_fields
    values = {name: value for name, value in request.model_dump().items() if name in fields and name != "data"}
    values |= {name: value for name, value in parameters.items() if name in fields}
    if request.data is not None:
        values["data"] = {"source": request.data, **{name: parameters[name] for name in data}}
        values |= {"text": text, "text_pair": None}
    return checked(record, **values)
