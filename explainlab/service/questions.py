"""A request's kind, its stored form, and the keys of its result and job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from explainlab.analyses.registry import complete, kind_of, request_key
from explainlab.request import CompleteRequest, Request, digest
from explainlab.service.store.made import called
from explainlab.service.uploads import reader_of
from explainlab.service.users import User


def request_json(request: Request) -> dict[str, Any]:
    """``request`` as the store keeps it."""
    return request.to_json(kind_of(request))


def is_batch(request: Request) -> bool:
    """Whether ``request`` is about more than one text, so that its job is not urgent."""
    return request.text is None


def about_key(request: Request) -> str:
    """What ``request`` is about, whatever it asks: the digest of its text (and pair) or of its data set's name.

    A self-contained one is about its question.
    """
    if request.self_contained:
        return digest([None, request.question])
    return digest([request.text, request.text_pair] if request.data is None else [request.data])


def asked_by(request: Request, user: User) -> CompleteRequest:
    """The same request complete; the uploads and the made model that it names are those of ``user``."""
    named = request.model_copy(update={"model": called(request.model, user.id)})
    return complete(named).model_copy(update={"reader": user.id})


def result_key(request: CompleteRequest, model_digest: str) -> str:
    """The key under which the result of ``request`` is stored."""
    return request_key(request, model_digest, reader_of(request))


def job_key(request: CompleteRequest) -> str:
    """The key of the job that equal complete requests share: 64 hexadecimal digits. Its model counts by name."""
    return digest([request.model, result_key(request, "")])


def set_key(requests: Sequence[CompleteRequest]) -> str:
    """The key of the job that answers all of these complete requests."""
    return digest(["set", *map(job_key, requests)])


def again_key(request: CompleteRequest) -> str:
    """The key of the job that computes ``request`` again, stored or not."""
    return digest(["again", job_key(request)])
