"""Fixtures that the tests of pages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pages.scripted import smaller_first_answers


@pytest.fixture(scope="module", autouse=True)
def _smaller() -> Iterator[None]:
    """Open pages with small questions, which take no time; the browser tests use the real first questions."""
    with smaller_first_answers():
        yield
