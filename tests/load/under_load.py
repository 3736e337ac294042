"""Under load: a real server, many sessions that click, and a worker that is busy all the while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from random import Random

from explainlab.app.pages.activation.form import ActivationView, DataChoice
from explainlab.app.pages.explain.form import Choice, View
from explainlab.app.view import AnalysisView
from explainlab.service.store.store import Store
from explainlab.settings import ROOT, Settings
from tests.load.session import Session
from tests.servers import Server, serving

PAUSE = 5.0
PAGES = ("", "integration", "candidates", "activation", "errors", "runs", "status")
MODEL = "embedded:bert-mini-sst2"


@dataclass
class Clicks:
    """The record of all sessions.

    ``seconds`` of every click until its page had run, ``answers``: those from a question to its answer, ``errors`` that
    pages showed, answers that were ``lost``, and whether the worker was ``busy`` to the end.
    """

    seconds: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    lost: int = 0
    busy: bool = False


def under_load(home: Path, sessions: int, seconds: float, question_every: int = 0) -> Clicks:
    """Serve a data set that keeps its worker busy, and ``sessions`` that each ask and then click; return the record.

    With ``question_every``, each such click of a session is another question.
    """
    with serving_app(home) as server:
        return asyncio.run(_all(server.url, server.store, sessions, seconds, question_every))


@dataclass(frozen=True)
class AppServer(Server):
    """A running app, and the store that it keeps its results in."""

    store: Store


@contextmanager
def serving_app(
    home: Path,
    database_url: str = "",
    script: Path = ROOT / "app.py",
    environment: Mapping[str, str] | None = None,
    output: str = "log.txt",
) -> Iterator[AppServer]:
    """Serve the app with its store in ``home``, or elsewhere."""
    with serving(script, home, {"EXPLAINLAB_DATABASE_URL": database_url, **(environment or {})}, output) as server:
        store = Store(Settings(home=home, database_url=database_url).store_url)
        yield AppServer(server.url, server.process, store)


async def _all(url: str, store: Store, sessions: int, seconds: float, question_every: int) -> Clicks:
    met = Clicks()
    async with Session(url) as first:  # its first result is stored for all sessions
        await first.answered()
    methods = ("kernel_shap:samples=64n",)
    busy = ActivationView(
        model=MODEL, text="busy", methods=methods, data=DataChoice(source="embedded:sentiment", rows=240)
    )
    async with Session(url, link_to(store, busy), "activation") as keeper:
        until = time.monotonic() + seconds
        users = (quiet_user(url, store, number, until, met, None, question_every) for number in range(sessions))
        await asyncio.gather(*users)
        await keeper.run()
        met.busy = any(button.label == "Cancel" for button in keeper.shown("button"))
    return met


def link_to(store: Store, view: AnalysisView) -> str:
    """Return the address of a view that everybody may open."""
    view_id = store.save_view(view.model_dump(mode="json"))
    store.share_view(view_id, "link")
    return f"r={view_id}"


async def ask(url: str, store: Store, text: str, headers: Mapping[str, str] | None) -> float:
    """Open the page of a question that is new; the seconds until it shows the answer."""
    link = link_to(store, View(model=MODEL, text=text, methods=(Choice(method="occlusion"),)))
    start = time.perf_counter()
    async with Session(url, link, headers=headers) as session:
        await session.answered()
    return time.perf_counter() - start


async def quiet_user(
    url: str,
    store: Store,
    number: int,
    until: float,
    met: Clicks,
    headers: Mapping[str, str] | None = None,
    question_every: int = 0,
) -> None:
    """Ask about a text of one's own, click from page to page, and come back for the answer.

    Pauses differ, as people's do: equal ones keep sessions together for good that have once waited together.
    """
    asked = View(model=MODEL, text=f"A film for number {number}.", methods=(Choice(method="occlusion"),))
    link, random = link_to(store, asked), Random(number)
    await asyncio.sleep(PAUSE * number / 50)
    async with Session(url, link, headers=headers) as session:
        for step, page in enumerate(islice(cycle(PAGES), number, None), start=1):
            await asyncio.sleep(random.uniform(0.5, 1.5) * PAUSE)
            if time.monotonic() > until:
                break
            if question_every and step % question_every == 0:
                met.answers.append(await ask(url, store, f"A film for number {number} in step {step}.", headers))
            else:
                met.seconds.append(await session.visit(page))
        met.errors += session.errors
    async with Session(url, link, headers=headers) as session:
        met.lost += any(button.label == "Cancel" for button in session.shown("button"))
