"""A user's uploads: in a folder of the user's own, read by nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from explainlab.data import read_dataset
from explainlab.errors import DataError
from explainlab.service.uploads import keep_upload, reader_for
from explainlab.service.users import LOCAL, User
from explainlab.settings import settings

ANN = User("../ann@example.org", "Ann")


def test_an_upload_is_read_for_its_owner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    upload = keep_upload(b"text,label\nfine,1\n", "data.csv", ANN)
    assert read_dataset(upload, reader=reader_for(ANN.id)).rows[0].text == "fine"
    for other in (LOCAL.id, "", "ann", f"{ANN.id} "):
        with pytest.raises(DataError, match="You have no upload"):
            read_dataset(upload, reader=reader_for(other))
    assert all(path.is_relative_to(tmp_path / "uploads") for path in tmp_path.rglob("*.csv"))


def test_the_settings_bound_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_rows", 1)
    with pytest.raises(DataError, match="more than 1 rows"):
        read_dataset("embedded:sentiment", reader=reader_for(LOCAL.id))
