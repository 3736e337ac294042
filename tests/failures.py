"""One test for many cases: it lists all that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

Case = TypeVar("Case")


def check_each(check: Callable[[Case], object], cases: Iterable[Case]) -> None:
    """Run ``check`` on each of the ``cases``; raise :class:`AssertionError` with every case that fails, and why."""
    every, failures = list(cases), []
    for case in every:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:
            failures.append(f"{case}: {type(error).__name__}: {error}")
    assert every, "there is no case"
    if failures:
        raise AssertionError("\n".join([f"{len(failures)} of {len(every)} cases fail", *failures]))
