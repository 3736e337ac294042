"""The controls of the ROAR page: what learns from what, which measures are judged, how much is masked, how often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from explainlab.analyses.parameters import RANDOM
from explainlab.analyses.registry import get_study
from explainlab.analyses.roar.analysis import Roar
from explainlab.analyses.roar.page.view import RoarView, usual_test
from explainlab.analyses.roar.parameters import PAPER_MEASURES, RoarParameters
from explainlab.app import session
from explainlab.app.data.choice import data_choice, data_controls, further
from explainlab.app.question import Question, card_of, supported_methods
from explainlab.app.sets.further import Known, draw_further
from explainlab.app.words.terms import explained
from explainlab.attribution.registry import methods, parse_method
from explainlab.data import EXAMPLES, TO_LEARN
from explainlab.declared import parse
from explainlab.models.loading import model_name
from explainlab.models.model_types import MODEL_TYPES
from explainlab.models.networks.registration import OURS
from explainlab.models.stored.places import embedded_models
from explainlab.request import Request, checked
from explainlab.service import file_tasks
from explainlab.service.store.made import own_names
from explainlab.settings import settings
from explainlab.training import ARCHITECTURES, RECIPES

PAGE = "roar"
question = Question(PAGE)

_MOST_SEED, _MOST_SEEDS, _MOST_SHORTEST = 2**32 - 1, 100, 1000
_FIELDS = (
    *("base", "recursive", "masked", "ratios", "counts", "seed", "seeds", "metric", "validation", "signs"),
    *("preset", "clip", "recipe", "weights_folder", "shortest", "minutes", "example"),
)
_KINDS = {"true": "Recursive ROAR", "false": "ROAR", "both": "Both"}
_METRICS = {"macro_f1": "Macro F1", "micro_f1": "Micro F1", "accuracy": "Accuracy"}
_SIGNS = {"absolute": "By |score|", "signed": "By score"}
_PRESETS = {"paper": "As the paper", "reference": "As the paper's code"}
_MASKED = {"ratios": "Shares of a text", "counts": "Numbers of tokens"}
_HELP = {name: field.description or "" for name, field in RoarParameters.model_fields.items()}
_BASE_HELP = (
    "What every model of the grid begins with: an architecture with random weights, or a model that has learned. A "
    "directory or a hub id (owner/name; safetensors only) can be typed."
)
_SOURCES = [*EXAMPLES, *TO_LEARN]
_TEST_HELP = (
    "Labelled texts on which performance is measured, or a share of the training data, as in 0.2, that is held out."
)
_DATA_HELP = "Labelled texts: the embedded examples, or the path of a CSV, TSV, JSON, JSONL or Parquet file."
_MEASURES_HELP = (
    "Those of the paper, and all that the base supports. To set options, type a method's id and its options: "
    "gradient:norm=one_hot. Random words are always included."
)
_KINDS_HELP = (
    "Recursive ROAR asks the measure again of each model that was trained on masked texts, ROAR only of the first one. "
    "Where words say the same, only Recursive ROAR masks them all."
)
_TIME_HELP = "Times one epoch and a few texts of each measure here, without training the grid."
_MINUTES_HELP = "How long the grid may take; 0: any time. It is told which smaller grids end within it."
_MOST_MINUTES = 100_000


def seed_controls(view: RoarView, force: bool = False) -> None:
    """Set the page's controls to ``view``; those that already hold a value keep it unless ``force``."""
    values: dict[str, Any] = {name: getattr(view, name) for name in _FIELDS}
    values |= {**data_controls(view), "data": view.source or None, "test": view.test or None}
    values["measures"] = list(view.measures)
    values["settings"] = ", ".join(f"{name}={value}" for name, value in view.settings.items())
    question.seed(values, force)
    for source in view.sources:
        further(question, source).seed({"test": view.test_of(source)}, force)


def draft() -> RoarView:
    """The view that the controls describe now; raises ``RequestError`` for what cannot be."""
    values = {name: question.now(name) for name in _FIELDS}
    values |= {"test": question.now("test") or "", "measures": tuple(question.now("measures"))}
    values["base"] = values["base"] or ""
    parsed: Any = parse(get_study(Roar.id), {"test": "any", "settings": question.now("settings")})
    tests = {source: _test_controls(source).now("test") for source in question.now("sources")}
    values["tests"] = {source: test for source, test in tests.items() if test}
    return checked(RoarView, **values, settings=parsed.settings, **data_choice(question, RoarView))


def parameters(request: Request) -> RoarParameters:
    """The parameters of a ``request`` for a grid; raises ``RequestError`` for what is not accepted."""
    asked: RoarParameters = get_study(Roar.id).parameters(request)
    return asked


def draw_question(run: Callable[[], None], label: str, ask_time: Callable[[], None]) -> None:
    """All that is asked; ``run`` asks it, by a button with this ``label``, and ``ask_time`` how long it takes."""
    base, source, test = st.columns(3, vertical_alignment="bottom")
    with base:
        _draw_base()
    with source:
        question.draw_source("Training data", "data", _SOURCES, _DATA_HELP)
    with test:
        question.draw_source("Test data", "test", _SOURCES, _TEST_HELP)
    question.draw_specs("Measures", "measures", _measures(), parse_method, _MEASURES_HELP)
    question.choose("Masking", "recursive", _KINDS, _KINDS_HELP)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=230):
            _draw_steps()
        with st.container(width=130):
            seeds = explained("Models at each ratio: with three or more there are intervals.", "seed", "interval")
            question.draw_number("Seeds", "seeds", _MOST_SEEDS, seeds)
        with st.container(width=160):
            question.select("Performance", "metric", _METRICS, _HELP["metric"])
        with st.popover("More", icon=":material/tune:", width="content"):
            _draw_more()
        st.button("How long?", icon=":material/timer:", on_click=ask_time, help=_TIME_HELP, width="content")
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")


def draw_further_cells() -> None:
    """Further bases and data sets, with the test data of each."""

    def draw_test(source: str) -> None:
        label = f"Test data of {file_tasks.source_name(source, session.user())}"
        _test_controls(source).draw_source(label, "test", _SOURCES, _TEST_HELP)

    bases = {base: _told(base) for base in ARCHITECTURES}
    draw_further(question, None, known=Known(bases, _SOURCES), draw_more=draw_test)


def _test_controls(source: str) -> Question:
    """The control of the test data of a further data set."""
    own = further(question, source)
    own.seed({"test": usual_test(question.now("test") or "")})
    return own


def _draw_base() -> None:
    """An architecture, one of the models that are here, or any other that is typed."""
    own, current = own_names(session.user().id), question.now("base")
    known = [*ARCHITECTURES, *embedded_models(), *own]
    bases = known if current in known else [*known, current]

    def told(base: str) -> str:
        return _told(base) if base in ARCHITECTURES else own.get(base, model_name(base or ""))

    st.selectbox(
        "Base",
        bases,
        index=bases.index(current),
        key=question.key("base"),
        accept_new_options=True,
        format_func=told,
        help=_BASE_HELP,
    )


def _told(architecture: str) -> str:
    return f"{architecture}, random weights"


def _measures() -> list[str]:
    """The measures of the paper, and all others that the base supports."""
    base = question.now("base") or ""
    if base in ARCHITECTURES:
        facts = MODEL_TYPES.get(f"{OURS}{base}") or MODEL_TYPES[base]
        able = [name for name, method in methods().items() if not method.unsupported(facts.architecture)]
    else:
        able = list(supported_methods(card_of(base)))
    paper = [name for name in PAPER_MEASURES if name.partition(":")[0] in able]
    return [*paper, *(name for name in able if name != RANDOM)]


def _draw_steps() -> None:
    """How much is masked: shares, or numbers of tokens."""
    if question.now("masked") == "counts":
        _draw_typed("Tokens masked", "counts", "1:10", _HELP["counts"])
    else:
        _draw_typed("Shares masked, %", "ratios", "0:100:10", _HELP["ratios"])


def _draw_more() -> None:
    question.choose("Mask", "masked", _MASKED, "Shares of a text's tokens, or so many tokens of every text.")
    question.choose("Largest first", "signs", _SIGNS, _HELP["signs"])
    recipes = {"": "The usual one", **{name: name.capitalize() for name in RECIPES}}
    question.select("Recipe", "recipe", recipes, _HELP["recipe"])
    _draw_typed("Settings of training", "settings", "epochs=3, batch_size=8", _HELP["settings"])
    _draw_typed("Validation", "validation", "0.15", _HELP["validation"])
    if not settings().hosted:
        _draw_typed("Keep all weights in", "weights_folder", "a folder", _HELP["weights_folder"])
    question.draw_number("Fewest words of a text", "shortest", _MOST_SHORTEST, _HELP["shortest"])
    minutes, key = question.now("minutes"), question.key("minutes")
    st.number_input("Minutes at most", 0, _MOST_MINUTES, minutes, key=key, help=_MINUTES_HELP)
    seed = explained("Of the first model at each ratio; the others have the next seeds.", "seed")
    st.number_input("First seed", 0, _MOST_SEED, question.now("seed"), key=question.key("seed"), help=seed)
    question.select("Computed", "preset", _PRESETS, _HELP["preset"], _bring_what_belongs_to_the_preset)
    st.toggle("Cut faithfulness to [-1, 1]", question.now("clip"), key=question.key("clip"), help=_HELP["clip"])


def _bring_what_belongs_to_the_preset() -> None:
    question.set("clip", question.now("preset") == "reference")


def _draw_typed(label: str, name: str, placeholder: str, help_text: str) -> None:
    st.text_input(label, question.now(name), key=question.key(name), placeholder=placeholder, help=help_text)
