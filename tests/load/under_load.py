"""Under load: a real server, many sessions that click, and a worker that is busy all the while."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

from explainlab.analyses.activation.page.view import ActivationView, DataChoice
from explainlab.analyses.explain.page.view import Choice, View
from explainlab.app.view import AnalysisView
from explainlab.service.store.store import Store
from explainlab.settings import ROOT, Settings
from tests.load.session import Session

PAUSE = 5.0
PAGES = ("", "integration", "candidates", "activation", "errors", "runs", "status")
MODEL = "embedded:bert-mini-sst2"


@dataclass
class Clicks:
    """What sessions met: ``seconds`` of every click until its page had run, ``errors`` that pages showed, answers
    that were ``lost``, and whether the worker was ``busy`` to the end.
    """

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    lost: int = 0
    busy: bool = False


def under_load(home: Path, sessions: int, seconds: float) -> Clicks:
    """A server of its own, a data set that keeps its worker busy, and ``sessions`` that each ask and then click."""
    with serving(home) as server:
        return asyncio.run(_all(server.url, server.store, sessions, seconds))


@dataclass(frozen=True)
class Server:
    """A running app: where it answers, the store that it keeps its results in, and the process."""

    url: str
    store: Store
    process: subprocess.Popen


@contextmanager
def serving(
    home: Path, database_url: str = "", script: Path = ROOT / "app.py", environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """The app on a free port of this machine with its store in ``home``, or elsewhere; stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}"]
    command += ["--server.headless=true", "--server.fileWatcherType=none"]
    places = {"EXPLAINLAB_HOME": str(home), "EXPLAINLAB_DATABASE_URL": database_url, "PYTHONPATH": str(ROOT)}
    out = subprocess.DEVNULL
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **places, **(environment or {})}, stdout=out, stderr=out
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url)
        yield Server(url, Store(Settings(home=home, database_url=database_url).store_url), process)
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(url: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"No server answers at {url}.")


async def _all(url: str, store: Store, sessions: int, seconds: float) -> Clicks:
    met = Clicks()
    async with Session(url) as first:  # what it opens with is there for all
        await first.answered()
    methods = ("kernel_shap:samples=64n",)
    busy = ActivationView(
        model=MODEL, text="busy", methods=methods, data=DataChoice(source="embedded:sentiment", rows=240)
    )
    async with Session(url, link_to(store, busy), "activation") as keeper:
        until = time.monotonic() + seconds
        await asyncio.gather(*(quiet_user(url, store, number, until, met) for number in range(sessions)))
        await keeper.run()
        met.busy = any(button.label == "Cancel" for button in keeper.shown("button"))
    return met


def link_to(store: Store, view: AnalysisView) -> str:
    """The address of a view that everybody may open."""
    view_id = store.save_view(view.model_dump(mode="json"))
    store.share_view(view_id, "link")
    return f"r={view_id}"


async def quiet_user(
    url: str, store: Store, number: int, until: float, met: Clicks, headers: Mapping[str, str] | None = None
) -> None:
    """Ask about a text of one's own, click from page to page, and come back for the answer."""
    asked = View(model=MODEL, text=f"A film for number {number}.", methods=(Choice(method="occlusion"),))
    link = link_to(store, asked)
    await asyncio.sleep(PAUSE * number / 50)
    async with Session(url, link, headers=headers) as session:
        for page in islice(cycle(PAGES), number, None):
            await asyncio.sleep(PAUSE)
            if time.monotonic() > until:
                break
            met.seconds.append(await session.visit(page))
        met.errors += session.errors
    async with Session(url, link, headers=headers) as session:
        met.lost += any(button.label == "Cancel" for button in session.shown("button"))
