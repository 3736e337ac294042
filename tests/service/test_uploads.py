"""A user's uploads: in that user's folder, without access for any other user."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explainlab.data import is_planted, read_dataset
from explainlab.data.plant import PlantedFiles, Planting, planted_files
from explainlab.data.uploads import stored_uploads, upload_name
from explainlab.errors import DataError
from explainlab.service import uploads
from explainlab.service.uploads import PlantedUploads, forget_upload, keep_planted, keep_upload, reader_for
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


def test_a_planted_upload_is_its_owners_too_and_equal_ones_are_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    rows = "".join(f"text {i},1\n" for i in range(40))
    upload = keep_upload(f"text,label\n{rows}".encode(), "my <b>texts</b>.csv", ANN)
    asked = upload, "my <b>texts</b>.csv", {}, Planting(share=0.5, held_out=0.25), 3, ANN, reader_for(ANN.id)
    planted = keep_planted(*asked)
    assert keep_planted(*asked) == planted
    assert (planted.rows + planted.held_out_rows, planted.warning) == (40, "")
    folder = reader_for(ANN.id).uploads
    assert upload_name(planted.held_out, folder) == "b>-planted-0.5-held-out.csv", "names have no folders"
    for each, count in ((planted.learn, planted.rows), (planted.held_out, planted.held_out_rows)):
        assert is_planted(each, {}, reader_for(ANN.id))
        assert len(read_dataset(each, reader=reader_for(ANN.id)).rows) == count
        with pytest.raises(DataError, match="You have no upload"):
            read_dataset(each, reader=reader_for(LOCAL.id))
    with pytest.raises(DataError, match="You have no upload"):
        keep_planted(*asked[:5], LOCAL, reader_for(LOCAL.id))


def test_what_was_planted_is_planted_again_only_where_it_is_gone_or_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    planted_with: list[int] = []

    def counted(*args: Any, seed: int, **more: Any) -> PlantedFiles:
        planted_with.append(seed)
        return planted_files(*args, seed=seed, **more)

    monkeypatch.setattr(uploads, "planted_files", counted)
    rows = "".join(f"text {i},1\n" for i in range(40)).encode()

    def plant(user: User, seed: int = 3, share: float = 0.5) -> PlantedUploads:
        source, planting = keep_upload(b"text,label\n" + rows, "data.csv", user), Planting(share=share, held_out=0.25)
        return keep_planted(source, "data.csv", {}, planting, seed, user, reader_for(user.id))

    first, folder = plant(ANN), reader_for(ANN.id).uploads
    assert folder is not None
    stored = {each.id for each in stored_uploads(folder)}
    assert len(stored) == 3
    assert {first.learn, first.held_out} < stored
    assert plant(ANN) == first
    assert planted_with == [3]
    assert {each.id for each in stored_uploads(folder)} == stored, "and counted once"
    for gone, count in ((first.learn, 2), (first.held_out, 3)):
        forget_upload(gone, folder)
        assert plant(ANN) == first == plant(ANN)
        assert planted_with == [3] * count
    assert plant(LOCAL) == first == plant(LOCAL)
    assert planted_with == [3] * 4, "each user has a record"
    assert plant(ANN, seed=4) != first
    assert plant(ANN, share=1.0) != first
    assert planted_with[4:] == [4, 3]
    for path in folder.glob("origins/*"):
        path.write_bytes(b"[")
    assert plant(ANN) == first
    assert planted_with[6:] == [3], "one that cannot be read counts for nothing"
    for each in stored_uploads(folder):
        forget_upload(each.id, folder)
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_the_settings_bound_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "max_rows", 1)
    with pytest.raises(DataError, match="more than 1 rows"):
        read_dataset("embedded:sentiment", reader=reader_for(LOCAL.id))
