"""Access rights: runs and saved views belong to users. A hidden one looks like one that does not exist."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, get_args

from explainlab.analyses.base import Pauses
from explainlab.analyses.registry import get_analysis, kind_of, known_digest
from explainlab.data.uploads import PREFIX as UPLOADED
from explainlab.errors import ExplainLabError, ModelError, RequestError, ResourceError
from explainlab.models.context import RunContext
from explainlab.request import Request, digest
from explainlab.result import Result
from explainlab.service.file_tasks import about
from explainlab.service.imports import read_results
from explainlab.service.jobs import Job
from explainlab.service.limits import require_named
from explainlab.service.memory import StoredMemory
from explainlab.service.resolved import ResolvedRequest, request_json, subject_key
from explainlab.service.store.made import claim_models
from explainlab.service.store.retention import delete_about
from explainlab.service.store.runs import Choices, Filters, Run, RunPage, Visibility
from explainlab.service.store.store import Store
from explainlab.service.uploads import touch
from explainlab.service.users import User

Write = Callable[[], None]

_MOST = 512


class DeferredWrites:
    """Writes that wait for the store; beyond 512 the oldest are lost. Safe to use from any thread."""

    def __init__(self) -> None:
        self._waiting: deque[Write] = deque(maxlen=_MOST)
        self._flushing = threading.Lock()

    def write(self, write: Write) -> ResourceError | None:
        """Make ``write`` now, or with :meth:`flush` where the store fails: as the returned error says."""
        try:
            write()
        except ResourceError as error:
            self._waiting.append(write)
            return error
        return None

    def flush(self) -> None:
        """Make the writes that wait; one that fails again is the last of the next time, and ends this one."""
        with self._flushing:
            for _ in range(len(self._waiting)):
                if self.write(self._waiting.popleft()):
                    return


_NO_FILTER = Filters()


@dataclass(frozen=True)
class OpenRun:
    """A run with its request and its result.

    ``missing``: why there is no result; ``gone``: why its model is unavailable; ``own``: whether the user owns it.
    """

    run: Run
    request: Request
    result: Result | None
    missing: str
    gone: str
    own: bool


@dataclass(frozen=True)
class Unanswered:
    """A request that the server stopped before answering: the ``key`` of its job, and when it was made (UTC)."""

    key: str
    request: Request
    asked: datetime


class Access:
    """Runs and views of the users of one ``store``.

    Users read their own, those shared with the instance, and those shared by link whose id they know; only the owner
    deletes or shares. Everything else raises the same :class:`RequestError` as an unknown id.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.late = DeferredWrites()

    def record(self, asked: ResolvedRequest, result: Result) -> None:
        """Make ``result`` a run of the user; equal requests share a run. Where the store is away, when it is back.

        A result that was deleted meanwhile is stored again.
        """
        self.keep(asked, result)
        with suppress(ExplainLabError):
            for upload in asked.files:
                if upload.startswith(UPLOADED):
                    touch(upload, asked.user)
            run = _run_of(asked.request, result, asked.user, asked.result_key(result.versions["model"]))
            self.late.write(partial(_record, self.store, run))

    def keep(self, asked: ResolvedRequest, result: Result) -> None:
        """Store ``result`` for the user. Do nothing where the store fails."""
        self.late.flush()  # what waits has no warning that it is not stored
        with suppress(ExplainLabError):
            key = asked.result_key(result.versions["model"])
            self.store.put(key, result)
            self.store.held.hold(asked.user.id, asked.subject, [key])
            claim_models(result, asked.user.id)

    def partial_result(self, asked: ResolvedRequest) -> Result | None:
        """Return what is there of an answer that was stopped, made without computing; None where nothing is.

        Nothing is known where the store fails.
        """
        context = StoredMemory(self.store, asked.subject, lambda: ()).of(RunContext(asked.reader))
        analysis = get_analysis(asked.request.question)
        return analysis.partial_result(asked.request, context) if isinstance(analysis, Pauses) else None

    def remember(self, asked: ResolvedRequest) -> None:
        """Write down that the user waits for the request's job, in case the server stops first."""
        with suppress(ResourceError):
            request = asked.request
            self.store.unfinished.begin(asked.key, asked.user.id, kind_of(request), request_json(request))

    def unanswered(self, user: User) -> list[Unanswered]:
        """Return the requests of ``user`` that earlier servers left unanswered, or that are paused, oldest first."""
        requests = []
        for job in self.store.unfinished.cut_short(user.id):
            with suppress(RequestError):  # made by another version of ExplainLab
                requests.append(Unanswered(job.key, Request.from_json(job.request), job.asked))
        return requests

    def forget(self, keys: Sequence[str], user: User) -> None:
        """Drop these jobs of ``user``."""
        self.store.unfinished.forget(user.id, keys)

    def set_aside(self, key: str, job: Job | None, user: User) -> None:
        """Stop the ``job`` with this ``key`` for ``user``. Its rest is paused if it can go on later."""
        if job and isinstance(get_analysis(job.request.question), Pauses):
            self.store.unfinished.pause(user.id, [one.key for one in job.all_asked[len(job.outcomes) :]])
        else:
            self.forget([key], user)

    def runs(self, user: User, filters: Filters = _NO_FILTER, start: int = 0, count: int = 50) -> RunPage:
        """Return own runs and those shared with the instance, newest first: ``count`` from the ``start``-th."""
        return self.store.runs.page(user.id, filters, start, count)

    def run_choices(self, user: User) -> Choices:
        """Return the filter values of those runs."""
        return self.store.runs.choices(user.id)

    def open_run(self, run_id: str, user: User) -> OpenRun:
        """Return a run that ``user`` may read. Raises :class:`RequestError` where there is none under this id."""
        run = self._readable(run_id, user)
        request = Request.from_json(run.request)
        try:
            result = self.store.get(run.key)
            missing = "" if result else self._why_missing(run.key)
        except (KeyError, TypeError, ValueError):
            result, missing = (
                None,
                "Its result was stored by another version of ExplainLab, which this one cannot read.",
            )
        result = result and result.answering(request)
        return OpenRun(run, request, result, missing, _gone(request, user), run.owner == user.id)

    def delete_run(self, run_id: str, user: User) -> None:
        """Delete an own run, and its result unless another user has it.

        With the last run about a text or a data set goes all that the user has about it: see :func:`delete_about`.
        """
        run = self._own(run_id, user)
        self.store.runs.delete(run.id)
        others = self.store.runs.about(user.id, run.about)
        if not others:
            delete_about(self.store, user.id, run.about, [run])
        elif all(other.key != run.key for other in others):
            self.store.held.release(user.id, run.about, [run.key])

    def share_run(self, run_id: str, visibility: Visibility, user: User) -> None:
        """Set who may see an own run."""
        self.store.runs.share(self._own(run_id, user).id, _checked(visibility))

    def entitle_run(self, run_id: str, title: str, user: User) -> None:
        """Give an own run a title."""
        self.store.runs.entitle(self._own(run_id, user), title)

    def import_runs(self, file: bytes, user: User) -> list[Run]:
        """Make runs of ``user`` from an exported file; raises as :func:`read_results` does.

        Their results get keys of their own: no request is ever answered with them.
        """
        return [self._keep_imported(result, user) for result in read_results(file)]

    def save_view(self, view: dict[str, Any], user: User, requests: Sequence[Request] = ()) -> str:
        """Save what a page shows; its id, which others can neither guess nor use until it is shared.

        It is deleted with the last run about what one of its ``requests`` is about.
        """
        return self.store.save_view(view, user.id, {subject_key(request) for request in requests} or {""})

    def view(self, view_id: str, user: User) -> dict[str, Any] | None:
        """Return the view under this id if ``user`` may read it, else None."""
        saved = self.store.view(view_id)
        return saved.body if saved and _may_read(saved.owner, saved.visibility, user) else None

    def view_shared(self, view_id: str, user: User) -> Visibility:
        """Return the visibility of an own view; raises :class:`RequestError` where there is none under this id."""
        saved = self.store.view(view_id)
        if saved is None or saved.owner != user.id:
            raise _nothing("view")
        return saved.visibility

    def share_view(self, view_id: str, visibility: Visibility, user: User) -> None:
        """Set who may see an own view."""
        self.view_shared(view_id, user)
        self.store.share_view(view_id, _checked(visibility))

    def _why_missing(self, key: str) -> str:
        return "Its result is damaged." if self.store.damaged(key) else "Its result has been deleted."

    def _readable(self, run_id: str, user: User) -> Run:
        run = self.store.runs.get(run_id)
        if run is None or not _may_read(run.owner, run.visibility, user):
            raise _nothing("run")
        return run

    def _own(self, run_id: str, user: User) -> Run:
        run = self._readable(run_id, user)
        if run.owner != user.id:
            raise RequestError("This run belongs to another user.", "Only its owner can change, share or delete it.")
        return run

    def _keep_imported(self, result: Result, user: User) -> Run:
        key = digest(["imported", user.id, result.to_json()])
        self.store.put(key, result)
        self.store.held.hold(user.id, subject_key(result.request), [key])
        run = replace(_run_of(result.request, result, user, key), imported=True)
        return replace(run, id=self.store.runs.record(run, key))


def _record(store: Store, run: Run) -> None:
    store.runs.record(run, digest(run.request))


def _run_of(request: Request, result: Result, user: User, key: str) -> Run:
    text = about(request, user)
    return Run(
        owner=user.id,
        owner_full_id=user.full_id or user.id,
        owner_name=user.name,
        kind=kind_of(request),
        question=request.question,
        model=request.model,
        subject=f"{text} | {request.text_pair}" if request.text_pair else text,
        seconds=result.cost.seconds,
        forward=result.cost.forward,
        backward=result.cost.backward,
        key=key,
        request=request_json(request),
        about=subject_key(request),
    )


def _gone(request: Request, user: User) -> str:
    try:
        require_named(request.model_copy(update={"reader": user.id}))
        known_digest(request)
    except ModelError as error:
        return str(error)
    return ""


def _may_read(owner: str, visibility: Visibility, user: User) -> bool:
    return owner == user.id or visibility in ("instance", "link")


def _checked(visibility: Visibility) -> Visibility:
    if visibility not in get_args(Visibility):
        raise RequestError(f"'{visibility}' is not a visibility.", f"There are: {', '.join(get_args(Visibility))}.")
    return visibility


def _nothing(what: str) -> RequestError:
    return RequestError(
        f"There is no {what} under this id here.", "It was made elsewhere, has been deleted, or is not shared with you."
    )
