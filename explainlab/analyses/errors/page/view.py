"""What the Errors page shows, as one plain record: the body of a link."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from explainlab.analyses.errors.analysis import Predictions
from explainlab.analyses.mistake_drivers.analysis import MistakeDrivers
from explainlab.analyses.registry import requirements
from explainlab.app.view import DataView
from explainlab.attribution.registry import complete
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.request import Dtype, Output, Request, Unit, checked

Show = Literal["mistakes", "all"]
Sort = Literal["loss", "confident", "unsure", "long", "short", "row"]


class ErrorsView(DataView):
    """Predictions of a data set, the rows let through and in which order, and the row that is open.

    ``true`` and ``predicted`` are class names (empty: any), ``search`` is looked for in the texts, ``numbers`` (empty:
    all) are the rows that a word was pressed for; ``row`` is None for the first that is let through; ``edit`` and
    ``edit_pair`` are its text, edited. ``method`` explains it, ``drivers`` (a method, options after colons) all that is
    wrong, and ``hide_function_words`` folds words such as "the" away there.
    """

    page: Literal["errors"] = "errors"
    rows: int = Field(10_000, ge=1)
    dtype: Dtype = "float32"
    show: Show = "mistakes"
    true: str = ""
    predicted: str = ""
    search: str = ""
    numbers: tuple[int, ...] = ()
    sort: Sort = "loss"
    row: int | None = Field(None, ge=1)
    edit: str | None = None
    edit_pair: str | None = None
    method: str = "integrated_gradients"
    output: Output = "probability"
    unit: Unit = "token"
    palette: PaletteName = DEFAULT
    drivers: str = MistakeDrivers.Parameters().method
    hide_function_words: bool = False

    def request(self) -> Request:
        """The predictions of the data set."""
        return self._request(Predictions.id)

    def drivers_request(self) -> Request:
        """What drives the mistakes among them."""
        return self._request(MistakeDrivers.id, method=self.drivers)

    def shown_requests(self) -> list[Request]:
        return [*self.text_requests(), *([] if len(self.cells) > 1 else [self.drivers_request()])]

    def map_request(self, text: str, text_pair: str | None, target: str) -> Request:
        """The complete request for the map of a text against the class ``target``."""
        shared = self.model_dump(include={"model", "output", "unit", "dtype"})
        return complete(checked(Request, question=self.method, **shared, text=text, text_pair=text_pair, target=target))

    def _request(self, study: str, **parameters: Any) -> Request:
        request = checked(Request, question=study, model=self.model, dtype=self.dtype, **self.subject)
        own = {"output": requirements(request).output, "parameters": {**self.drawn, **parameters}}
        return request.model_copy(update=own)


def first_view() -> ErrorsView:
    """What the page opens with: an embedded model and the examples that suit it."""
    return ErrorsView(model="embedded:bert-mini-sst2", source="embedded:sentiment", sample="random")


def shows(request: Request) -> ErrorsView | None:
    """The view that shows the answer to ``request``; None for the request of another analysis."""
    asks = request.question
    if asks not in (Predictions.id, MistakeDrivers.id):
        return None
    values = request.model_dump(include={"model", "dtype", "columns", "classes"})
    values |= {"source": request.data, **{name: request.parameters[name] for name in ("rows", "sample")}}
    if asks == MistakeDrivers.id:
        values["drivers"] = request.parameters["method"]
    return checked(ErrorsView, **values)
