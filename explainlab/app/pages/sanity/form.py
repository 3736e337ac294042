"""The form of the Sanity page: a text or a data set, and the requests that its checks make."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from explainlab.analyses.attack.analysis import Attack
from explainlab.analyses.attack.maps import Method
from explainlab.analyses.axioms.analysis import Axioms
from explainlab.analyses.evaluation.analysis import Evaluation
from explainlab.analyses.layer_randomisation.analysis import LayerRandomisation
from explainlab.analyses.registry import complete
from explainlab.analyses.substitution.analysis import Substitution
from explainlab.app.controls import (
    PALETTE,
    REDRAW,
    Control,
    Drawing,
    Form,
    Methods,
    Outputs,
    RowCount,
    Scored,
    Seed,
    Several,
)
from explainlab.app.page import AnalysisPage
from explainlab.app.place import PageState
from explainlab.app.question import Question, chip, supported_methods
from explainlab.app.view import DataView, SharedInputs, view_of
from explainlab.attribution.registry import get_method, parse_spec
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.models.networks.randomised import Init
from explainlab.request import Dtype, Request

Compared = Literal["signed", "absolute"]
STABILITY = ("max_sensitivity", "infidelity", "edit_stability")


NAME = "sanity"
question = Question(NAME)
_HELP = {name: field.description or "" for name, field in LayerRandomisation.Parameters.model_fields.items()}
_MODE = Control(
    "Random units",
    _HELP["mode"],
    options={"both": "Both", "cascading": "From the top down", "independent": "One at a time"},
)
_INIT = Control("Weights", _HELP["init"], options={"model": "As a new model", "normal01": "N(0, 1)"})
_COMPARED = Control(
    "Compare",
    "The ranking of the scores, or of their absolute values: a random head may turn all signs around.",
    row="compared",
    words=("feature",),
    options={"signed": "Scores", "absolute": "|Scores|"},
    radio=True,
    redraw=True,
)


def _attacked(at: Drawing) -> dict[str, str]:
    """Return the methods whose maps can be attacked, those that the model supports where there are any."""
    labels = {name: get_method(name).label for name in get_args(Method)}
    return {name: label for name, label in labels.items() if name in supported_methods(at.card)} or labels


_ATTACKED = Control("Attack the maps of", row="attacked", options=_attacked, redraw=True)
_RADII = Several(
    help="How far each number of a word's embedding may move; s: in standard deviations of the word table.",
    row="attacked",
    width=2,
    options={radius: radius for radius in Attack.Parameters().epsilon},
    open=True,
    redraw=True,
)
_REWORDED = Control(
    "Replace words against the maps of",
    row="reworded",
    options=lambda at: {name: chip(parse_spec, name) for name in at.question.now("methods")},
    redraw=True,
)


class SanityView(DataView):
    """Methods on a data set, a comparison of their maps with maps of random models, and the open parts of the answer.

    ``methods`` may have options after colons; ``output``: ``own`` is each method's own. ``compared`` selects charts of
    the scores or of their absolute values; ``row`` is the open text (None: the first). ``attacked`` is the method whose
    maps are attacked, within the ``radii``, and ``reworded`` the method against whose maps words are replaced
    (another: the first). ``stability_cell`` and ``axioms_cell`` are the pressed cells: a method and a metric or an
    axiom (empty: none).
    """

    page: Literal["sanity"] = "sanity"
    rows: RowCount = 10
    methods: Methods
    mode: Annotated[Literal["both", "cascading", "independent"], _MODE] = "both"
    init: Annotated[Init, _INIT] = "model"
    draws: Annotated[int, Control("Draws", _HELP["draws"], width=140), Field(ge=1, le=100)] = 5
    target: str = "predicted"
    output: Outputs = "own"
    unit: Scored = "token"
    seed: Seed = 0
    dtype: Dtype = "float32"
    compared: Annotated[Compared, _COMPARED] = "signed"
    row: Annotated[int | None, REDRAW, Field(ge=1)] = None
    palette: Annotated[PaletteName, replace(PALETTE, width=200)] = DEFAULT
    attacked: Annotated[Method, _ATTACKED] = "gradient"
    radii: Annotated[tuple[str, ...], _RADII] = ("0.1s",)
    reworded: Annotated[str, _REWORDED] = "gradient"
    stability_cell: Annotated[tuple[str, str], REDRAW] = ("", "")
    axioms_cell: Annotated[tuple[str, str], REDRAW] = ("", "")

    def request(self) -> Request:
        """Return the request for the randomisation of the data set."""
        return self.asks(LayerRandomisation.id, self)

    def row_request(self, text: str, text_pair: str | None) -> Request:
        """Return the request for the randomisation of one of its texts."""
        return self.asks(LayerRandomisation.id, text=text, text_pair=text_pair)

    def attack_request(self) -> Request:
        """Return the request for attacks on the maps of the data set."""
        return self.asks(Attack.id, self, **self._attack)

    def row_attack(self, text: str, text_pair: str | None) -> Request:
        """Return the request for attacks on one of its texts."""
        return self.asks(Attack.id, text=text, text_pair=text_pair, **self._attack)

    def substitution_request(self, method: str = "") -> Request:
        """Return the request for replaced words against the data set's maps by ``method`` (empty: the one chosen)."""
        return self.asks(Substitution.id, self, method=method or self._reworded, output=None)

    def row_substitution(self, text: str, text_pair: str | None) -> Request:
        """Return the request for replaced words in one of its texts."""
        return self.asks(Substitution.id, text=text, text_pair=text_pair, method=self._reworded, output=None)

    def stability_request(self) -> Request:
        """Return the request for the stability of the maps."""
        return self.asks(Evaluation.id, self, metrics=STABILITY)

    def axioms_request(self) -> Request:
        """Return the request for the axioms that the maps fulfil."""
        return self.asks(Axioms.id, self)

    def shown_requests(self) -> list[Request]:
        if len(self.cells) > 1:
            return self.text_requests()
        further = [self.attack_request(), self.substitution_request(), self.stability_request(), self.axioms_request()]
        return [*self.text_requests(), *further]

    def method_labels(self) -> list[str]:
        return [chip(parse_spec, name) for name in self.methods]

    def row_inputs(self, text: str, text_pair: str | None) -> SharedInputs:
        """Return the inputs that explain a text of the data set elsewhere, by all methods as here."""
        inputs: SharedInputs = {
            **self.shared_inputs(),
            "text": text,
            "text_pair": text_pair,
            "methods": self.methods,
            "dtype": self.dtype,
            "palette": self.palette,
        }
        if self.output != "own":
            inputs["output"] = self.output
        return inputs

    @property
    def _attack(self) -> dict[str, Any]:
        return {"method": self.attacked, "epsilon": self.radii, "output": None}

    @property
    def _reworded(self) -> str:
        return self.reworded if self.reworded in self.methods else next(iter(self.methods), "")


def first_view() -> SanityView:
    """Return the first view of the page: an embedded model, ten of its examples, three methods, two draws."""
    return SanityView(
        model="embedded:bert-mini-sst2",
        source="embedded:sentiment",
        sample="random",
        methods=("gradient", "integrated_gradients:rule=gauss_legendre:steps=20", "attention_average"),
        draws=2,
    )


def shows(request: Request) -> SanityView | None:
    """Return the view that shows the answer to ``request``; None unless it is about random models or attacks."""
    if request.question not in (LayerRandomisation.id, Attack.id, Substitution.id) or request.data is None:
        return None
    parameters, first = request.parameters, first_view()
    if request.question == LayerRandomisation.id:
        return view_of(first, request)
    chosen = {"methods": first.methods, "draws": first.draws, "output": "own"}
    if request.question == Attack.id:
        view = view_of(first, request, **chosen, attacked=parameters["method"], radii=tuple(parameters["epsilon"]))
        return view if _asks(view.attack_request(), request) else None
    chosen |= {"reworded": parameters["method"], "methods": (parameters["method"],)}
    view = view_of(first, request, **chosen)
    return view if _asks(view.substitution_request(), request) else None


def _asks(question: Request, request: Request) -> bool:
    """Return True if ``question`` has the parameters of a complete ``request``: this page attacks in few ways."""
    return complete(question).parameters == request.parameters


FORM = Form(question, SanityView)


def open_row(row: int) -> None:
    """Open a text (a callback)."""
    question.seed({"row": row}, force=True)


PAGE = AnalysisPage(NAME, form=FORM, first=first_view, button="Check", shows=shows)
TEXT_SECTION = PageState("sanity.text")
"""The maps of the open text."""
ATTACK_SECTION = PageState("sanity.attack")
"""Attacks on the maps of the data set, once requested."""
SUBSTITUTION_SECTION = PageState("sanity.substitution")
"""Words replaced against the maps of the data set, once requested."""
STABILITY_SECTION = PageState("sanity.stability")
"""Maps of texts that are nearly the same, once requested."""
AXIOMS_SECTION = PageState("sanity.axioms")
"""Maps of functions made of the model, once requested."""
