"""Two users who click as ever beside one who does all that could hurt them, for two minutes."""

from __future__ import annotations

import asyncio
import time
from itertools import cycle
from pathlib import Path
from statistics import median

from explainlab.analyses.errors.page.view import ErrorsView
from explainlab.analyses.explain.page.view import Choice, View
from explainlab.analyses.integration.page.view import IntegrationView
from explainlab.service.store.store import Store
from tests.load.session import Session
from tests.load.under_load import MODEL, Clicks, quiet_user, serving

SECONDS = 120
LONG = "word " * 110


def hostile_links(store: Store, folder: Path) -> list[tuple[str, str]]:
    """Views that are too much, each with its page: endless methods, hostile step counts, files larger inside."""
    wide, blank = folder / "wide.csv", folder / "cells.csv"
    wide.write_text(",".join(f"c{i}" for i in range(60_000)) + "\n" + "1," * 59_999 + "1\n", encoding="utf-8")
    blank.write_text("text,label\n" + "x" * 30_000_000 + ",positive\n", encoding="utf-8")
    endless = [
        View(model=MODEL, text=f"{LONG}{i}", methods=(Choice(method="kernel_shap", parameters={"samples": "40000"}),))
        for i in range(9)
    ]
    views = [
        *(("", view.model_dump(mode="json")) for view in endless),
        *(("errors", ErrorsView(model=MODEL, source=str(path)).model_dump(mode="json")) for path in (wide, blank)),
        (
            "integration",
            {**IntegrationView(model=MODEL, text="a film").model_dump(mode="json"), "steps": "-200000000:5:1"},
        ),
    ]
    return [(page, f"r={store.save_view(view)}") for page, view in views]


async def hostile_user(url: str, links: list[tuple[str, str]], until: float) -> int:
    """Opens one link after another and leaves each at once; how many were opened."""
    opened = 0
    for page, link in cycle(links):
        if time.monotonic() > until:
            return opened
        async with Session(url, link, page):
            opened += 1
        await asyncio.sleep(0.2)
    return opened


async def together(url: str, store: Store, folder: Path) -> tuple[Clicks, int]:
    met, links = Clicks(), hostile_links(store, folder)
    async with Session(url) as first:
        await first.answered()
    until = time.monotonic() + SECONDS
    quiet = (quiet_user(url, store, number, until, met) for number in range(2))
    opened, *_ = await asyncio.gather(hostile_user(url, links, until), *quiet)
    return met, opened


def test_two_users_are_not_hurt_by_a_third(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as server:
        met, opened = asyncio.run(together(server.url, server.store, tmp_path))
    print(f"{len(met.seconds)} clicks, median {median(met.seconds):.2f} s; {opened} hostile pages")
    assert opened >= 20
    assert len(met.seconds) >= 20
    assert met.errors == []
    assert met.lost == 0
    assert median(met.seconds) < 0.5
