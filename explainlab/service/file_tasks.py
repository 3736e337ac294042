"""Files that pages read before any request about them: on other threads, and only what their user may read."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from explainlab import data
from explainlab.data.hub import PREFIX as HUB
from explainlab.data.plant import Planting
from explainlab.data.sources import PREFIX as EMBEDDED
from explainlab.data.uploads import PREFIX as UPLOAD
from explainlab.data.uploads import upload_name
from explainlab.errors import Cancelled, ExplainLabError, ResourceError
from explainlab.reader import Reader
from explainlab.request import Request
from explainlab.service.limits import require_source
from explainlab.service.uploads import PlantedUploads, keep_planted, reader_for
from explainlab.service.users import User

log = logging.getLogger(__name__)

T = TypeVar("T")
_THREADS = 2
_MOST_WAITING, _MOST_KEPT = 8, 16
"""The most tasks of a user that wait, and the most ended ones that are kept."""


@dataclass(eq=False)
class FileTask(Generic[T]):
    """A reading of ``source`` for ``user``, done to ``share``, from 0 to 1. Any thread may use it."""

    key: Hashable
    user: User
    source: str
    read: Callable[[Reader], T]
    share: float = 0.0
    stopped: bool = False
    _future: Future[T] = field(default_factory=Future)

    @property
    def ended(self) -> bool:
        """It has an answer or an error."""
        return self._future.done()

    def wait(self, seconds: float) -> bool:
        """Wait at most ``seconds``; return whether it has ended."""
        return bool(wait([self._future], seconds).done)

    def cancel(self) -> None:
        """Stop at the next part of the file (also a callback)."""
        self.stopped = True

    def answer(self) -> T:
        """Wait for the answer; raise the :class:`ExplainLabError` that ended the reading."""
        return self._future.result()

    def run(self) -> None:
        """Read; raise nothing."""
        try:
            self._watch(0.0)
            self._future.set_result(self.read(replace(reader_for(self.user.id), watch=self._watch)))
        except ExplainLabError as error:
            self._future.set_exception(error)
        except BaseException:  # also those that would end the thread
            log.exception("a data file could not be read")
            problem = "Something unexpected went wrong while the file was read."
            self._future.set_exception(ResourceError(problem, "The server's log has it; report it."))

    def _watch(self, share: float) -> None:
        self.share = max(self.share, share)
        if self.stopped:
            raise Cancelled


class FileReader:
    """A queue of file tasks: one task of a user runs at a time, and users take turns. Any thread may use it.

    The interpreter waits for no task when it exits.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._turns: SimpleQueue[User] = SimpleQueue()
        self._kept: dict[Hashable, FileTask[Any]] = {}
        self._waiting: dict[User, deque[FileTask[Any]]] = {}

    def submit(self, task: FileTask[T]) -> FileTask[T]:
        """Return ``task``, which runs soon, or the kept one with its key, ended or not.

        The oldest waiting task of a user with too many is cancelled.
        """
        with self._lock:
            kept = self._kept.setdefault(task.key, task)
            if kept is not task:
                return kept
            ended = [old.key for old in self._kept.values() if old.user == task.user and old.ended]
            for key in ended[:-_MOST_KEPT]:
                del self._kept[key]
            if task.user not in self._waiting:
                self._waiting[task.user] = deque()
                self._turns.put(task.user)
            while len(self._threads) < _THREADS:
                self._threads.append(threading.Thread(target=self._work, name="explainlab-file", daemon=True))
                self._threads[-1].start()
            waiting = self._waiting[task.user]
            waiting.append(task)
            if len(waiting) > _MOST_WAITING:
                oldest = waiting.popleft()
                oldest.cancel()
                oldest.run()
        return task

    def forget(self, task: FileTask[Any]) -> None:
        """Have the file read anew when it is next asked for (also a callback)."""
        with self._lock:
            self._kept.pop(task.key, None)

    def _work(self) -> None:
        """Run tasks as long as the process lives."""
        while True:
            self._run_next(self._turns.get())

    def _run_next(self, user: User) -> None:
        """Run the next task of ``user``; those left wait behind the tasks of other users."""
        with self._lock:
            task = self._waiting[user].popleft()
        task.run()
        with self._lock:
            if self._waiting[user]:
                self._turns.put(user)
            else:
                del self._waiting[user]


file_reader = FileReader()
"""The reader of all pages of this process."""


def preview(source: str, user: User, columns: Mapping[str, str] = {}) -> FileTask[data.Preview]:
    """See :func:`explainlab.data.preview`. Raises as :func:`require_source`, and for a file that is not there."""
    inputs = _pairs(columns)
    return _look("preview", source, user, inputs, lambda reader: data.preview(source, reader=reader, columns=columns))


def survey(source: str, classes: Sequence[str] | None, columns: Mapping[str, str], user: User) -> FileTask[data.Survey]:
    """See :func:`explainlab.data.survey`; raises as :func:`preview`."""
    inputs = (None if classes is None else tuple(classes), _pairs(columns))
    return _look("survey", source, user, inputs, lambda reader: data.survey(source, classes, columns, reader=reader))


def misfit(
    source: str,
    classes: Sequence[str] | None,
    columns: Mapping[str, str],
    meant: Mapping[str, str],
    user: User,
    needs_label: bool = True,
) -> FileTask[data.Misfit | None]:
    """See :func:`explainlab.data.misfit`; raises as :func:`preview`."""
    inputs = (None if classes is None else tuple(classes), _pairs(columns), _pairs(meant), needs_label)
    return _look(
        "misfit", source, user, inputs, lambda reader: data.misfit(source, classes, columns, meant, reader, needs_label)
    )


def planted(
    source: str, columns: Mapping[str, str], planting: Planting, seed: int, user: User
) -> FileTask[PlantedUploads]:
    """See :func:`explainlab.service.uploads.keep_planted`; raises as :func:`preview`."""
    name, inputs = source_name(source, user), (_pairs(columns), planting.model_dump_json(), seed)

    def read(reader: Reader) -> PlantedUploads:
        return keep_planted(source, name, columns, planting, seed, user, reader)

    return _look("planted", source, user, inputs, read)


def source_digest(source: str, user: User) -> str:
    """See :func:`explainlab.data.source_digest`; raises as :func:`explainlab.service.limits.require_source` too."""
    require_source(source)
    return data.source_digest(source, reader_for(user.id))


def about(request: Request, user: User) -> str:
    """Return the subject of a request for a reader: its text, the name of its data set, or the seed of its draws."""
    if request.self_contained:
        return f"seed {request.seed}"
    return request.single_text if request.data is None else source_name(request.data, user)


def source_name(source: str, user: User) -> str:
    """Return the shown name of a data set: the name of its file, or its id without the prefix.

    Only users who may read an upload see its name.
    """
    if source.startswith(UPLOAD):
        name = upload_name(source, reader_for(user.id).uploads)
        return "an uploaded file" if name == source else name
    if source.startswith((EMBEDDED, HUB)):
        return source.partition(":")[2]
    return Path(source).name or source


def _look(kind: str, source: str, user: User, inputs: Hashable, read: Callable[[Reader], T]) -> FileTask[T]:
    require_source(source)
    state = data.source_state(source, reader_for(user.id))
    return file_reader.submit(FileTask((kind, source, state, user, inputs), user, source, read))


def _pairs(names: Mapping[str, str]) -> Hashable:
    return tuple(sorted(names.items()))
