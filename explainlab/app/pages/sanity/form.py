"""The form of the Sanity page: a text or a data set, and the requests that its checks make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import streamlit as st
from pydantic import Field

from explainlab.analyses.attack.analysis import Attack
from explainlab.analyses.attack.maps import Method
from explainlab.analyses.axioms.analysis import Axioms
from explainlab.analyses.evaluation.analysis import Evaluation
from explainlab.analyses.layer_randomisation.analysis import LayerRandomisation
from explainlab.analyses.registry import complete, new_request
from explainlab.analyses.substitution.analysis import Substitution
from explainlab.app.data_set import data_choice, data_controls
from explainlab.app.glossary import explained
from explainlab.app.page import AnalysisPage
from explainlab.app.place import PageState
from explainlab.app.question import Question, card_of, chip, supported_methods
from explainlab.app.view import DataView, SharedInputs
from explainlab.attribution.registry import get_method, parse_spec
from explainlab.figures.palette import DEFAULT, PaletteName
from explainlab.models.loading import ModelCard
from explainlab.models.networks.randomised import Init
from explainlab.request import Dtype, Output, Request, Unit, validated

Compared = Literal["signed", "absolute"]
STABILITY = ("max_sensitivity", "infidelity", "edit_stability")


class SanityView(DataView):
    """Methods on a data set, a comparison of their maps with maps of random models, and the open parts of the answer.

    ``methods`` may have options after colons; ``output``: ``own`` is each method's own. ``compared`` selects charts of
    the scores or of their absolute values; ``row`` is the open text (None: the first). ``attacked`` is the method whose
    maps are attacked, within the ``radii``, and ``reworded`` the method against whose maps words are replaced
    (another: the first). ``stability_cell`` and ``axioms_cell`` are the pressed cells: a method and a metric or an
    axiom (empty: none).
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
        """Return the request for the randomisation of the data set."""
        return self._request({**self.drawn}, **self.subject)

    def row_request(self, text: str, text_pair: str | None) -> Request:
        """Return the request for the randomisation of one of its texts."""
        return self._request({}, text=text, text_pair=text_pair)

    def attack_request(self) -> Request:
        """Return the request for attacks on the maps of the data set."""
        return self._attack(self.drawn, **self.subject)

    def row_attack(self, text: str, text_pair: str | None) -> Request:
        """Return the request for attacks on one of its texts."""
        return self._attack({}, text=text, text_pair=text_pair)

    def substitution_request(self, method: str = "") -> Request:
        """Return the request for replaced words against the data set's maps by ``method`` (empty: the one chosen)."""
        return self._substitution(method or self._reworded, self.drawn, **self.subject)

    def row_substitution(self, text: str, text_pair: str | None) -> Request:
        """Return the request for replaced words in one of its texts."""
        return self._substitution(self._reworded, {}, text=text, text_pair=text_pair)

    def stability_request(self) -> Request:
        """Return the request for the stability of the maps."""
        parameters = {**self.drawn, "methods": list(self.methods), "metrics": list(STABILITY)}
        return new_request(
            question=Evaluation.id, **self._shared, **self.subject, output=self._output, parameters=parameters
        )

    def axioms_request(self) -> Request:
        """Return the request for the axioms that the maps fulfil."""
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
    parameters = request.parameters
    values = request.model_dump(include={"model", "columns", "classes", "target", "unit", "seed", "dtype"})
    values |= {"source": request.data, **{name: parameters[name] for name in ("rows", "sample")}}
    if request.question == Attack.id:
        values |= {"attacked": parameters["method"], "radii": tuple(parameters["epsilon"])}
        view = validated(SanityView, **{**first_view().model_dump(), **values})
        return view if _asks(view.attack_request(), request) else None
    if request.question == Substitution.id:
        values |= {"reworded": parameters["method"], "methods": (parameters["method"],)}
        view = validated(SanityView, **{**first_view().model_dump(), **values})
        return view if _asks(view.substitution_request(), request) else None
    own = request.output == "probability" and parameters["outputs"] == "own"
    return validated(
        SanityView,
        **values,
        **{name: parameters[name] for name in ("mode", "init", "draws")},
        methods=tuple(parameters["methods"]),
        output="own" if own else request.output,
    )


def _asks(question: Request, request: Request) -> bool:
    """Return True if ``question`` has the parameters of a complete ``request``: this page attacks in few ways."""
    return complete(question).parameters == request.parameters


NAME = "sanity"
question = Question(NAME)

_ASKED = ("model", "mode", "init", "draws", "target", "output", "unit", "seed", "dtype")
_OPEN = ("compared", "row", "palette", "attacked", "reworded", "stability_cell", "axioms_cell")
DRAWN = (*_OPEN, "radii", "by", "on")
_HELP = {name: field.description or "" for name, field in LayerRandomisation.Parameters.model_fields.items()}
_MODES = {"both": "Both", "cascading": "From the top down", "independent": "One at a time"}
_INITS = {"model": "As a new model", "normal01": "N(0, 1)"}
_COMPARED = {"signed": "Scores", "absolute": "|Scores|"}
_MOST_DRAWS = 100
_RADII = tuple(Attack.Parameters().epsilon)


def seed_controls(view: SanityView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in (*_ASKED, *DRAWN)}
    lists = {"methods": list(view.methods), "radii": list(view.radii)}
    question.seed({**values, **lists, **data_controls(view)}, force)


def draft() -> SanityView:
    """Return the view that the controls describe now; raises ``RequestError`` for an invalid one."""
    values = {name: question.now(name) for name in (*_ASKED, *_OPEN)}
    lists = {name: tuple(question.now(name)) for name in ("methods", "radii")}
    return validated(SanityView, **values, **lists, **data_choice(question))


def draw_question(run: Callable[[], None], label: str) -> ModelCard | None:
    """Draw all controls; a button with this ``label`` calls ``run``."""

    def change_model() -> None:
        question.keep_data(card_of(question.now("model") or ""))

    with st.container(horizontal=True, vertical_alignment="bottom"):
        card = question.draw_model(change_model)
    source, rows = st.columns(2, vertical_alignment="bottom")
    with source:
        question.draw_data(card)
    with rows:
        question.draw_rows()
    question.draw_methods(card)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        question.select("Random units", "mode", _MODES, _HELP["mode"])
        question.select("Weights", "init", _INITS, _HELP["init"])
        with st.container(width=140):
            question.draw_number("Draws", "draws", _MOST_DRAWS, _HELP["draws"])
        question.draw_outputs()
        question.draw_unit()
        with st.container(width=200):
            question.draw_palette()
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")
    return card


def draw_compared() -> None:
    """Draw the choice between scores and their absolute values."""
    words = "The ranking of the scores, or of their absolute values: a random head may turn all signs around."
    question.choose("Compare", "compared", _COMPARED, explained(words, "feature"))


def draw_attacked(card: ModelCard | None) -> None:
    """Draw the choice of the attacked maps, and the radius within which word embeddings may move."""
    labels = {name: get_method(name).label for name in get_args(Method)}
    able = {name: label for name, label in labels.items() if name in supported_methods(card)}
    method, radii = st.columns([1, 2], vertical_alignment="bottom")
    with method:
        question.select("Attack the maps of", "attacked", able or labels)
    chosen = question.now("radii")
    radii.multiselect(
        "Radii",
        list(dict.fromkeys([*_RADII, *chosen])),
        chosen,
        key=question.key("radii"),
        accept_new_options=True,
        placeholder="Choose one or more",
        help="How far each number of a word's embedding may move; s: in standard deviations of the word table.",
    )


def draw_reworded() -> None:
    """Draw the choice of the method whose maps the replaced words attack: any method of the page."""
    options = {name: chip(parse_spec, name) for name in question.now("methods")}
    if not options:
        return
    if question.now("reworded") not in options:
        question.set("reworded", next(iter(options)))
    question.select("Replace words against the maps of", "reworded", options)


def open_row(row: int) -> None:
    """Open a text (a callback)."""
    question.seed({"row": row}, force=True)


PAGE = AnalysisPage(
    NAME,
    question=question,
    record=SanityView,
    first=first_view,
    seed=seed_controls,
    draft=draft,
    button="Check",
    drawn=DRAWN,
    shows=shows,
)
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
