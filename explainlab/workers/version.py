"""The version of the project, as a digest of its source."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def source_digest() -> str:
    """Return the SHA-256 of this package's source.

    A server refuses workers of other sources than its own.
    """
    whole = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        whole.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()
