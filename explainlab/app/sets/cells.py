"""The cells of a set with their answers, and what is made of them once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.sets.records import SetCell, SetModel, StudySet
from explainlab.app import session
from explainlab.app.once import once
from explainlab.app.place import Answer
from explainlab.app.question import card_of
from explainlab.errors import ModelError
from explainlab.models.stored.made import but_for_seed
from explainlab.service import file_tasks
from explainlab.service.store.made import called, shown_model

S = TypeVar("S", bound=StudySet)
T = TypeVar("T")


def result_of(answer: Answer) -> AnalysisResult[Any] | None:
    """The result that an answer has."""
    result: AnalysisResult[Any] | None = answer.result
    return result


def set_of(
    kind: Callable[[tuple[SetCell, ...]], S],
    cells: Sequence[tuple[str, str]],
    answers: Sequence[Answer],
    read: Callable[[Answer], AnalysisResult[Any] | None] = result_of,
) -> S:
    """A set of this ``kind``: the ``cells``, a model and a data set each, with what ``read`` gives of their answers."""
    ids = list(dict.fromkeys(model for model, _ in cells))
    names = {model: shown_model(model, session.user().id) for model in ids}
    counts = Counter(names.values())
    models = {model: _model(model, name if counts[name] == 1 else model) for model, name in names.items()}
    sources = _names(list(dict.fromkeys(source for _, source in cells)))
    return kind(
        tuple(
            SetCell(models[model], source, sources[source], read(answer), answer.problem)
            for (model, source), answer in zip(cells, answers, strict=True)
        )
    )


def drawn(studies: S, make: Callable[..., T], *arguments: Any) -> T:
    """``make(studies, *arguments)``, made once for these results: see :func:`explainlab.app.once.once`."""
    cells = tuple((cell.model, cell.data, cell.data_name, cell.reason, bool(cell.result)) for cell in studies.cells)
    results = tuple(cell.result for cell in studies.done)
    made: T = once(results[0], _made, type(studies), make, cells, results, *arguments)
    return made


def _made(
    kind: type[StudySet], make: Callable[..., T], cells: Sequence[Any], results: Sequence[Any], *arguments: Any
) -> T:
    known = iter(results)
    whole = (
        SetCell(model, data, name, next(known) if done else None, reason) for model, data, name, reason, done in cells
    )
    return make(kind(tuple(whole)), *arguments)


def _model(model_id: str, name: str) -> SetModel:
    """The facts of a model that readers call ``name``."""
    card, alike = card_of(model_id), model_id
    with suppress(ModelError):  # deleted: its cell says so
        alike = but_for_seed(called(model_id, session.user().id))
    return SetModel(model_id, name, card.architecture.family if card else "", card.weights if card else 0, alike)


def _names(sources: Sequence[str]) -> dict[str, str]:
    """What readers call data sets; of those called alike the folder as well, or a number."""
    names = {source: file_tasks.source_name(source, session.user()) for source in sources}
    counts = Counter(names.values())
    return {
        source: name if counts[name] == 1 else "/".join(source.split("/")[-2:]) if "/" in source else f"{name} ({i})"
        for i, (source, name) in enumerate(names.items(), 1)
    }
