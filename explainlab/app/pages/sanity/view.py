"""What the Sanity page shows, as one plain record: the body of a link."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from explainlab.analyses.attack.analysis import Attack
from explainlab.analyses.attack.maps import Method
from explainlab.analyses.axioms.analysis import Axioms
from explainlab.analyses.evaluation.analysis import Evaluation
from explainlab.analyses.layer_randomisation.analysis import LayerRandomisation
from explainlab.analyses.registry import complete, new_request
from explainlab.analyses.substitution.analysis import Substitution
from explainlab.app.question import chip
from explainlab.app.view import CarriedText, DataView
from explainlab.attribution.registry import parse_method
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.models.networks.randomised import Init
from explainlab.request import Dtype, Output, Request, Unit, checked

Compared = Literal["signed", "absolute"]
STABILITY = ("max_sensitivity", "infidelity", "edit_stability")


class SanityView(DataView):
    """Methods on a data set, whose maps are compared with those of random models, and what of the answer is open.

    ``methods`` may have options after colons; ``output``: ``own`` is each method's own. ``compared``: whether the
    charts are of the scores or of their absolute values; ``row`` is the text that is open (None: the first).
    ``attacked`` is the method whose maps are attacked, within the ``radii``, and ``reworded`` the one of the methods
    against whose maps words are replaced (another: the first). ``stability_cell`` and ``axioms_cell`` are the cells
    that were pressed: a method and a metric or an axiom (empty: none).
    """

    page: Literal["sanity"] = "sanity"
    rows: int = Field(10, ge=1)
    methods: tuple[str, ...]
    mode: Literal["both", "cascading", "independent"] = "both"
    init: Init = "model"
    draws: int = Field(5, ge=1, le=100)
    target: str = "predicted"
    output: Output | Literal["own"] = "own"
    unit: Unit = "token"
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Dtype = "float32"
    compared: Compared = "signed"
    row: int | None = Field(None, ge=1)
    palette: PaletteName = DEFAULT
    attacked: Method = "gradient"
    radii: tuple[str, ...] = ("0.1s",)
    reworded: str = "gradient"
    stability_cell: tuple[str, str] = ("", "")
    axioms_cell: tuple[str, str] = ("", "")

    def request(self) -> Request:
        """The randomisation of the data set."""
        return self._request({**self.drawn}, **self.subject)

    def row_request(self, text: str, text_pair: str | None) -> Request:
        """The same of one of its texts."""
        return self._request({}, text=text, text_pair=text_pair)

    def attack_request(self) -> Request:
        """Attacks on the maps of the data set."""
        return self._attack(self.drawn, **self.subject)

    def row_attack(self, text: str, text_pair: str | None) -> Request:
        """The same of one of its texts."""
        return self._attack({}, text=text, text_pair=text_pair)

    def substitution_request(self, method: str = "") -> Request:
        """Words replaced against the maps of the data set, of a ``method`` (empty: the one chosen)."""
        return self._substitution(method or self._reworded, self.drawn, **self.subject)

    def row_substitution(self, text: str, text_pair: str | None) -> Request:
        """The same of one of its texts."""
        return self._substitution(self._reworded, {}, text=text, text_pair=text_pair)

    def stability_request(self) -> Request:
        """How stable the maps are."""
        parameters = {**self.drawn, "methods": list(self.methods), "metrics": list(STABILITY)}
        return new_request(
            question=Evaluation.id, **self._shared, **self.subject, output=self._output, parameters=parameters
        )

    def axioms_request(self) -> Request:
        """Which axioms the maps fulfil."""
        parameters = {**self.drawn, "methods": list(self.methods)}
        return new_request(
            question=Axioms.id, **self._shared, **self.subject, output=self._output, parameters=parameters
        )

    def shown_requests(self) -> list[Request]:
        if len(self.cells) > 1:
            return self.text_requests()
        further = [self.attack_request(), self.substitution_request(), self.stability_request(), self.axioms_request()]
        return [*self.text_requests(), *further]

    def method_labels(self) -> list[str]:
        return [chip(parse_method, name) for name in self.methods]

    def carried_row(self, text: str, text_pair: str | None) -> CarriedText:
        """A text of the data set, explained elsewhere by all methods as here."""
        carried: CarriedText = {
            **self.carried(),
            "text": text,
            "text_pair": text_pair,
            "methods": self.methods,
            "dtype": self.dtype,
            "palette": self.palette,
        }
        if self.output != "own":
            carried["output"] = self.output
        return carried

    def _request(self, rows: dict[str, Any], **subject: Any) -> Request:
        own = self.model_dump(include={"mode", "init", "draws"})
        parameters = {**rows, "methods": list(self.methods), **own}
        return new_request(
            question=LayerRandomisation.id, **self._shared, **subject, output=self._output, parameters=parameters
        )

    def _attack(self, rows: dict[str, Any], **subject: Any) -> Request:
        parameters = {**rows, "method": self.attacked, "epsilon": list(self.radii)}
        return new_request(question=Attack.id, **self._shared, **subject, parameters=parameters)

    def _substitution(self, method: str, rows: dict[str, Any], **subject: Any) -> Request:
        return new_request(question=Substitution.id, **self._shared, **subject, parameters={**rows, "method": method})

    @property
    def _reworded(self) -> str:
        return self.reworded if self.reworded in self.methods else next(iter(self.methods), "")

    @property
    def _output(self) -> Output | None:
        return None if self.output == "own" else self.output

    @property
    def _shared(self) -> dict[str, Any]:
        return self.model_dump(include={"model", "target", "unit", "seed", "dtype"})


def first_view() -> SanityView:
    """What the page opens with: an embedded model, ten of its examples, three methods, two draws."""
    return SanityView(
        model="embedded:bert-mini-sst2",
        source="embedded:sentiment",
        sample="random",
        methods=("gradient", "integrated_gradients:rule=gauss_legendre:steps=20", "attention_average"),
        draws=2,
    )


def shows(request: Request) -> SanityView | None:
    """The view that shows the answer to ``request``; None unless it is about random models or attacks of this page."""
    if request.question not in (LayerRandomisation.id, Attack.id, Substitution.id) or request.data is None:
        return None
    parameters = request.parameters
    values = request.model_dump(include={"model", "columns", "classes", "target", "unit", "seed", "dtype"})
    values |= {"source": request.data, **{name: parameters[name] for name in ("rows", "sample")}}
    if request.question == Attack.id:
        values |= {"attacked": parameters["method"], "radii": tuple(parameters["epsilon"])}
        view = checked(SanityView, **{**first_view().model_dump(), **values})
        return view if _asks(view.attack_request(), request) else None
    if request.question == Substitution.id:
        values |= {"reworded": parameters["method"], "methods": (parameters["method"],)}
        view = checked(SanityView, **{**first_view().model_dump(), **values})
        return view if _asks(view.substitution_request(), request) else None
    own = request.output == "probability" and parameters["outputs"] == "own"
    return checked(
        SanityView,
        **values,
        **{name: parameters[name] for name in ("mode", "init", "draws")},
        methods=tuple(parameters["methods"]),
        output="own" if own else request.output,
    )


def _asks(question: Request, request: Request) -> bool:
    """Whether ``question`` has the parameters of a complete ``request``: this page attacks in few ways."""
    return complete(question).parameters == request.parameters
