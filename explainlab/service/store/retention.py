"""Deletion from the store: with the last run on a subject, by age, and when there is too much."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from explainlab.analyses.registry import complete
from explainlab.data import source_digest
from explainlab.data.hub import PREFIX as HUB
from explainlab.data.uploads import PREFIX, stored_uploads
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.service.limits import named_files
from explainlab.service.store.made import delete_unowned
from explainlab.service.store.runs import Run
from explainlab.service.store.store import Store
from explainlab.service.uploads import folder_of, forget_upload, reader_for, upload_folders
from explainlab.service.users import User
from explainlab.settings import settings

log = logging.getLogger(__name__)

SWEEP_SECONDS = 3600.0
_UNHELD = timedelta(days=1)
"""Age of results without an owner before they are deleted: a running job stores them somewhat before it owns them."""
_STOPPED = timedelta(days=7)
"""Time for which the leftovers of a stopped training are kept, to go on from them."""
_MB = 2**20


def uploads_of(request: Request) -> set[str]:
    """Return the uploads that ``request`` reads."""
    with suppress(ExplainLabError):  # of another version of ExplainLab
        return {name for name in named_files(complete(request)) if name.startswith(PREFIX)}
    return set()


def delete_about(store: Store, owner: str, about: str, runs: Iterable[Run] = ()) -> None:
    """Delete everything that the user with the id ``owner`` has ``about`` a text or a data set.

    This covers runs, results and notes without another owner, links, remarks on its rows, and the uploads that no other
    run reads. ``runs`` are those about it that have been deleted already.
    """
    runs = [*runs, *store.runs.about(owner, about)]
    for run in runs:
        store.runs.delete(run.id)
    store.held.release(owner, about)
    sources = {source for run in runs if (source := run.request.get("data"))}
    for source in sources:
        if not source.startswith(HUB):  # would be fetched
            with suppress(ExplainLabError):
                store.remarks(owner, source_digest(source, reader_for(owner))).clear()
    for run in runs:
        for upload in uploads_of(Request.from_json(run.request)):
            if not store.runs.names(owner, upload):
                forget_upload(upload, folder_of(owner))


@dataclass(frozen=True)
class Used:
    """Bytes that are stored: ``own`` of a user, and those of ``all`` users. What two have counts for both."""

    own: int
    all: int


def used(store: Store, user: User) -> Used:
    """Return how much is stored now; raises :class:`explainlab.errors.ResourceError` where the store fails."""
    items, own = list(_items(store)), folder_of(user.id).name
    return Used(sum(item.bytes for item in items if item.owner == own), sum(item.bytes for item in items))


def sweep(store: Store) -> None:
    """Delete what is older, or more, than the settings allow, the longest unused first; SQLite's file shrinks.

    Raises :class:`explainlab.errors.ResourceError` where the store fails.
    """
    now, limits = datetime.now(UTC), settings()
    if limits.max_kept_days:
        _delete_before(store, now - timedelta(days=limits.max_kept_days))
    if limits.max_kept_mb_per_user:
        items = list(_items(store))
        for owner in {item.owner for item in items}:
            _delete_beyond([item for item in items if item.owner == owner], limits.max_kept_mb_per_user)
    if limits.max_kept_mb:
        _delete_beyond(list(_items(store)), limits.max_kept_mb)
    store.held.delete_unheld(now - _UNHELD)
    delete_unowned(now - _STOPPED)
    store.shrink()


def sweep_hourly(store: Store, seconds: float = SWEEP_SECONDS) -> threading.Event:
    """Sweep every ``seconds`` from now on, in a thread of its own, until the returned event is set."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(seconds):
            try:
                sweep(store)
            except Exception as error:  # its traceback would show what users have written
                log.error(
                    "the sweep of the store failed: %s", error if isinstance(error, ExplainLabError) else type(error)
                )

    threading.Thread(target=work, name="explainlab-sweep", daemon=True).start()
    return stop


@dataclass(frozen=True)
class _Item:
    """Belongings that ``delete`` deletes together. ``owner`` is the name of the user's folder of uploads."""

    owner: str
    bytes: int
    used: datetime
    delete: Callable[[], None]


def _items(store: Store) -> Iterator[_Item]:
    for part in store.held.parts():
        owner = folder_of(part.owner).name
        yield _Item(owner, part.bytes, part.used, partial(delete_about, store, part.owner, part.about))
    for sheet in store.all_remarks():
        owner = folder_of(sheet.owner).name
        yield _Item(owner, sheet.bytes, sheet.used, store.remarks(sheet.owner, sheet.data).clear)
    for folder in upload_folders():
        for upload in stored_uploads(folder):
            last = datetime.fromtimestamp(upload.used, UTC)
            yield _Item(folder.name, upload.bytes, last, partial(forget_upload, upload.id, folder))


def _delete_before(store: Store, time: datetime) -> None:
    store.delete_before(time)
    for folder in upload_folders():
        for upload in stored_uploads(folder):
            if upload.used < time.timestamp():
                forget_upload(upload.id, folder)


def _delete_beyond(items: Sequence[_Item], most_mb: int) -> None:
    """Delete the longest unused of ``items`` until the others have no more than ``most_mb`` MB."""
    excess = sum(item.bytes for item in items) - most_mb * _MB
    for item in sorted(items, key=lambda item: item.used):
        if excess <= 0:
            return
        item.delete()
        excess -= item.bytes
