"""What the Models page shows, as one plain record: the body of a link."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from explainlab.analyses.registry import complete, new_request
from explainlab.analyses.training.analysis import Training
from explainlab.app.view import AnalysisView, CarriedText
from explainlab.errors import RequestError
from explainlab.models.loading import model_name
from explainlab.request import Request, checked
from explainlab.training import ARCHITECTURES, settings_for

_PARAMETERS = ("recipe", "size", "validation_share", "validation_data", "test_data", "seeds", "settings")


class ModelsView(AnalysisView):
    """A training: ``base`` is an architecture or a model, ``source`` the data set; the rest as its parameters say."""

    page: Literal["models"] = "models"
    base: str = "bert"
    source: str = ""
    columns: dict[str, str] = Field(default_factory=dict)
    classes: dict[str, str] = Field(default_factory=dict)
    recipe: str = ""
    size: str = ""
    validation_share: float = 0.1
    validation_data: str = ""
    test_data: str = ""
    seed: int = Field(0, ge=0, lt=2**32)
    seeds: int = 1
    settings: dict[str, Any] = Field(default_factory=dict)

    def request(self) -> Request:
        """The training; raises :class:`RequestError` without data, and for settings that do not go together."""
        if not self.source:
            raise RequestError("No data set is chosen.", "Choose the embedded examples, or type the path of a file.")
        named = {name: value for name in ("recipe", "size") if (value := getattr(self, name))}
        settings_for(self.base, **{**self.settings, **named})
        request = new_request(
            question=Training.id,
            model=self.base,
            data=self.source,
            columns=self.columns,
            classes=self.classes,
            seed=self.seed,
            parameters={name: getattr(self, name) for name in _PARAMETERS},
        )
        return complete(request)

    def text_requests(self) -> list[Request]:
        """The training."""
        return [self.request()]

    @property
    def whole_data(self) -> str | None:
        """See :attr:`AnalysisView.whole_data`."""
        return self.source

    def line(self) -> str:
        return self.base if self.base in ARCHITECTURES else model_name(self.base)

    def carrying(self, carried: CarriedText) -> Self:
        """As others, but labels that mean classes of a model that has learned mean nothing to one that has not."""
        view = super().carrying(carried)
        return view.model_copy(update={"classes": {}})


def first_view() -> ModelsView:
    """What the page opens with: an embedded model that goes on learning from the embedded examples."""
    return ModelsView(base="embedded:bert-mini-sst2", source="embedded:sentiment")


def shows(request: Request) -> ModelsView | None:
    """The view that shows the answer to ``request``; None unless it makes models."""
    if request.question != Training.id or request.data is None:
        return None
    values = request.model_dump(include={"columns", "classes", "seed"})
    parameters = {name: request.parameters[name] for name in _PARAMETERS}
    return checked(ModelsView, base=request.model, source=request.data, **values, **parameters)
