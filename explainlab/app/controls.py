"""Forms: every field of a view declares its own control, so that no page lists its fields a second time.

From the fields of a record a :class:`Form` seeds the controls, reads the record that they describe, knows the fields
that only redraw, and draws the widgets row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Annotated, Any, Generic, Literal, TypeVar

import streamlit as st
from pydantic import BaseModel, Field
from streamlit.delta_generator import DeltaGenerator

from explainlab.analyses.parameters import RANDOM
from explainlab.app import session
from explainlab.app.glossary import explained
from explainlab.app.question import Question, chip, further_name, supported_methods
from explainlab.attribution.registry import MethodSpec, parse_spec
from explainlab.declared import ParameterSpec, spec_of
from explainlab.figures.palette import PALETTES, PaletteName
from explainlab.metrics.registry import MetricSpec
from explainlab.models.loading import ModelCard
from explainlab.request import Output, Unit, validated
from explainlab.service import file_tasks
from explainlab.settings import settings


@dataclass(frozen=True)
class Drawing:
    """The drawing of controls, whose values ``question`` has; ``run`` asks for an answer.

    ``card`` is that of the chosen model (None: not known yet); ``labels`` are the classes of an answer.
    """

    question: Question
    card: ModelCard | None = None
    run: Callable[[], None] | None = None
    labels: Sequence[str] = ()


R = TypeVar("R", bound=BaseModel)
Options = Mapping[Any, str] | Callable[[Drawing], Mapping[Any, str]]
"""The words of each choice, as they are or as they are drawn."""


_UNDECLARED = ParameterSpec("", "text", None, (), None, None, "")


@dataclass(frozen=True, kw_only=True)
class Held:
    """A field whose value the session holds under ``key`` (empty: the field's name).

    ``redraw``: it changes the drawing alone, and no request. ``row`` is the part of the form that draws it (empty:
    none). ``spec`` is set by :func:`controls_of`.
    """

    key: str = ""
    redraw: bool = False
    row: str = ""
    width: float = 0
    spec: ParameterSpec = _UNDECLARED

    @property
    def name(self) -> str:
        """The name of the field."""
        return self.spec.name

    def seeds(self, record: Any) -> dict[str, Any]:
        """Return the values of the controls for a ``record``."""
        return {self.key: getattr(record, self.name)}

    def read(self, question: Question) -> Any:
        """Return the value of the field that the controls say."""
        return question.now(self.key)

    def inner(self) -> Iterator[Held]:
        """Yield the controls of which this one is made."""
        yield self

    def draw(self, at: Drawing) -> None:
        """Draw the widget; a field that is only held has none."""


REDRAW = Held(redraw=True)
"""A field without a widget that changes the drawing alone."""


@dataclass(frozen=True)
class Control(Held):
    """A field with a widget that suits its type: a choice, a switch, a number or a text.

    ``words`` are the entries of the page of words that explain it. A change calls ``then``, or asks for an answer if it
    ``runs``. It is drawn where it is ``shown``. ``width`` is its share of a row of columns, or its pixels in a line. A
    choice that is not among the ``options`` gives way to the first.
    """

    label: str = ""
    help: str = ""
    row: str = field(default="main", kw_only=True)
    words: tuple[str, ...] = ()
    options: Options | None = None
    then: Callable[[], None] | None = None
    runs: bool = False
    radio: bool = False
    least: float | None = None
    most: float | None = None
    step: float | None = None
    placeholder: str = ""
    icon: str | None = None
    shown: Callable[[], bool] = lambda: True

    def draw(self, at: Drawing) -> None:
        if not self.shown():
            return
        question, key = at.question, self.key
        question.seed({key: self.spec.written(self.spec.default)})
        options = self.choices(at)
        if options:
            if question.now(key) not in options:
                question.set(key, next(iter(options)))
            question.select(self.words_of_label, key, options, self.help_text, self.changed(at), self.radio)
        elif options is None:
            spec, more = self.limited(question), (self.step, self.placeholder, self.icon)
            question.draw_value(self.words_of_label, key, spec, self.help_text, self.changed(at), *more)

    def choices(self, at: Drawing) -> Mapping[Any, str] | None:
        """Return the options; None for a field that is no choice."""
        if callable(self.options):
            return self.options(at)
        return self.options or {choice: choice for choice in self.spec.choices} or None

    def changed(self, at: Drawing) -> Callable[[], None] | None:
        """Return the function that a change calls."""
        return at.run if self.runs else self.then

    def limited(self, question: Question) -> ParameterSpec:
        """Return the declaration with the limits of the widget; a link older than these keeps its number."""
        least = self.spec.minimum if self.least is None else self.least
        most = self.spec.maximum if self.most is None else self.most
        if most is not None:
            most = max(most, question.now(self.key) or most)
        return replace(self.spec, minimum=least, maximum=most)

    @property
    def words_of_label(self) -> str:
        """The label; by default the name of the field."""
        return self.label or self.name.replace("_", " ").capitalize()

    @property
    def help_text(self) -> str | None:
        """The help with its links; by default the description of the field."""
        text = self.help or self.spec.help
        return explained(text, *self.words) if self.words else text or None


_WORDS = {"baseline": ("baseline",), "steps": ("integration-rule",)}
"""Entries of the page of words that explain a parameter."""


def control_of(spec: ParameterSpec, key: str, row: str = "", then: Callable[[], None] | None = None) -> Control:
    """Return the control of one declared parameter; a change calls ``then``."""
    return Control(key=key, spec=spec, row=row, words=_WORDS.get(spec.name, ()), then=then)


@cache
def controls_of(record: type[BaseModel]) -> dict[str, Held]:
    """Return the control of each field of a ``record``, but for its constant ``page``."""
    found = {}
    for name, info in record.model_fields.items():
        if name != "page":
            declared = next((one for one in info.metadata if isinstance(one, Held)), Held())
            found[name] = replace(declared, key=declared.key or name, spec=spec_of(name, info))
    return found


def read_record(question: Question, record: type[R]) -> R:
    """Return the ``record`` that the controls describe; raises :class:`RequestError` for an invalid one."""
    return validated(record, **{name: control.read(question) for name, control in controls_of(record).items()})


def seeds_of(record: BaseModel) -> dict[str, Any]:
    """Return the values of the controls for a ``record``."""
    return {
        key: value for control in controls_of(type(record)).values() for key, value in control.seeds(record).items()
    }


@dataclass(frozen=True)
class Form(Generic[R]):
    """The controls of a page: one for each field of its view's ``record``."""

    question: Question
    record: type[R]

    @property
    def redrawn(self) -> tuple[str, ...]:
        """The fields that change no request."""
        return tuple(name for name, control in controls_of(self.record).items() if control.redraw)

    def seed(self, view: R, force: bool = False) -> None:
        """Set the controls to ``view``; those that already hold a value keep it unless ``force``."""
        self.question.seed(seeds_of(view), force)

    def draft(self) -> R:
        """Return the view that the controls describe now; raises :class:`RequestError` for an invalid one."""
        return read_record(self.question, self.record)

    def row(self, row: str) -> list[Held]:
        """Return the controls of a ``row``, in the order of their fields."""
        return [one for control in controls_of(self.record).values() for one in control.inner() if one.row == row]

    def draw(self, row: str, card: ModelCard | None = None, run: Callable[[], None] | None = None) -> None:
        """Draw the controls of a ``row`` one after another, for the model of ``card``; ``run`` asks for an answer."""
        at = Drawing(self.question, card, run)
        for control in self.row(row):
            with st.container(width=int(control.width)) if control.width else nullcontext():
                control.draw(at)

    def columns(
        self,
        row: str,
        *more: float,
        card: ModelCard | None = None,
        run: Callable[[], None] | None = None,
        labels: Sequence[str] = (),
    ) -> Sequence[DeltaGenerator]:
        """Draw the controls of a ``row`` in columns; return the ``more`` columns, of these shares, that follow.

        ``card`` and ``run`` are as for :meth:`draw`; ``labels`` are the classes of an answer.
        """
        at, controls = Drawing(self.question, card, run, labels), self.row(row)
        columns = st.columns([*(control.width or 1 for control in controls), *more], vertical_alignment="bottom")
        for column, control in zip(columns, controls, strict=False):
            with column:
                control.draw(at)
        return columns[len(controls) :]


# ---- the controls that pages share


@dataclass(frozen=True)
class Several(Control):
    """A field of several ``options``, and if it is ``open`` of typed ones: methods or metrics that ``parse`` reads."""

    open: bool = False
    parse: Callable[[str], MethodSpec | MetricSpec] | None = None
    placeholder: str = "Choose one or more"

    def seeds(self, record: Any) -> dict[str, Any]:
        return {self.key: list(getattr(record, self.name))}

    def draw(self, at: Drawing) -> None:
        options, chosen = self.choices(at) or {}, at.question.now(self.key)
        st.multiselect(
            self.words_of_label,
            list(dict.fromkeys([*options, *chosen])),
            chosen,
            key=at.question.key(self.key),
            accept_new_options=self.open,
            format_func=partial(chip, self.parse) if self.parse else lambda option: options.get(option, option),
            placeholder=self.placeholder,
            help=self.help_text,
        )


@dataclass(frozen=True, kw_only=True)
class SecondText(Held):
    """The second text, which a switch adds; :meth:`Question.draw` draws it."""

    def seeds(self, record: Any) -> dict[str, Any]:
        pair = getattr(record, self.name)
        return {"pair_on": pair is not None, "pair": pair or ""}

    def read(self, question: Question) -> str | None:
        return question.now("pair") if question.now("pair_on") else None


@dataclass(frozen=True)
class Source(Held):
    """A data set among the ``known``, or the path of a file; without ``known``, the examples that fit the model."""

    label: str = "Data set"
    help: str = (
        "Embedded examples that fit the model's classes, or the path of a CSV, TSV, JSON, JSONL or Parquet file."
    )
    known: Sequence[str] | None = None
    placeholder: str = "Type the path of a file"

    def seeds(self, record: Any) -> dict[str, Any]:
        return {self.key: getattr(record, self.name) or None}

    def read(self, question: Question) -> str:
        return question.now(self.key) or ""

    def draw(self, at: Drawing) -> None:
        question = at.question
        known = question.keep_data(at.card) if self.known is None else self.known
        current = question.now(self.key)
        options = [*known, *([current] if current and current not in known else [])]
        st.selectbox(
            self.label,
            options,
            index=options.index(current) if current else None,
            key=question.key(self.key),
            accept_new_options=True,
            format_func=lambda source: file_tasks.source_name(source, session.user()),
            placeholder=self.placeholder,
            help=self.help,
        )


@dataclass(frozen=True, kw_only=True)
class ReadAs(Held):
    """The columns or the classes of the data set, which :func:`explainlab.app.data_set.draw_mapping` draws."""

    def seeds(self, record: Any) -> dict[str, Any]:
        return {"reading": {"source": record.source, "columns": record.columns, "classes": record.classes}}

    def read(self, question: Question) -> dict[str, str]:
        read: dict[str, str] = question.reading()[self.name]
        return read


@dataclass(frozen=True, kw_only=True)
class Further(Held):
    """Further models or data sets, which :func:`explainlab.app.sets.draw_further` draws."""

    def seeds(self, record: Any) -> dict[str, Any]:
        return {self.key: list(getattr(record, self.name))}


@dataclass(frozen=True, kw_only=True)
class FurtherReadings(Held):
    """The readings of further data sets, those whose own names do not do."""

    def seeds(self, record: Any) -> dict[str, Any]:
        return {
            f"{further_name(source)}_reading": {"source": source, "columns": {}, "classes": {}}
            | (dict(record.readings[source]) if source in record.readings else {})
            for source in record.sources
        }

    def read(self, question: Question) -> dict[str, dict[str, Any]]:
        readings = {source: question.further(source).reading() for source in question.now("sources")}
        return {
            source: {"columns": read["columns"], "classes": read["classes"]}
            for source, read in readings.items()
            if read["columns"] or read["classes"]
        }


_SAMPLES = {"random": "Random", "first": "First", "all": "All"}
_SAMPLE_HELP = "Random rows are drawn in proportion to the labels. The first rows of a sorted file are all alike."


@dataclass(frozen=True, kw_only=True)
class Rows(Held):
    """The number of rows of the data set; which ones, is chosen beside it."""

    def draw(self, at: Drawing) -> None:
        question, (which, number) = at.question, st.columns(2, vertical_alignment="bottom")
        with which:
            question.select("Sample", "sample", _SAMPLES, _SAMPLE_HELP)
        rows = question.now(self.key)
        number.number_input(
            "Rows",
            1,
            max(settings().max_rows, rows or 1),
            rows,
            step=10,
            key=question.key(self.key),
            disabled=question.now("sample") == "all",
        )


@dataclass(frozen=True, kw_only=True)
class Within(Held):
    """A field with a record of its own, whose controls are ``first`` set to this one."""

    first: BaseModel

    def seeds(self, record: Any) -> dict[str, Any]:
        return seeds_of(getattr(record, self.name) or self.first)

    def read(self, question: Question) -> Any:
        return read_record(question, type(self.first))

    def inner(self) -> Iterator[Held]:
        yield from controls_of(type(self.first)).values()


OUTPUT_HELP = "The number that is explained: the target's probability, or its logit (the score before the softmax)."
_OUTPUTS = {"probability": "probability", "logit": "logit"}
_OWN_HELP = f"{OUTPUT_HELP} Most methods are defined on the probability."
_TARGET_HELP = "The class that the scores speak for or against."
_SPECS_HELP = "To set options, type a method's id and its options: kernel_shap:samples=16n. Random is always included."


def targets(at: Drawing) -> dict[str, str]:
    """Return the classes of the model, the predicted one first."""
    return {name: name for name in ("predicted", *(at.card.labels if at.card else ()))}


def _methods(at: Drawing) -> dict[str, str]:
    """Return the methods that the model supports; random maps are there without a choice."""
    return {name: name for name in supported_methods(at.card) if name != RANDOM}


TARGET = Control("Target", _TARGET_HELP, words=("target",), options=targets)
Target = Annotated[str, TARGET]
"""The class explained."""
OUTPUT = Control("Output", OUTPUT_HELP, words=tuple(_OUTPUTS), options=_OUTPUTS, radio=True)
OneOutput = Annotated[Output, OUTPUT]
"""The number explained."""
Outputs = Annotated[
    Output | Literal["own"],
    Control("Output", _OWN_HELP, words=tuple(_OUTPUTS), options={"own": "each its own", **_OUTPUTS}),
]
"""The number that several methods explain: each its own, or one for all."""
UNIT = Control("Unit", "What gets a score.", words=("feature", "token"), radio=True)
Scored = Annotated[Unit, UNIT]
"""The unit, which gets a score."""
Methods = Annotated[
    tuple[str, ...], Several("Methods", _SPECS_HELP, row="methods", options=_methods, open=True, parse=parse_spec)
]
"""Methods with their options: those that the model supports, or typed ones."""
SEED = Control("Seed", words=("seed",), least=0, most=2**32 - 1)
Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""A seed."""
PALETTE = Control("Colours", options={name: palette.label for name, palette in PALETTES.items()}, redraw=True)
Palette = Annotated[PaletteName, PALETTE]
"""The colours of maps."""
RowCount = Annotated[int, Rows(row="data", width=4), Field(ge=1)]
"""The number of rows of a data set, with the choice which ones."""
