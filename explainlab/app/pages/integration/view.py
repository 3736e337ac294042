"""What the Integration page shows, as one plain record: the body of a link."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from explainlab.analyses.integration.analysis import IntegrationError
from explainlab.analyses.path_gradients.analysis import PathGradients
from explainlab.app.view import AnalysisView, ChosenData, view_of
from explainlab.attribution.method import Baseline
from explainlab.attribution.quadrature import Rule
from explainlab.attribution.registry import get_method
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.request import Dtype, Output, Request, Unit, checked

_DEFAULT = IntegrationError.Parameters()
COARSE = ",".join(map(str, _DEFAULT.steps))
FIRST = "10,20,30,50,70,100,140,200"
RULES: tuple[Rule, ...] = tuple(_DEFAULT.rules)


class DataChoice(ChosenData):
    """A data set to be studied, with which step counts and rules."""

    steps: str = COARSE
    rules: tuple[Rule, ...] = RULES


class IntegrationView(AnalysisView):
    """One text and one model, integrated by every rule, and optionally a data set.

    The heatmaps of ``rule`` are shown; ``compare`` are the two step counts side by side.
    """

    page: Literal["integration"] = "integration"
    model: str
    text: str
    text_pair: str | None = None
    target: str = "predicted"
    output: Output = "probability"
    unit: Unit = "token"
    baseline: Baseline = "mask"
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Dtype = "float32"
    steps: str = FIRST
    rule: Rule = "right"
    compare: tuple[int, int] = (270, 870)
    palette: PaletteName = DEFAULT
    data: DataChoice | None = None

    def error_request(self) -> Request:
        """The error of every rule at every step count, for the text."""
        return self._request("integration_error", self._text(), steps=self.steps)

    def path_request(self) -> Request:
        """The gradient along the path at the two step counts compared."""
        steps = sorted(set(self.compare))
        return self._request("path_gradients", self._text(), steps=steps, rule=self.rule)

    def text_requests(self) -> list[Request]:
        """The requests of the text's section."""
        return [self.error_request(), self.path_request()]

    def data_request(self) -> Request | None:
        """The error of every rule at every step count, for each text of the data set."""
        data = self.data
        if data is None:
            return None
        chosen = {"steps": data.steps, "rules": list(data.rules)}
        return self._request("integration_error", data.subject, **chosen, **data.drawn)

    def method_labels(self) -> list[str]:
        return [get_method("integrated_gradients").label]

    def same_setting(self, other: IntegrationView) -> bool:
        """Whether both have the same model and settings, so that a data set's results belong to both."""
        names = ("model", "target", "output", "unit", "baseline", "seed", "dtype")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def _text(self) -> dict[str, Any]:
        return {"text": self.text, "text_pair": self.text_pair}

    def _request(self, study: str, subject: dict[str, Any], **parameters: Any) -> Request:
        shared = self.model_dump(include={"model", "target", "output", "unit", "seed", "dtype"})
        return checked(
            Request, question=study, **shared, **subject, parameters={"baseline": self.baseline, **parameters}
        )


def first_view() -> IntegrationView:
    """What the page opens with: an embedded model, a sentence with a contrast in it, and little to compute."""
    return IntegrationView(
        model="embedded:bert-mini-sst2",
        text="The first act drags a little, but the ending is so beautiful that I forgave everything.",
        compare=(20, 200),
    )


def shows(request: Request) -> IntegrationView | None:
    """The view that shows the answer to ``request``; None for the request of another analysis."""
    asks, parameters = request.question, request.parameters
    if asks == IntegrationError.id:
        parameters = {**parameters, "steps": ",".join(map(str, parameters["steps"]))}
        return view_of(IntegrationView, request, parameters, first_view().text, ("steps", "rules"))
    if asks == PathGradients.id:
        steps = parameters["steps"]
        parameters = {**parameters, "steps": FIRST, "compare": (steps[0], steps[-1])}
        return view_of(IntegrationView, request, parameters, first_view().text, ())
    return None
