"""One test for many cases: it lists all that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

Case = TypeVar("Case")


def failures(check: Callable[[Case], object], cases: Iterable[Case]) -> dict[Case, str]:
    """Return the error of each of the ``cases`` for which ``check`` fails; a test asserts that there is none."""
    found = {}
    for case in cases:
        try:
            check(case)
        except (Exception, pytest.fail.Exception) as error:
            found[case] = f"{type(error).__name__}: {error}"
    return found
