"""Looks at a data set before any request about it: jobs that need no model. Users open only what they may read."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, Generic, TypeVar

from explainlab import data
from explainlab.data.examples import PREFIX as EMBEDDED
from explainlab.data.hub import PREFIX as HUB
from explainlab.data.plant import Planting
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
"""Looks of a user that wait, and that are kept."""


@dataclass(eq=False)
class Look(Generic[T]):
    """A reading of ``source`` for ``user``, of which ``share`` is done, from 0 to 1. Any thread may ask it."""

    key: Hashable
    user: User
    source: str
    read: Callable[[Reader], T]
    share: float = 0.0
    _result: list[T] = field(default_factory=list)
    _error: ExplainLabError | None = None
    _ended: threading.Event = field(default_factory=threading.Event)
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def ended(self) -> bool:
        """Whether there is an answer, or never will be."""
        return self._ended.is_set()

    @property
    def stopped(self) -> bool:
        """Whether it was cancelled."""
        return self._stop.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; whether it has ended."""
        return self._ended.wait(seconds)

    def cancel(self) -> None:
        """End it at the next part of the file (also a callback)."""
        self._stop.set()

    def answer(self) -> T:
        """What was read, once it has ended; raises the :class:`ExplainLabError` that ended it."""
        self._ended.wait()
        if self._error is not None:
            raise self._error
        return self._result[0]

    def run(self) -> None:
        """Read; nothing is raised."""
        try:
            self._watch(0.0)
            self._result.append(self.read(replace(reader_for(self.user.id), watch=self._watch)))
        except ExplainLabError as error:
            self._error = error
        except BaseException:  # also those that would end the thread
            log.exception("a look at a data set failed")
            problem = "Something unexpected went wrong while the file was read."
            self._error = ResourceError(problem, "The server's log has it; report it.")
        finally:
            self._ended.set()

    def _watch(self, share: float) -> None:
        self.share = max(self.share, share)
        if self.stopped:
            raise Cancelled


class Desk:
    """Reads for users in turns, for each user one thing at a time. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looks: OrderedDict[Hashable, Look[Any]] = OrderedDict()
        self._waiting: list[Look[Any]] = []
        self._busy: list[User] = []
        self._served: dict[User, int] = {}
        self._ticks = count()
        self._threads = 0

    def look(self, look: Look[T]) -> Look[T]:
        """``look`` itself, which is read soon, or the kept one with its key, ended or not."""
        with self._lock:
            kept = self._looks.setdefault(look.key, look)
            if kept is not look:
                return kept
            self._waiting.append(look)
            for old in [other for other in self._waiting if other.user == look.user][:-_MOST_WAITING]:
                old.cancel()
            ended = [other.key for other in self._looks.values() if other.user == look.user and other.ended]
            for key in ended[:-_MOST_KEPT]:
                del self._looks[key]
            if self._threads < _THREADS:
                self._threads += 1
                threading.Thread(target=self._work, name="explainlab-look", daemon=True).start()
        return look

    def forget(self, look: Look[Any]) -> None:
        """Read it anew when it is next looked at (also a callback)."""
        with self._lock:
            self._looks.pop(look.key, None)

    def _work(self) -> None:
        while (look := self._take()) is not None:
            look.run()
            with self._lock:
                self._busy.remove(look.user)

    def _take(self) -> Look[Any] | None:
        """The next look, of the user served longest ago; None if each who waits is being served."""
        with self._lock:
            free = [look for look in self._waiting if look.user not in self._busy]
            if not free:
                self._threads -= 1
                return None
            look = min(free, key=lambda look: self._served.get(look.user, -1))
            self._waiting.remove(look)
            self._busy.append(look.user)
            self._served[look.user] = next(self._ticks)
            return look


desk = Desk()
"""Where the pages of this process read."""


def preview(source: str, user: User, columns: Mapping[str, str] = {}) -> Look[data.Preview]:
    """See :func:`explainlab.data.preview`. Raises as :func:`require_source`, and for a file that is not there."""
    inputs = _pairs(columns)
    return _look("preview", source, user, inputs, lambda reader: data.preview(source, reader=reader, columns=columns))


def survey(source: str, classes: Sequence[str] | None, columns: Mapping[str, str], user: User) -> Look[data.Survey]:
    """See :func:`explainlab.data.survey`; raises as :func:`preview`."""
    inputs = (None if classes is None else tuple(classes), _pairs(columns))
    return _look("survey", source, user, inputs, lambda reader: data.survey(source, classes, columns, reader=reader))


def misfit(
    source: str, classes: Sequence[str] | None, columns: Mapping[str, str], meant: Mapping[str, str], user: User
) -> Look[data.Misfit | None]:
    """See :func:`explainlab.data.misfit`; raises as :func:`preview`."""
    inputs = (None if classes is None else tuple(classes), _pairs(columns), _pairs(meant))
    return _look("misfit", source, user, inputs, lambda reader: data.misfit(source, classes, columns, meant, reader))


def planted(source: str, columns: Mapping[str, str], planting: Planting, seed: int, user: User) -> Look[PlantedUploads]:
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
    """What a request is about: its text, the shown name of its data set, or the seed of what it draws."""
    if request.self_contained:
        return f"seed {request.seed}"
    return request.single_text if request.data is None else source_name(request.data, user)


def source_name(source: str, user: User) -> str:
    """What readers call a data set: its file's name, or its id without the prefix.

    The name of an upload is told only to who may read it.
    """
    if source.startswith(UPLOAD):
        name = upload_name(source, reader_for(user.id).uploads)
        return "an uploaded file" if name == source else name
    if source.startswith((EMBEDDED, HUB)):
        return source.partition(":")[2]
    return Path(source).name or source


def _look(kind: str, source: str, user: User, inputs: Hashable, read: Callable[[Reader], T]) -> Look[T]:
    require_source(source)
    state = data.source_state(source, reader_for(user.id))
    return desk.look(Look((kind, source, state, user, inputs), user, source, read))


def _pairs(names: Mapping[str, str]) -> Hashable:
    return tuple(sorted(names.items()))
