"""The two kinds of questions, attributions and studies: how each is completed, keyed, answered and kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any

from pydantic import BaseModel

from explainlab.analyses import registry as studies
from explainlab.analyses.base import StudyRequest, StudyResult
from explainlab.analyses.run import answer_study
from explainlab.attribution import registry as methods
from explainlab.attribution.explain import answer
from explainlab.attribution.records import Attribution
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Request, digest
from explainlab.service.store import runs
from explainlab.service.store.store import Store

Question = Request | StudyRequest
Answer = Attribution | StudyResult
_MOST_KEPT = 2**20
"""Characters of a stored study that stays in memory once it was read; longer ones are read anew."""


@dataclass(frozen=True)
class Kind:
    """What is done with questions of one kind; ``key`` takes the model's digest, ``asks`` gives its id."""

    name: runs.Kind
    record: type[BaseModel]
    asks: Callable[[Any], str]
    complete: Callable[[Any], Any]
    key: Callable[[Any, str], str]
    answer: Callable[[Classifier, Any, RunContext], Any]
    get: Callable[[Store, str], Any]
    put: Callable[[Store, str, Any], None]


def _get_study(store: Store, key: str) -> StudyResult | None:
    text = store.note_text(key)
    if text is None:
        return None
    return _kept_study(text) if len(text) <= _MOST_KEPT else _study(text)


def _study(text: str) -> StudyResult:
    return StudyResult.from_json(json.loads(text))


_kept_study = lru_cache(maxsize=64)(_study)
"""Equal texts are one record, so that what is made of it need not be made again."""


def _put_study(store: Store, key: str, result: StudyResult) -> None:
    store.keep_note(key, result.to_json())


_OF_METHODS = (methods.complete, methods.request_key, answer, Store.get, Store.put)
_OF_STUDIES = (studies.complete, studies.study_key, answer_study, _get_study, _put_study)
_KINDS = {
    kind.record: kind
    for kind in (
        Kind("attribution", Request, attrgetter("method"), *_OF_METHODS),
        Kind("study", StudyRequest, attrgetter("study"), *_OF_STUDIES),
    )
}


def kind_of(question: Question) -> Kind:
    """The kind that ``question`` is of."""
    return _KINDS[type(question)]


def asked_as(question: Question, found: Answer) -> Answer:
    """``found`` as the answer to ``question``, which may name the model by another name."""
    return found if found.request == question else replace(found, request=question)


def is_batch(question: Question) -> bool:
    """Whether ``question`` is about the texts of a data set, so that nobody waits for it text by text."""
    return isinstance(question, StudyRequest) and question.data is not None


def kind_named(name: runs.Kind) -> Kind:
    """The kind with this name."""
    return next(kind for kind in _KINDS.values() if kind.name == name)


def job_key(question: Question) -> str:
    """What equal complete questions share: 64 hexadecimal digits of the model's name and of all but its files."""
    return digest([question.model, kind_of(question).key(question, "")])


def again_key(question: Question) -> str:
    """The key of the job that computes a complete question again, whatever is stored."""
    return digest(["again", job_key(question)])
