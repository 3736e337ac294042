"""Damaged files of every format are read or refused, quickly and in little memory."""

from __future__ import annotations

import gzip
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from explainlab.data import misfit, preview, read_dataset, survey
from explainlab.errors import DataError
from tests.data.hostile import WELL_FORMED
from tests.fuzz import bounded, changes, damaged, inputs

FOLDER, NUMBERS = TemporaryDirectory(), count()
LABELS = ("negative", "positive")
READ = (
    preview,
    lambda path: misfit(path, LABELS),
    lambda path: survey(path, LABELS),
    lambda path: read_dataset(path, LABELS, limit=9, skip_bad=True, seed=0),
)


@given(st.sampled_from(sorted(WELL_FORMED)), changes, st.sampled_from(("", ".gz", "gz")), st.sampled_from(READ))
@inputs(400)
def test_damaged_files_are_read_or_refused(name: str, changed: list, pack: str, read) -> None:
    content = WELL_FORMED[name]
    path = Path(FOLDER.name) / f"{next(NUMBERS)}{name}{'.gz' * bool(pack)}"
    with bounded():
        if pack == "gz":  # the damage is in the packed bytes
            content = damaged(gzip.compress(content), changed)
        else:
            content = damaged(content, changed)
            content = gzip.compress(content) if pack else content
        path.write_bytes(content)
        with suppress(DataError):
            read(path)
    path.unlink()
