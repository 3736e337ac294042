"""Uploads before a page has them: only of users, bounded for a session and for a user, and not in memory."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from explainlab.app.hosted import WaitingUploads, proof_of
from explainlab.service.users import User
from explainlab.settings import settings
from tests.app.hosted.conftest import ASGI, log_of
from tests.load.session import Session

MB = 2**20


@pytest.fixture(scope="module")
def hosted(serve, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    home = tmp_path_factory.mktemp("hosted")
    limits = {"EXPLAINLAB_MAX_UPLOAD_MB": "20", "EXPLAINLAB_MAX_WAITING_UPLOADS_MB": "30"}
    with serve(ASGI, {"EXPLAINLAB_HOME": str(home), "EXPLAINLAB_AUTH": "proxy", **limits}) as url:
        yield url, home


def put(session: Session, name: str, size: int) -> int:
    """Upload ``size`` bytes as a browser does; the status of the answer."""
    return session.put(name, "data.csv", b"x" * size)


def on_disk(home: Path) -> int:
    return sum(file.stat().st_size for file in (home / "waiting").rglob("*") if file.is_file())


def of(url: str, name: str) -> Session:
    """A session on a page that computes nothing."""
    return Session(url, page="status", headers={"X-Forwarded-Email": name} if name else None)


def test_a_session_that_has_not_signed_in_uploads_nothing(hosted: tuple[str, Path]) -> None:
    url, home = hosted

    async def attack() -> list[int]:
        async with of(url, "") as session:
            assert "did not say who you are" in session.told()
            return [put(session, f"file{i}", MB) for i in range(5)]

    assert asyncio.run(attack()) == [403] * 5
    assert on_disk(home) == 0
    assert "Sign in" in log_of(home)[-1]["reason"]


def test_bytes_of_a_session_and_of_a_user_are_bounded_and_on_the_disk(hosted: tuple[str, Path]) -> None:
    url, home = hosted

    async def attack() -> None:
        async with AsyncExitStack() as stack:
            one, two, three = [await stack.enter_async_context(of(url, "ann")) for _ in range(3)]
            others = [await stack.enter_async_context(of(url, f"user {i}")) for i in range(3)]
            assert [put(one, name, 14 * MB) for name in ("a", "b")] == [204, 413], "20 MB a session"
            assert put(one, "a", MB) == 403, "the same file again would be counted once"
            assert [put(each, "c", 14 * MB) for each in (two, three)] == [204, 413], "30 MB a user"
            assert [put(each, "d", 14 * MB) for each in others] == [204] * 3
            assert on_disk(home) == 5 * 14 * MB

    asyncio.run(attack())


def test_nobody_else_uploads_or_deletes_in_a_session(hosted: tuple[str, Path]) -> None:
    url, home = hosted

    async def attack() -> None:
        async with of(url, "dan") as session:
            before = on_disk(home)
            others: list[dict[str, str]] = [{}, {"X-Forwarded-Email": "eve"}]
            assert [session.put("a", "data.csv", b"x", headers) for headers in others] == [403, 403]
            assert put(session, "a", MB) == 204
            assert [session.delete("a", headers) for headers in others] == [403, 403]
            assert on_disk(home) == before + MB
            assert session.delete("a") == 204
            assert on_disk(home) == before

    asyncio.run(attack())


def test_a_sign_in_is_proved_by_all_of_its_cookies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "auth", "oidc")
    signed = {"_streamlit_user": "ann", "_streamlit_user_1": "more", "theme": "dark"}
    assert proof_of({}, signed) == proof_of({"X-Forwarded-Email": "eve"}, {**signed, "theme": "light"})
    for other in ({}, {"_streamlit_user": "ann"}, {**signed, "_streamlit_user_1": "else"}):
        assert proof_of({}, other) != proof_of({}, signed)


@pytest.mark.full("10 s: a server of its own, on a disk of its own")
def test_a_full_disk_refuses_a_file_and_takes_it_later(serve, disk: Path) -> None:
    async def upload(url: str) -> None:
        async with of(url, "fay") as session:
            (disk / "big").write_bytes(bytes(shutil.disk_usage(disk).free - 5 * MB))
            assert put(session, "a", 14 * MB) == 507
            assert on_disk(disk) == 0, "no part of it is left"
            (disk / "big").unlink()
            assert put(session, "a", 14 * MB) == 204

    with serve(ASGI, {"EXPLAINLAB_HOME": str(disk), "EXPLAINLAB_AUTH": "proxy"}) as url:
        asyncio.run(upload(url))


def test_a_page_goes_on_after_an_upload(hosted: tuple[str, Path]) -> None:
    url, _ = hosted

    async def upload() -> str:
        async with Session(url, page="errors", headers={"X-Forwarded-Email": "uma"}) as session:
            await session.unfold("File, columns and labels")
            assert await session.upload("Upload a file", "a.csv", b"text,label\na,positive\n") == 204
            await session.press("Predict")
            assert session.errors == []
            return session.told()

    assert "unexpected" not in asyncio.run(upload())


def test_nothing_arrives_without_its_length(hosted: tuple[str, Path]) -> None:
    url, _ = hosted

    async def attack() -> int:
        async with of(url, "cy") as session:
            endless = (b"x" * MB for _ in range(100))
            named = {"X-Forwarded-Email": "cy"}
            return httpx.put(f"{url}/_stcore/upload_file/{session.id}/a", content=endless, headers=named).status_code

    assert asyncio.run(attack()) == 411


def test_room_comes_back_when_a_file_is_taken_or_a_session_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    monkeypatch.setattr(settings(), "max_upload_mb", 1)
    waiting, ann = WaitingUploads("/upload"), User("ann", "Ann")
    waiting.admit("s", ann, "proof")

    def bring(name: str) -> str:
        problem = waiting.reserve("s", name, MB // 2)
        if not problem:
            waiting.add_file("s", UploadedFileRec(name, "data.csv", "text/csv", name.encode() * 100))
        waiting.settle("s", name)
        return problem

    assert [bring(name) for name in ("a", "b")] == ["", ""]
    assert [file.data for file in waiting.get_files("s", ["a", "b", "c"])] == [b"a" * 100, b"b" * 100]
    assert not any(file.data for file in waiting.file_storage["s"].values()), "nothing is kept in memory"
    assert waiting.reserve("s", "c", MB) != ""
    waiting.remove_file("s", "a")
    assert bring("c") == ""
    waiting.remove_file("s", "b")
    assert waiting.reserve("s", "late", MB // 4) == ""
    waiting.settle("s", "late")
    waiting.admit("s", None, "proof")
    assert on_disk(tmp_path) == 0
    assert bring("d").startswith("Sign in")
    waiting.admit("s", ann, "proof")
    assert bring("a") == ""
