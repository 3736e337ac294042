"""The guard: child processes with limits read whatever a user brings, as a file can make its library panic or grow.

A reading is a generator function with plain arguments. A child runs it, and each item that it yields comes back as
JSON; nothing is pickled. The child prepares the next item while its parent uses the last one. A child without work
stays for the next reading. One that ends, stalls or grows is lost alone: other readings have children of their own.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from explainlab.errors import DataError, ExplainLabError, ModelError
from explainlab.limits import MAX_GUARDED_MB, MAX_GUARDED_SECONDS

with suppress(ImportError):  # not on Windows
    import resource

Tell = Callable[[Any], None]
Reading = Callable[..., Iterator[Any]]
"""A generator function whose first argument is a :data:`Tell`, which sends a value to the parent in between."""

_START_SECONDS = 120
"""The longest start of a child, on a busy machine."""
_LOOK_SECONDS, _STOP_SECONDS = 0.02, 0.5
"""Seconds between two looks at a child, and seconds in which a child must stop."""
_MOST_IDLE, _MOST_IDLE_MB = 2, 250
"""The children that wait for work, and the most memory of one of them."""
_ORPHAN_SECONDS = 1
_MOST_MESSAGE = 2**27
_NEXT, _STOP = b"next", b"stop"
_BYTES = "\0bytes"
"""The name of the only field of an object of JSON that stands for bytes."""
_ERRORS = {kind.__name__: kind for kind in (DataError, ModelError)}
"""The errors that a reading raises, by their names."""
_TOO_DEEP = "is nested too deeply to read"
_MAIN = "import sys; sys.modules['torch'] = None; from explainlab.guard import serve; serve(int(sys.argv[1]))"
"""The program of a child. It has no torch: a tokenizer and a configuration need none, and it takes 200 MB."""
_ENVIRONMENT = {
    **dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "MALLOC_ARENA_MAX"], "1"),
    "TOKENIZERS_PARALLELISM": "false",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "HF_HUB_OFFLINE": "1",
}
"""One thread, as each reserves address space, and no network."""


class Exceeded(Exception):
    """A limit that a reading has exceeded: the rest of a sentence that begins with its input."""


class _Stopped(Exception):
    """A reading whose parent wants no more of it."""


def guarded(reading: Reading, arguments: Mapping[str, Any], watch: Tell = lambda value: None) -> Iterator[Any]:
    """Yield the items of a ``reading``, which a child process runs with these plain ``arguments``.

    ``watch`` gets the values that the reading sends in between. Raises the :class:`ExplainLabError` of the reading and
    the errors of ``watch``; raises :class:`Exceeded` for a reading that sends nothing for :data:`MAX_GUARDED_SECONDS`,
    takes more memory than :data:`MAX_GUARDED_MB`, or ends its process.
    """
    if os.name != "posix":  # only there can a process limit itself
        yield from reading(watch, **arguments)
        return
    child = _take()
    try:
        yield from child.items(reading, arguments, watch)
    except Exceeded:
        child.end()
        raise
    finally:
        _give_back(child)


def guarded_json(content: bytes, most: int) -> Any:
    """Return the value in a JSON file with this ``content``, parsed first by a child process.

    Parsing holds the lock of the interpreter, and a short file may be large in memory. Raises :class:`Exceeded` for a
    file that is no JSON, or has more than ``most`` values.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "content"
        path.write_bytes(content)
        (value,) = guarded(read_json, {"path": str(path), "most": most})
    return value


def read_json(tell: Tell, path: str, most: int) -> Iterator[Any]:
    """Yield the value in the JSON file at ``path`` (a reading); raise as :func:`guarded_json`."""
    try:
        value = json.loads(Path(path).read_bytes())
        count, parts = 0, [value]
        while parts:
            part = parts.pop()
            count += 1
            parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
            if count + len(parts) > most:
                raise Exceeded(f"holds more than {most:,} values")
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        raise Exceeded(f"is not JSON that can be read: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise Exceeded(_TOO_DEEP) from None
    yield value


# ---- the parent's side


class _Child:
    """A process that reads for this one. ``working``: its last reading has not ended."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        paths = filter(None, [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH")])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _MAIN, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)},
            )
        self._seen = psutil.Process(self._process.pid)
        self.working = False

    @property
    def lives(self) -> bool:
        """True until the process has ended."""
        return self._process.poll() is None

    @property
    def is_light(self) -> bool:
        """True if it lives and has freed the memory of its last reading."""
        return self.lives and self._megabytes() < _MOST_IDLE_MB

    def items(self, reading: Reading, arguments: Mapping[str, Any], watch: Tell) -> Iterator[Any]:
        """Yield the items of a ``reading``."""
        self.working = True
        self._send(json.dumps([reading.__module__, reading.__qualname__, arguments]).encode())
        seconds = _START_SECONDS
        while True:
            kind, value = self._receive(seconds)
            seconds = MAX_GUARDED_SECONDS
            if kind == "told":
                watch(value)
            elif kind == "item":
                self._send(_NEXT)
                yield value
            elif kind != "ready":
                self.working = False
                if kind == "exceeded":
                    raise Exceeded(value)
                if kind == "error":
                    raise _ERRORS.get(value[0], ExplainLabError)(*value[1:])
                return

    def stop(self) -> None:
        """End its reading; the process lives on where the reading ends soon."""
        with suppress(Exceeded):
            self._send(_STOP)
            end = time.monotonic() + _STOP_SECONDS
            while self.working and time.monotonic() < end:
                self.working = self._receive(_STOP_SECONDS)[0] in ("ready", "told", "item")

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._connection.close()

    def _send(self, message: bytes) -> None:
        try:
            self._connection.send_bytes(message)
        except OSError:
            raise self._ending() from None

    def _receive(self, seconds: float) -> tuple[str, Any]:
        """Return the next message: its kind and its value. Look after the process until it comes.

        Its waiting for a processor does not count: on a busy machine sound files are no slow ones.
        """
        end = time.monotonic() + seconds - self._starved
        try:
            while not self._connection.poll(_LOOK_SECONDS):
                if self._megabytes() > MAX_GUARDED_MB:
                    raise _too_large()
                if time.monotonic() - self._starved > end:
                    raise _too_long()
            return _unpacked(self._connection.recv_bytes(_MOST_MESSAGE))
        except (EOFError, OSError):
            raise self._ending() from None
        except RecursionError:
            raise Exceeded(_TOO_DEEP) from None

    @property
    def _starved(self) -> float:
        """The seconds that the process has waited for a processor, as Linux counts them; elsewhere 0."""
        with suppress(OSError, ValueError, IndexError):
            return int(Path(f"/proc/{self._process.pid}/schedstat").read_text().split()[1]) / 1e9
        return 0.0

    def _megabytes(self) -> float:
        with suppress(psutil.Error):
            return float(self._seen.memory_info().rss / 2**20)
        return 0.0

    def _ending(self) -> Exceeded:
        """Return the error for a process that has ended. A library without memory often aborts it."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        code = self._process.returncode or 0
        if code == -signal.SIGXCPU:
            return _too_long()
        how = signal.Signals(-code).name if code < 0 else f"code {code}"
        return Exceeded(f"ends the process that reads it in {MAX_GUARDED_MB} MB of memory ({how})")


_idle: list[_Child] = []
_lock = threading.Lock()


def _take() -> _Child:
    """Return a child without work, or a new one."""
    with _lock:
        while _idle:
            child = _idle.pop()
            if child.is_light:
                return child
            child.end()
    return _Child()


def _give_back(child: _Child) -> None:
    """Keep a ``child`` for the next reading, unless it still works or there are enough."""
    if child.working and child.lives:
        child.stop()
    with _lock:
        if not child.working and len(_idle) < _MOST_IDLE and child.is_light:
            _idle.append(child)
            return
    child.end()


@atexit.register
def _close_all() -> None:
    """End the children without work."""
    while _idle:
        _idle.pop().end()


def _forget_all() -> None:
    """Leave the children without work to the process that this one was forked from."""
    _idle.clear()
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_forget_all)


def _too_large() -> Exceeded:
    return Exceeded(f"takes more than {MAX_GUARDED_MB} MB of memory to read")


def _too_long() -> Exceeded:
    return Exceeded(f"takes longer than {MAX_GUARDED_SECONDS} s to read")


# ---- the child's side


def serve(descriptor: int) -> None:
    """Read for the parent at the other end of the pipe ``descriptor``, until it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the parent
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    parent = _Parent(Connection(descriptor))
    while True:
        message = parent.receive()
        if message not in (_NEXT, _STOP):  # these came too late
            module, name, arguments = json.loads(message)
            parent.send(*_outcome(parent, getattr(import_module(module), name), arguments))


def _end_with(parent: int) -> None:
    """End this process when its ``parent`` is gone, also in the middle of a reading."""
    while os.getppid() == parent:
        time.sleep(_ORPHAN_SECONDS)
    os._exit(0)


class _Parent:
    """The parent process, for which this one reads; this one ends with it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def receive(self) -> bytes:
        """Wait for the next message."""
        try:
            return self._connection.recv_bytes()
        except (EOFError, OSError):
            os._exit(0)

    def send(self, kind: str, value: Any) -> None:
        """Send a message, and extend the processor time of this process."""
        message = _packed(kind, value)
        _limit(resource.RLIMIT_CPU, int(time.process_time()) + 2 * MAX_GUARDED_SECONDS)
        try:
            self._connection.send_bytes(message)
        except OSError:
            os._exit(0)

    def tell(self, value: Any) -> None:
        """Send a ``value`` between two items; raise :class:`_Stopped` where the parent wants no more of them."""
        self.send("told", value)
        if self._connection.poll():  # it asks for nothing in between
            raise _Stopped


def _outcome(parent: _Parent, reading: Reading, arguments: Mapping[str, Any]) -> tuple[str, Any]:
    """Send the items of a ``reading``, each when the ``parent`` asks for it; return how it ended."""
    memory = psutil.Process().memory_info()
    _limit(resource.RLIMIT_AS, memory.vms + MAX_GUARDED_MB * 2**20 - memory.rss)
    try:
        parent.send("ready", None)
        for item in reading(parent.tell, **arguments):
            parent.send("item", item)
            if parent.receive() == _STOP:
                break
    except _Stopped:
        pass
    except ExplainLabError as error:
        return "error", [type(error).__name__, error.problem, error.remedy]
    except Exceeded as error:
        return "exceeded", str(error)
    except MemoryError:
        return "exceeded", str(_too_large())
    except RecursionError:
        return "exceeded", _TOO_DEEP
    except BaseException as error:  # a library in Rust panics with one that is no Exception
        reason = next(iter(str(error).splitlines()), "")[:200] or type(error).__name__
        return "exceeded", f"fails in the library that reads it ({reason.rstrip('.')})"
    return "end", None


def _limit(kind: int, most: int) -> None:
    """Let this process have no more than ``most`` of a ``kind`` of resource."""
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


# ---- messages


def _packed(kind: str, value: Any) -> bytes:
    """Return a message as JSON, after a mark whether there are bytes in it."""
    try:
        mark, text = "-", json.dumps([kind, value], ensure_ascii=False)
    except TypeError:
        mark, text = "b", json.dumps([kind, value], ensure_ascii=False, default=_in_json)
    return (mark + text).encode("utf-8", "surrogatepass")


def _unpacked(message: bytes) -> tuple[str, Any]:
    """Return the kind and the value of a message."""
    text = message.decode("utf-8", "surrogatepass")
    kind, value = json.loads(text[1:], object_hook=_of_json if text[0] == "b" else None)
    return kind, value


def _in_json(cell: Any) -> Any:
    return {_BYTES: b64encode(cell).decode()} if isinstance(cell, bytes) else str(cell)


def _of_json(cell: dict[str, Any]) -> Any:
    return b64decode(cell[_BYTES]) if [*cell] == [_BYTES] else cell
