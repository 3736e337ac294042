"""A request as this instance answers it: completed, checked and identified once, where it comes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from explainlab.analyses.registry import complete, identity, kind_of
from explainlab.reader import Reader
from explainlab.request import CompleteRequest, Request, digest, result_key
from explainlab.service.limits import named_files, require_allowed
from explainlab.service.store.made import resolve_model_alias
from explainlab.service.uploads import reader_of
from explainlab.service.users import LOCAL, User


@dataclass(frozen=True)
class ResolvedRequest:
    """A complete ``request`` of a ``user``, with the digests by which jobs and results are found.

    Attributes:
        request: The question with every parameter; the uploads and the made model that it names are the user's.
        user: The user of the request.
        identity: The digest of everything that decides the result, except the model: see :meth:`Analysis.identity`.
        key: The key of the job that equal requests share, 64 hexadecimal digits. The model counts by its name.
        subject: The digest of the text (and its pair), of the data set's name, or of the question.
        files: The data sets and files that the request names. They are read again before it is answered.
    """

    request: CompleteRequest
    user: User
    identity: str
    key: str
    subject: str
    files: tuple[str, ...] = ()

    @property
    def reader(self) -> Reader:
        """The reader of the user's uploads."""
        return reader_of(self.request)

    @property
    def is_batch(self) -> bool:
        """True if the request is about more than one text; its job is then not urgent."""
        return self.request.text is None

    @property
    def again_key(self) -> str:
        """The key of the job that computes the request again, stored or not."""
        return digest(["again", self.key])

    def result_key(self, model_digest: str) -> str:
        """Return the key of the result by the model with this digest."""
        return result_key(self.identity, model_digest)

    def of(self, user: User) -> ResolvedRequest:
        """Return the same request, asked by another ``user`` who shares its job."""
        return replace(self, user=user, request=self.request.model_copy(update={"reader": user.id}))

    def as_of_now(self) -> ResolvedRequest:
        """Return the request with the identity of its files as they are now; itself where it names none."""
        return _identified(self.request, self.user) if self.files else self


def resolve(request: Request, user: User = LOCAL, unrestricted: bool = False) -> ResolvedRequest:
    """Complete, check and identify a ``request`` of a ``user``; pages and commands do so once, before all else.

    ``unrestricted``: the user has a shell on this machine, so that no model and no file is refused. Raises
    :class:`RequestError` for an invalid request, and as :func:`explainlab.service.limits.require_allowed`, before a
    file is opened.
    """
    named = request.model_copy(update={"model": resolve_model_alias(request.model, user.id)})
    whole = complete(named).model_copy(update={"reader": user.id})
    if not unrestricted:
        require_allowed(whole)
    return _identified(whole, user)


def set_key(asked: Sequence[ResolvedRequest]) -> str:
    """Return the key of the job that answers all of these requests."""
    return digest(["set", *(one.key for one in asked)])


def request_json(request: Request) -> dict[str, Any]:
    """Return ``request`` as the store keeps it."""
    return request.to_json(kind_of(request))


def subject_key(request: Request) -> str:
    """Return the digest of the text (and pair) of ``request``, of its data set's name, or else of its question."""
    if request.self_contained:
        return digest([None, request.question])
    return digest([request.text, request.text_pair] if request.data is None else [request.data])


def _identified(request: CompleteRequest, user: User) -> ResolvedRequest:
    own = identity(request, reader_of(request))
    key = digest([request.model, own])
    return ResolvedRequest(request, user, own, key, subject_key(request), tuple(named_files(request)))
