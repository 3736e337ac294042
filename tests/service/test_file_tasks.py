"""Files that pages read: never on the caller's thread, once, in turns, and ended by their user or the clock."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explainlab.errors import Cancelled, DataError, ResourceError
from explainlab.reader import Reader
from explainlab.service import file_tasks
from explainlab.service.file_tasks import FileReader, FileTask
from explainlab.service.jobs import JobContext
from explainlab.service.uploads import keep_upload
from explainlab.service.users import LOCAL, User
from explainlab.settings import ROOT, settings
from tests.service.conftest import Bench

ANN, BOB = User("ann", "Ann"), User("bob", "Bob")
SOON = 60


class Readings:
    """File tasks that read until :meth:`go`, with a reader of their own."""

    def __init__(self) -> None:
        self.reader = FileReader()
        self.started: list[str] = []
        self._gate = threading.Event()

    def task(self, name: str, user: User) -> FileTask[str]:
        def read(reader: Reader) -> str:
            self.started.append(name)
            while not self._gate.wait(0.01):
                reader.watch(0.5)
            return name

        return self.reader.submit(FileTask(name, user, "rows.csv", read))

    def go(self) -> None:
        self._gate.set()


@pytest.fixture
def readings() -> Iterator[Readings]:
    made = Readings()
    yield made
    made.go()


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def upload(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setattr(settings(), "home", tmp_path)
    return keep_upload(b"text,label\n" + b"a fine film,good\n" * 50_000, "rows.csv", ANN)


def test_a_file_is_read_once_and_elsewhere(upload: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    real = file_tasks.data.survey

    def survey(*args: object, **how: object) -> object:
        threads.append(threading.current_thread())
        return real(*args, **how)

    monkeypatch.setattr(file_tasks.data, "survey", survey)
    first, again = (file_tasks.survey(upload, ["good"], {}, ANN) for _ in range(2))
    assert first is again
    assert first.answer().rows == 50_000
    assert file_tasks.survey(upload, ["good"], {}, ANN) is first
    assert file_tasks.survey(upload, ["bad"], {}, ANN).answer().bad == 50_000
    assert len(threads) == 2
    assert threading.current_thread() not in threads


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    for columns in (("text",), ("text", "label")):
        path.write_text(",".join(columns) + "\n" + ",".join("a" for _ in columns))
        assert file_tasks.preview(str(path), LOCAL).answer().columns == columns


def test_users_take_turns_and_each_reads_one_thing_at_a_time(readings: Readings) -> None:
    mine = [readings.task(f"ann {n}", ANN) for n in range(5)]
    until(lambda: readings.started == ["ann 0"])
    readings.task("bob", BOB)
    until(lambda: readings.started == ["ann 0", "bob"])
    third = readings.task("cleo", User("cleo", "Cleo"))
    readings.go()
    assert all(task.wait(SOON) for task in (*mine, third))
    assert readings.started.index("cleo") < readings.started.index("ann 2")


def test_a_reading_is_cancelled(readings: Readings) -> None:
    running, waiting = (readings.task(name, ANN) for name in ("first", "second"))
    until(lambda: running.share == 0.5)
    for task in (waiting, running):
        task.cancel()
    for task in (waiting, running):
        with pytest.raises(Cancelled):
            task.answer()
    assert readings.started == ["first"]
    assert readings.task("first", ANN) is running, "it stays cancelled until it is asked for again"
    readings.reader.forget(running)
    assert readings.task("first", ANN) is not running


def test_nobody_has_more_than_a_few_waiting(readings: Readings) -> None:
    mine = [readings.task(str(n), ANN) for n in range(20)]
    until(lambda: bool(readings.started))
    assert not any(task.stopped for task in mine[-8:])
    assert sum(task.ended for task in mine) >= 11, "older ones end at once"
    readings.go()
    assert all(task.wait(SOON) for task in mine)
    assert len(readings.started) <= 10


def test_a_reading_ends_in_time(upload: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_read_seconds", -1)
    with pytest.raises(DataError, match=r"rows\.csv .* -1 s .*EXPLAINLAB_MAX_READ_SECONDS"):
        file_tasks.survey(upload, ["good"], {}, ANN).answer()


def test_what_goes_wrong_ends_only_this_task(readings: Readings) -> None:
    def read(_: Reader) -> str:
        raise KeyError("a text of somebody")

    task = readings.reader.submit(FileTask("broken", ANN, "rows.csv", read))
    with pytest.raises(ResourceError, match="unexpected"):
        task.answer()
    readings.go()
    assert readings.task("next", ANN).answer() == "next"


def test_a_job_tells_how_far_it_has_read_a_file_and_stops_there(bench: Bench) -> None:
    told: list[tuple[int, int, str]] = []

    def read(context: JobContext) -> None:
        context.run.reader.watch(0.25)
        told.append((job.progress.done, job.progress.total, job.progress.phase))
        bench.engine.cancel(job.key, LOCAL)
        context.run.reader.watch(0.5)

    bench.does["read"] = read
    job = bench.submit("read")
    assert bench.go(job) == ["cancelled"]
    assert told == [(25, 100, "percent of the file")]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("embedded:sentiment", "sentiment"),
        ("hub:stanfordnlp/sst2", "stanfordnlp/sst2"),
        ("/a/folder/rows.csv", "rows.csv"),
        ("upload:" + 64 * "0" + ".csv", "an uploaded file"),
    ],
)
def test_readers_see_no_id_of_a_data_set(source: str, name: str) -> None:
    assert file_tasks.source_name(source, LOCAL) == name


def test_an_upload_has_its_files_name() -> None:
    upload = keep_upload(b"text\na film\n", "my films.csv", LOCAL)
    assert file_tasks.source_name(upload, LOCAL) == "my films.csv"
    assert file_tasks.source_name(upload, BOB) == "an uploaded file"


ENDING = """
import signal, threading, time
from explainlab.service.file_tasks import FileTask, file_reader
from explainlab.service.users import LOCAL

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start what runs in the background without it
begun = threading.Event()
file_reader.submit(FileTask("key", LOCAL, "embedded:sentiment", lambda reader: (begun.set(), time.sleep(60))))
assert begun.wait(60)
print(time.time(), flush=True)
signal.raise_signal(signal.SIGINT)
"""


def test_a_server_that_is_stopped_waits_for_no_file() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, cwd=ROOT, check=False)
    assert time.time() - float(ended.stdout) < 5
    assert "KeyboardInterrupt" in ended.stderr
