"""What the Explain page shows, as one plain record: the body of a link."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from explainlab.analyses.registry import get_study, kind_of
from explainlab.analyses.trust.analysis import Trust
from explainlab.app.view import AnalysisView, CarriedText
from explainlab.attribution.registry import complete, complete_method, get_method, parse_method, request_label
from explainlab.figures.palette import DEFAULT, PaletteName, Scale
from explainlab.request import Dtype, Output, Request, Unit, checked

MOST_TOP = 50
"""The most features of highest score that a map marks."""


def trust_request(request: Request) -> Request:
    """The complete request that compares the attribution of the complete ``request`` with random ones."""
    shared = request.model_dump(exclude={"question", "parameters"})
    parameters = {"method": request.question, "settings": request.parameters}
    return get_study(Trust.id).complete(Request(question=Trust.id, **shared, parameters=parameters))


class Choice(BaseModel):
    """One method with the parameters that differ from its defaults or were set on the page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    parameters: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, spec: str) -> Choice:
        """The method of ``spec``, options after colons; raises :class:`explainlab.errors.RequestError`."""
        asked = parse_method(spec)
        return cls(method=asked.method, parameters=asked.parameters.model_dump(mode="json"))

    @property
    def spec(self) -> str:
        """The method with the options that differ from their defaults, as :func:`parse_method` reads it."""
        return complete_method(self.method, self.parameters).name

    @property
    def own_output(self) -> Output:
        """What the method explains unless the reader chooses; raises :class:`explainlab.errors.RequestError`."""
        return get_method(self.method).default_output(self.parameters)


class View(AnalysisView):
    """One text and one model, explained by any number of methods, and how the heatmaps are drawn.

    ``output``: ``own`` is each method's own; ``top``: how many features of highest score each map marks. ``masked``:
    whether a decoder's predictions on the way are compared with those of the text whose rest is masked.
    """

    model: str
    text: str
    text_pair: str | None = None
    target: str = "predicted"
    output: Output | Literal["own"] = "own"
    unit: Unit = "token"
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Dtype = "float32"
    methods: tuple[Choice, ...] = ()
    palette: PaletteName = DEFAULT
    scale: Scale = "each"
    top: int = Field(0, ge=0, le=MOST_TOP)
    masked: bool = False

    def text_requests(self) -> list[Request]:
        """One complete request a method; raises :class:`explainlab.errors.RequestError` for one that cannot be."""
        shared = self.model_dump(exclude={"methods", "output", "palette", "scale", "top", "masked"})
        return [
            complete(
                checked(
                    Request,
                    **shared,
                    output=choice.own_output if self.output == "own" else self.output,
                    question=choice.method,
                    parameters=choice.parameters,
                )
            )
            for choice in self.methods
        ]

    def shown_requests(self) -> list[Request]:
        requests = self.text_requests()
        return [*requests, *map(trust_request, requests)]

    def method_labels(self) -> list[str]:
        return [request_label(request) for request in self.text_requests()]

    @property
    def names(self) -> list[str]:
        """Each choice as the control of methods names it: by its id alone, unless its method has several settings."""
        counts = Counter(choice.method for choice in self.methods)
        return [choice.spec if counts[choice.method] > 1 else choice.method for choice in self.methods]

    def carrying(self, carried: CarriedText) -> Self:
        """See :meth:`AnalysisView.carrying`; each method of its own output."""
        asked: dict[str, Any] = {}
        if "methods" in carried:
            asked["methods"] = tuple(map(Choice.of, dict.fromkeys(carried["methods"])))
            asked["output"] = carried.get("output", "own")
        elif "method" in carried:
            asked["methods"] = (Choice(method=carried["method"]),)
        return super().carrying(carried).model_copy(update=asked)


def first_view() -> View:
    """What the page opens with: an embedded model, a sentence with a contrast in it, and two methods."""
    return View(
        model="embedded:bert-mini-sst2",
        text="The first act drags a little, but the ending is so beautiful that I forgave everything.",
        methods=(Choice(method="integrated_gradients"), Choice(method="kernel_shap")),
    )


def shows(request: Request) -> View | None:
    """The view of ``request`` for an attribution, or for its comparison with random ones; None for any other."""
    if kind_of(request) == "attribution":
        choice = Choice(method=request.question, parameters=request.parameters)
    elif request.question == Trust.id and request.text is not None:
        choice = Choice(method=request.parameters["method"], parameters=request.parameters["settings"])
    else:
        return None
    values = request.model_dump(include=View.model_fields.keys() - {"methods", "output"})
    output = "own" if request.output == choice.own_output else request.output
    return checked(View, **values, methods=(choice,), output=output)
