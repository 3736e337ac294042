"""Two users who click as ever beside one who does all that could hurt them, for two minutes."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import pytest

from explainlab import explain, load_model, study
from explainlab.app.pages.activation.form import ActivationView, DataChoice
from explainlab.app.pages.explain.form import Choice, View
from explainlab.app.pages.integration.form import IntegrationView
from explainlab.app.view import AnalysisView
from explainlab.service.store.store import Store
from explainlab.settings import ROOT
from tests.data.hostile import LARGE
from tests.load.session import Session
from tests.load.under_load import MODEL, Clicks, link_to, quiet_user, serving_app

pytestmark = pytest.mark.full("two minutes of hostile sessions")

SECONDS = 120
LONG = "word " * 110
HOSTILE = {"X-Forwarded-Email": "mallory@example.org"}


def endless_views() -> list[tuple[str, AnalysisView]]:
    """Return views that ask for too much, with their pages: endless methods, hostile step counts, a full queue."""
    endless = [
        View(model=MODEL, text=f"{LONG}{i}", methods=(Choice(method="kernel_shap", parameters={"samples": "40000"}),))
        for i in range(9)
    ]
    steps = IntegrationView(model=MODEL, text="a film", steps="-200000000:5:1")
    studies = [
        ActivationView(
            model=MODEL,
            text=f"{LONG}{i}",
            methods=("kernel_shap:samples=64n",),
            data=DataChoice(source="embedded:sentiment", rows=200 + i),
        )
        for i in range(40)
    ]
    return [*(("", view) for view in endless), ("integration", steps), *(("activation", view) for view in studies)]


def imported_files() -> list[bytes]:
    """Return exports with countless steps, with too many features, and nested too deeply."""
    model = load_model(MODEL, device="cpu")
    steps = study(model, "integration_error", "a stirring film", steps=[2, 4]).to_json()
    steps["parameters"]["steps"] = "-200000000:5:1"
    features: dict[str, Any] = explain(model, "a stirring film", "occlusion").to_json()
    features["features"] *= 120_000 // len(features["features"])
    return [json.dumps(steps).encode(), json.dumps(features).encode(), b"[" * 10**6, b'{"a":' * 10**6]


@dataclass
class Mallory:
    """One user who attacks in every way in turn, and leaves after each; ``done`` counts the attacks by kind."""

    url: str
    store: Store
    done: Counter[str] = field(default_factory=Counter)

    async def attack(self, until: float) -> None:
        """Attack in every way until this time."""
        files = {name: make() for name, (make, _) in LARGE.items()}
        attacks: list[tuple[str, Callable[..., Awaitable[None]], tuple[Any, ...]]] = [
            *(("view", self.open, (page, link_to(self.store, view))) for page, view in endless_views()),
            *(("file", self.upload, (name, content)) for name, content in files.items()),
            *(("import", self.bring, (content,)) for content in imported_files()),
            *(("stranger", self.send, ({},)), ("bytes", self.send, (HOSTILE,))),
        ]
        by_kind = {kind: cycle([attack for attack in attacks if attack[0] == kind]) for kind, *_ in attacks}
        for kind in cycle(by_kind):
            if time.monotonic() > until:
                return
            _, act, arguments = next(by_kind[kind])
            await act(*arguments)
            self.done[kind] += 1

    async def open(self, page: str, link: str) -> None:
        """Ask for too much, reload, and leave."""
        for _ in range(2):
            async with Session(self.url, link, page, HOSTILE):
                pass

    async def upload(self, name: str, content: bytes) -> None:
        """Upload a file that is larger inside than out, for predictions."""
        async with Session(self.url, "", "errors", HOSTILE) as session:
            await session.unfold("File, columns and labels")
            await session.upload("Upload a file", name, content)
            await session.press("Predict")

    async def bring(self, content: bytes) -> None:
        """Import hostile results."""
        async with Session(self.url, "", "runs", HOSTILE) as session:
            await session.unfold("Import results")
            await session.upload("A JSON file", "results.json", content)
            await session.press("Import")

    async def send(self, headers: dict[str, str]) -> None:
        """Send bytes that no page takes, signed in or not."""
        async with Session(self.url, "", "errors", headers) as session:
            await asyncio.gather(*(asyncio.to_thread(session.put, f"{i}", "a.csv", bytes(2**24)) for i in range(4)))


async def together(url: str, store: Store) -> tuple[Clicks, Counter[str]]:
    met, mallory = Clicks(), Mallory(url, store)
    async with Session(url, headers={"X-Forwarded-Email": "0@example.org"}) as first:
        await first.answered()
    until = time.monotonic() + SECONDS
    quiet = (quiet_user(url, store, i, until, met, {"X-Forwarded-Email": f"{i}@example.org"}) for i in range(2))
    await asyncio.gather(mallory.attack(until), *quiet)
    return met, mallory.done


def test_two_users_are_not_hurt_by_a_third(tmp_path: Path) -> None:
    hosted = {"EXPLAINLAB_AUTH": "proxy"}
    with serving_app(tmp_path / "home", script=ROOT / "explainlab" / "app" / "asgi.py", environment=hosted) as server:
        met, done = asyncio.run(together(server.url, server.store))
    slowest = quantiles(met.seconds, n=20)[-1]
    print(f"{len(met.seconds)} clicks, median {median(met.seconds):.2f} s, 95 of 100 below {slowest:.2f} s; {done}")
    assert min(done.values()) >= 3
    assert len(done) == 5
    assert len(met.seconds) >= 20
    assert met.errors == []
    assert met.lost == 0
    assert median(met.seconds) < 0.5
