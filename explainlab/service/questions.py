"""How requests are named among jobs, and how their results are stored and read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from explainlab.analyses.registry import complete, get_analysis, read_result, request_key
from explainlab.request import CompleteRequest, Kind, Request, digest
from explainlab.result import Result
from explainlab.service.store.store import Store
from explainlab.service.uploads import reader_of
from explainlab.service.users import User

_MOST_KEPT = 2**20
"""Characters of a stored result that stays in memory once it was read; longer ones are read anew."""


def kind_of(request: Request) -> Kind:
    """What the question of ``request`` is."""
    return get_analysis(request.question).kind


def request_json(request: Request) -> dict[str, Any]:
    """``request`` as the store keeps it."""
    return request.to_json(kind_of(request))


def is_batch(request: Request) -> bool:
    """Whether ``request`` is about the texts of a data set, so that nobody waits for it text by text."""
    return request.data is not None


def asked_by(request: Request, user: User) -> CompleteRequest:
    """The same request complete; the uploads that it names are those of ``user``."""
    return complete(request).model_copy(update={"reader": user.id})


def result_key(request: CompleteRequest, model_digest: str) -> str:
    """The key under which the result of ``request`` is stored."""
    return request_key(request, model_digest, reader_of(request))


def job_key(request: CompleteRequest) -> str:
    """What equal complete requests share: 64 hexadecimal digits of the model's name and of all but its files."""
    return digest([request.model, result_key(request, "")])


def again_key(request: CompleteRequest) -> str:
    """The key of the job that computes ``request`` again, whatever is stored."""
    return digest(["again", job_key(request)])


def stored_result(store: Store, key: str) -> Result | None:
    """The result under ``key``, or None.

    Raises :class:`ResourceError` where the store fails, :class:`ValueError`, :class:`KeyError` or :class:`TypeError`
    for a result in a form that this version does not read.
    """
    text = store.result(key)
    if text is None:
        return None
    return _kept(text) if len(text) <= _MOST_KEPT else _read(text)


def store_result(store: Store, key: str, result: Result) -> None:
    """Store ``result`` under ``key``; one that is already there stays."""
    store_record(store, key, result.to_json())


def store_record(store: Store, key: str, record: Mapping[str, Any]) -> None:
    """Store the JSON ``record`` of a result under ``key``; one that is already there stays."""
    store.put(key, record["model"], record["study"] if "study" in record else record["method"], record)


def _read(text: str) -> Result:
    return read_result(json.loads(text))


_kept = lru_cache(maxsize=256)(_read)
"""Equal texts are one record, so that what is made of it need not be made again."""
