"""Damaged files of every format are read or refused, quickly and in little memory.

Here 1,000 of them; 10,000 by hand: EXPLAINLAB_FUZZ=10000 python -m pytest tests/data/test_fuzz.py
"""

from __future__ import annotations

import gzip
import os
import resource
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from explainlab.data import misfit, preview, read_dataset, survey
from explainlab.errors import DataError
from tests.data.hostile import WELL_FORMED

LABELS = ("negative", "positive")
READ = (
    preview,
    lambda path: misfit(path, LABELS),
    lambda path: survey(path, LABELS),
    lambda path: read_dataset(path, LABELS, limit=9, skip_bad=True, seed=0),
)
EXAMPLES = int(os.environ.get("EXPLAINLAB_FUZZ", "1000"))
SECONDS, BYTES = 10, 500 * 2**20

places = st.floats(0, 1, exclude_max=True)
pieces = st.one_of(
    st.binary(max_size=8), st.sampled_from([b'"', b"\n", b"\0", b",", b"\xff", b"{", b"[" * 99, b"\xff" * 9])
)
changes = st.lists(st.tuples(places, st.integers(0, 64), pieces, st.integers(1, 3)), max_size=5)


def damaged(content: bytes, changed: list[tuple[float, int, bytes, int]]) -> bytes:
    """``content`` with pieces put in at places, each as often as said, in place of so many bytes."""
    for share, gone, piece, times in changed:
        place = int(share * (len(content) + 1))
        content = content[:place] + piece * times + content[place + gone :]
    return content


@given(st.sampled_from(sorted(WELL_FORMED)), changes, st.sampled_from(("", ".gz", "gz")), st.sampled_from(READ))
@hypothesis_settings(max_examples=EXAMPLES, derandomize=EXAMPLES <= 1_000)
def test_damaged_files_are_read_or_refused(name: str, changed: list, pack: str, read) -> None:
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    content = WELL_FORMED[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / (name + (".gz" if pack else ""))
        if pack == "gz":  # the damage is in the packed bytes
            content = damaged(gzip.compress(content), changed)
        else:
            content = damaged(content, changed)
            content = gzip.compress(content) if pack else content
        path.write_bytes(content)
        with suppress(DataError):
            read(path)
    assert time.monotonic() - start < SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < BYTES
