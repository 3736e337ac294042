"""The form of the Models page: data, architecture and settings of a training, and its request."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, Self

import streamlit as st
from pydantic import Field

from explainlab.analyses.registry import complete, get_study
from explainlab.analyses.training.analysis import ELSEWHERE, Training
from explainlab.app import session
from explainlab.app.controls import SEED, Control, Drawing, Form, Held, Seed, Source
from explainlab.app.page import AnalysisPage, Pressed
from explainlab.app.place import Answer, Requests, resolved
from explainlab.app.question import Question
from explainlab.app.view import AnalysisView, DataSource, SharedInputs, made_once, view_of
from explainlab.data import EXAMPLES, TO_LEARN
from explainlab.declared import parse
from explainlab.errors import RequestError
from explainlab.models.loading import model_name
from explainlab.request import Request
from explainlab.service.service import Service
from explainlab.training import ARCHITECTURES, TrainingSettings, settings_for

NAME = "models"
question = Question(NAME)

_BASE = "embedded:bert-mini-sst2"
_BEGINS = {"weights": "Random weights", "model": "A model that has learned"}
_ARCHITECTURES = {
    "bert": "BERT, an encoder",
    "gpt2": "GPT-2, a decoder",
    "t5_encoder": "T5's encoder",
    "bilstm_attention": "BiLSTM with attention",
}
_SIZES = {"": "As the embedded models", "tiny": "Tiny", "mini": "Mini", "small": "Small", "base": "Base"}
_RECIPES = {
    "": "The usual one",
    "embedded": "As the embedded models",
    "thesis": "Thesis (fine-tuning)",
    "roar": "ROAR",
    "progressive": "Progressive inference",
    "bilstm": "BiLSTM with attention",
    "masked": "The usual one, on masks too",
}
_SHARE_HELP = "The share of the rows that is not learned from: each epoch is measured on it, and the best one is kept."
_BASE_HELP = (
    "Its weights go on learning; where the classes differ, its head is new. A directory or a hub id (owner/name; "
    "safetensors only) can be typed."
)
_DATA_HELP = "Labelled texts: the embedded examples, or the path of a CSV, TSV, JSON, JSONL or Parquet file."
_RECIPE_HELP = (
    "Named settings. The usual one is that of the embedded models for random weights (a BiLSTM has its own), and the "
    "thesis' for a model that has learned: at most 10 epochs, fewer where the last five were no better. On masks too: "
    "half of the texts have a random share of their words masked, so that metrics that mask ask about nothing new."
)
_LORA_HELP = (
    "Small matrices beside the queries and values learn in place of the weights, and the head. They are saved as an "
    "adapter of a few megabytes: the model needs its base as long as it is used. Needs the package peft."
)
_NUMBERS: dict[str, tuple[str, float, float]] = {
    "epochs": ("Epochs", 1, 1000),
    "batch_size": ("Batch size", 1, 4096),
    "learning_rate": ("Learning rate", 0.0, 1.0),
    "max_tokens": ("Longest text in tokens", 8, 8192),
}
"""Settings with a box of their own: label, least and most. An empty box is as the recipe says."""


def _has_sizes() -> bool:
    """Return True if the chosen start comes in several sizes."""
    return question.now("begin") == "weights" and not _begins_without("size")


def _begins_without(setting: str) -> bool:
    """Return True if the chosen start has random weights and no such setting."""
    return question.now("begin") == "weights" and setting in ARCHITECTURES[question.now("architecture")].unused


class Base(Held):
    """The start: random weights of an architecture, or a model that has learned."""

    def seeds(self, record: ModelsView) -> dict[str, Any]:
        new = record.base in ARCHITECTURES
        begin = {"begin": "weights" if new else "model", "architecture": record.base if new else "bert"}
        return {**begin, self.key: _BASE if new else record.base}

    def read(self, question: Question) -> str:
        return _base()

    def draw(self, at: Drawing) -> None:
        if at.question.now("begin") == "weights":
            at.question.select("Architecture", "architecture", _ARCHITECTURES)
        else:
            at.question.draw_model_name("Base model", self.key, _BASE_HELP)


class Size(Control):
    """The size of an architecture that comes in several."""

    def read(self, question: Question) -> str:
        return question.now(self.key) if _has_sizes() else ""


class Settings(Held):
    """The settings of training, of which some have controls of their own."""

    def seeds(self, record: ModelsView) -> dict[str, Any]:
        settings = record.settings
        lists = {name: value for name, value in settings.items() if isinstance(value, list)}
        apart = (*_NUMBERS, *lists, "prompt", "lora")
        typed = [f"{name}={value}" for name, value in settings.items() if name not in apart]
        own = {"lists": lists, "prompt": settings.get("prompt", ""), "lora": bool(settings.get("lora"))}
        return {name: settings.get(name) for name in _NUMBERS} | own | {"others": ", ".join(typed)}

    def read(self, question: Question) -> dict[str, Any]:
        return _settings()


class Share(Held):
    """The share of the rows that is not learned from."""

    def draw(self, at: Drawing) -> None:
        st.number_input(
            "Validation share",
            0.0,
            0.5,
            question.now("validation_share"),
            0.05,
            key=question.key("validation_share"),
            disabled=bool(question.now("validation_data")),
            help=_SHARE_HELP,
            width=150,
        )


_SIZE = Size(
    help="Layers, width, heads. A larger model takes longer to learn.", row="base", options=_SIZES, shown=_has_sizes
)
_SEEDS = Control(
    "Models (seeds)",
    "Models that differ only in their seed: three show how much of a result is chance.",
    words=("seed",),
    width=130,
    least=1,
    most=10,
)
_data = partial(Source, known=[*EXAMPLES, *TO_LEARN])
_VALIDATION = _data(
    "Validation data", "A data set to measure each epoch on, in place of a share.", placeholder="None", row="more"
)
_TEST = _data(
    "Test data",
    "A data set that is read when the model is done: its accuracy is the answer.",
    placeholder="None",
    row="more",
)


class ModelsView(DataSource, AnalysisView):
    """A training: ``base`` is an architecture or a model, ``source`` the data set; the rest as its parameters say."""

    page: Literal["models"] = "models"
    base: Annotated[str, Base(row="base")] = "bert"
    source: Annotated[str, _data(help=_DATA_HELP, key="data", row="data")] = ""
    recipe: Annotated[str, Control(help=_RECIPE_HELP, row="data", options=_RECIPES)] = ""
    size: Annotated[str, _SIZE] = ""
    validation_share: Annotated[float, Share(row="main")] = 0.1
    seeds: Annotated[int, _SEEDS] = 1
    seed: Annotated[Seed, replace(SEED, help="Of the weights, the order of the texts and the masks.", row="seed")] = 0
    validation_data: Annotated[str, _VALIDATION] = ""
    test_data: Annotated[str, _TEST] = ""
    settings: Annotated[dict[str, Any], Settings()] = Field(default_factory=dict)

    def request(self) -> Request:
        """Return the request for the training.

        Raises :class:`RequestError` without data, and for settings that do not go together.
        """
        if not self.source:
            raise RequestError("No data set is chosen.", "Choose the embedded examples, or type the path of a file.")
        named = {name: value for name in ("recipe", "size") if (value := getattr(self, name))}
        settings_for(self.base, **{**self.settings, **named})
        return complete(self.asks(Training.id, self, model=self.base))

    @made_once
    def text_requests(self) -> list[Request]:
        """Return the request for the training, alone."""
        return [self.request()]

    @property
    def whole_data(self) -> str | None:
        """See :attr:`AnalysisView.whole_data`."""
        return self.source

    def line(self) -> str:
        return self.base if self.base in ARCHITECTURES else model_name(self.base)

    def with_shared_inputs(self, inputs: SharedInputs) -> Self:
        """Accept the inputs of other views, except labels that name the classes of a trained model."""
        view = super().with_shared_inputs(inputs)
        return view.model_copy(update={"classes": {}})


def first_view() -> ModelsView:
    """Return the first view of the page: an embedded model that learns further from the embedded examples."""
    return ModelsView(base="embedded:bert-mini-sst2", source="embedded:sentiment")


def shows(request: Request) -> ModelsView | None:
    """Return the view that shows the answer to ``request``; None unless it makes models."""
    if request.question != Training.id or request.data is None:
        return None
    return view_of(first_view(), request, base=request.model)


FORM = Form(question, ModelsView)


def draw_question(run: Callable[[], None], label: str) -> None:
    """Draw all controls; a button with this ``label`` calls ``run``."""
    question.select("Begin with", "begin", _BEGINS, "A model that has learned needs fewer texts.", radio=True)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        FORM.draw("base")
        if question.now("begin") != "weights":
            st.toggle("LoRA", question.now("lora"), key=question.key("lora"), help=_LORA_HELP)
    FORM.columns("data")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        usual = _usual()
        _draw_setting("epochs", usual)
        FORM.draw("main")
        with st.popover("More", icon=":material/tune:", width="content"):
            _draw_more(usual)
        st.button(label, type="primary", icon=":material/play_arrow:", on_click=run, width="content")


def _draw_more(usual: TrainingSettings | None) -> None:
    FORM.draw("seed")
    for name in _NUMBERS:
        if name != "epochs":
            _draw_setting(name, usual)
    FORM.draw("more")
    if not _begins_without("prompt"):
        st.text_input(
            "Text around the parts",
            question.now("prompt"),
            key=question.key("prompt"),
            placeholder="[Assertion]: {text_b} [Document]: {text}",
            help=TrainingSettings.model_fields["prompt"].description,
        )
    apart = (*_NUMBERS, *ELSEWHERE, "prompt", "lora")
    known = ", ".join(name for name in TrainingSettings.model_fields if name not in apart)
    st.text_input(
        "Other settings",
        question.now("others"),
        key=question.key("others"),
        placeholder="patience=3",
        help=f"name=value, with commas between: {known}.",
    )


def _draw_setting(name: str, usual: TrainingSettings | None) -> None:
    """Draw a number; an empty one takes the value of the recipe."""
    label, least, most = _NUMBERS[name]
    whole = isinstance(least, int)
    st.number_input(
        label,
        least,
        most,
        question.now(name),
        1 if whole else 1e-5,
        key=question.key(name),
        format=None if whole else "%g",
        placeholder="" if usual is None else f"{getattr(usual, name):g}",
        help=TrainingSettings.model_fields[name].description,
        width=130 if name == "epochs" else "stretch",
    )


def _usual() -> TrainingSettings | None:
    """Return the settings that are not chosen, by the recipe and the size; None while these do not go together."""
    new = question.now("begin") == "weights"
    chosen = {"recipe": question.now("recipe"), "size": question.now("size") if new else ""}
    with suppress(RequestError):  # shown where the page asks for the model
        return settings_for(_base(), **{name: value for name, value in chosen.items() if value})
    return None


def _base() -> str:
    return question.now("architecture" if question.now("begin") == "weights" else "base") or ""


def _settings() -> dict[str, Any]:
    """Return the chosen settings; raises ``RequestError`` for an unknown one or one out of range."""
    numbers = {name: question.now(name) for name in _NUMBERS if question.now(name) is not None}
    typed: Any = parse(get_study(Training.id), {"settings": question.now("others")})
    around = {} if _begins_without("prompt") or not question.now("prompt") else {"prompt": question.now("prompt")}
    adapted = {"lora": True} if question.now("lora") and question.now("begin") == "model" else {}
    return {**question.now("lists"), **adapted, **typed.settings, **numbers, **around}


PAGE = AnalysisPage(NAME, form=FORM, first=first_view, button="Make the model", shows=shows)
TRAINING = Pressed("models.training", PAGE)
"""The training that a press has asked for: opening a link makes no model."""


def answer(service: Service, view: ModelsView) -> Answer | None:
    """Return the models that ``view`` describes, or the job that makes them; None without either."""
    return TRAINING.answer_if_requested(service, *view.text_requests())


def delete(service: Service, model_id: str) -> None:
    """Delete a model (a callback), and forget the training that is shown if it made it."""
    asked = next(iter(TRAINING.view.requests()), None) if TRAINING.view else None
    result = asked and service.find(resolved(asked))
    service.delete_made(model_id, session.user())
    if result and service.find(resolved(result.request)) is None:
        TRAINING.ask(service, Requests())
