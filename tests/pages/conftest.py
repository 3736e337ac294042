"""Fixtures that the tests of pages share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pages.scripted import smaller_first_answers


@pytest.fixture(scope="module", autouse=True)
def _smaller() -> Iterator[None]:
    """Pages open with questions that are answered at once; the tests in a browser open them with their own."""
    with smaller_first_answers():
        yield
