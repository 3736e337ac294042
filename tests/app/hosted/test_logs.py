"""The log of a hosted instance: every line is JSON, and none holds a text, whatever fails."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.app.hosted.conftest import log_of
from tests.load.session import Session

SECRET = "a most secret film"


def test_no_line_holds_a_text_whatever_fails(serve, tmp_path: Path) -> None:
    async def visit(url: str) -> str:
        async with Session(url, f"text={SECRET.replace(' ', '+')}") as session:
            return session.told()

    with serve(Path(__file__).parent / "failing.py", {"EXPLAINLAB_HOME": str(tmp_path)}) as url:
        told = asyncio.run(visit(url))
    assert "secret" not in (tmp_path / "log.txt").read_text(encoding="utf-8")
    lines = log_of(tmp_path)
    page = str(Path(__file__).parent / "failing_page.py")
    (shown,) = [line for line in lines if line.get("message") == "a page failed"]
    assert shown["error_id"] in told
    assert (shown["exception"], shown["raised"][-1].split()[1]) == ("ValueError", "fail")
    assert sum(line.get("where", "").startswith(page) for line in lines) >= 13, "each is told by where it came from"
    assert "this is how it was written: %s" in [line.get("message") for line in lines]
    assert {"a.library", "uvicorn.error", "py.warnings", "asyncio"} <= {line["logger"] for line in lines}
