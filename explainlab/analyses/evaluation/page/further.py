"""Further models and data sets of the Benchmark page: a folded control, and their cells with the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.page.view import BenchmarkView
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.evaluation.sets.records import EvaluatedSet, SetCell, SetModel
from explainlab.analyses.evaluation.truth import shown
from explainlab.app import session
from explainlab.app.once import once
from explainlab.app.place import Answer
from explainlab.app.question import Question, card_of
from explainlab.data import EXAMPLES
from explainlab.errors import ModelError
from explainlab.models.loading import model_name
from explainlab.models.stored.made import but_for_seed
from explainlab.models.stored.places import embedded_models
from explainlab.service import looks
from explainlab.service.store.made import called, own_names, shown_model

T = TypeVar("T")


def draw_further(question: Question) -> None:
    """Any number of models and data sets beside the first ones."""
    models, sources = question.now("models"), question.now("sources")
    every = (1 + len(models)) * (1 + len(sources))
    label = "Further models and data sets" + (f": {every} cells" if every > 1 else "")
    with st.expander(label, icon=":material/grid_view:", key=question.key("further")):
        own = own_names(session.user().id)
        known = [*embedded_models(), *own]
        typed = "Embedded models and those that you have made; or type a directory or a hub id."
        _draw_list(question, "Further models", "models", known, lambda model: own.get(model, model_name(model)), typed)
        typed = "Type the path of a file with the columns text and label, or choose embedded examples."
        _draw_list(question, "Further data sets", "sources", list(EXAMPLES), _name, typed)


def _draw_list(
    question: Question, label: str, name: str, known: Sequence[str], called_as: Callable[[str], str], typed: str
) -> None:
    st.multiselect(
        label,
        list(dict.fromkeys([*known, *question.now(name)])),
        question.now(name),
        key=question.key(name),
        accept_new_options=True,
        format_func=called_as,
        placeholder="None",
        help=f"{typed} Every model is evaluated on every data set.",
    )


def set_of(view: BenchmarkView, answers: Sequence[Answer]) -> EvaluatedSet:
    """The cells of ``view`` with their ``answers``."""
    ids = list(dict.fromkeys(model for model, _ in view.cells))
    names = {model: shown_model(model, session.user().id) for model in ids}
    counts = Counter(names.values())
    models = {model: _model(model, name if counts[name] == 1 else model) for model, name in names.items()}
    sources = _names(list(dict.fromkeys(source for _, source in view.cells)))
    cells = zip(view.cells, answers, strict=True)
    return EvaluatedSet(
        tuple(
            SetCell(models[model], source, sources[source], result_of(answer), answer.problem)
            for (model, source), answer in cells
        )
    )


def result_of(answer: Answer) -> AnalysisResult[EvaluationData] | None:
    """The result as readers see it: see :func:`explainlab.analyses.evaluation.truth.shown`."""
    return None if answer.result is None else once(answer.result, shown, answer.result)


def drawn(evaluated: EvaluatedSet, make: Callable[..., T], *arguments: Any) -> T:
    """``make(evaluated, *arguments)``, made once for these results: see :func:`explainlab.app.once.once`."""
    cells = tuple((cell.model, cell.data, cell.data_name, cell.reason, bool(cell.result)) for cell in evaluated.cells)
    results = tuple(cell.result for cell in evaluated.done)
    made: T = once(results[0], _made, make, cells, results, *arguments)
    return made


def _made(make: Callable[..., T], cells: Sequence[Any], results: Sequence[Any], *arguments: Any) -> T:
    known = iter(results)
    whole = (
        SetCell(model, data, name, next(known) if done else None, reason) for model, data, name, reason, done in cells
    )
    return make(EvaluatedSet(tuple(whole)), *arguments)


def _model(model_id: str, name: str) -> SetModel:
    """The facts of a model that readers call ``name``."""
    card, alike = card_of(model_id), model_id
    with suppress(ModelError):  # deleted: its cell says so
        alike = but_for_seed(called(model_id, session.user().id))
    return SetModel(model_id, name, card.architecture.family if card else "", card.weights if card else 0, alike)


def _names(sources: Sequence[str]) -> dict[str, str]:
    """What readers call data sets; of those called alike the folder as well, or a number."""
    names = {source: _name(source) for source in sources}
    counts = Counter(names.values())
    return {
        source: name if counts[name] == 1 else "/".join(source.split("/")[-2:]) if "/" in source else f"{name} ({i})"
        for i, (source, name) in enumerate(names.items(), 1)
    }


def _name(source: str) -> str:
    return looks.source_name(source, session.user())
