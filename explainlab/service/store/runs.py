"""Runs: users' requests with their results, as one table that is filtered, sorted newest first and paged."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, delete, func, or_, select, update

from explainlab.request import Kind
from explainlab.service.store.database import Database
from explainlab.service.store.schema import RUNS

Visibility = Literal["private", "instance", "link"]

SUBJECT = 160
"""Characters of a text that the list shows."""
_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # what PostgreSQL or UTF-8 cannot hold
_LISTED = [column for column in RUNS.c if column.name not in ("words", "request_key")]


@dataclass(frozen=True)
class Run:
    """One user's request with its result, which is stored under ``key``.

    ``question`` is the id of the method or the study, ``subject`` the beginning of the text, the data set or the seed;
    ``model`` is empty where the study needs none;
    ``owner`` is a user's ``id`` and ``owner_full_id`` the id of any length that it is made of; ``created`` and
    ``asked`` (UTC) are the first and last time of the request; ``forward`` and ``backward`` count passes;
    ``imported``: the result came from a file; ``about`` names the text or the data set (see
    :func:`explainlab.service.resolved.subject_key`).
    """

    owner: str
    owner_name: str
    kind: Kind
    question: str
    model: str
    subject: str
    seconds: float
    forward: int
    backward: int
    key: str
    request: dict[str, Any]
    about: str = ""
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    title: str = ""
    visibility: Visibility = "private"
    imported: bool = False
    owner_full_id: str = ""
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    asked: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True)
class Filters:
    """A selection of runs.

    Each of ``words`` is in its text, title, model, question or owner; empty fields let all pass.
    ``since`` (with a time zone) is the earliest ``asked``.
    """

    words: str = ""
    kind: str = ""
    question: str = ""
    model: str = ""
    owner: str = ""
    since: datetime | None = None


@dataclass(frozen=True)
class RunPage:
    """A page of the runs that pass the filters, newest first, and the total number."""

    runs: list[Run]
    total: int


@dataclass(frozen=True)
class Choices:
    """The values to filter by: questions, models, and owners' names by their ids."""

    questions: list[str]
    models: list[str]
    owners: dict[str, str]


class Runs:
    """The table of runs. Users' rights are checked elsewhere: see ``service/access.py``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, run: Run, request_key: str) -> str:
        """Keep ``run``, or update its owner's run with this ``request_key``; returns its id."""
        row = row_of(run, request_key)
        same = (RUNS.c.owner == run.owner, RUNS.c.request_key == request_key)
        renewed = ("owner_name", "asked", "seconds", "forward", "backward", "key", "request")
        again = update(RUNS).where(*same).values({name: row[name] for name in renewed})
        row.pop("created")
        if not self._database.change(again) and not self._database.insert(RUNS, row):
            self._database.change(again)
        run_id: str = self._database.value(select(RUNS.c.id).where(*same))
        return run_id

    def get(self, run_id: str) -> Run | None:
        """Return the run with this id, of any owner; None if there is none."""
        rows = self._database.rows(select(*_LISTED).where(RUNS.c.id == run_id))
        return _run(rows[0]) if rows else None

    def page(self, reader: str, filters: Filters, start: int = 0, count: int = 50) -> RunPage:
        """Return ``count`` runs of the list of ``reader`` (a user's id), from the ``start``-th."""
        passed = (_listed_for(reader), *_conditions(filters))
        order = (RUNS.c.asked.desc(), RUNS.c.id.desc())
        page = select(RUNS.c.id, func.count().over()).where(*passed).order_by(*order).limit(count).offset(start)
        shown = self._database.rows(page)  # ids and total number in one query of narrow rows
        if shown:
            total = shown[0][1]
        else:
            total = self._database.value(select(func.count()).select_from(RUNS).where(*passed)) if start else 0
        whole = self._database.rows(select(*_LISTED).where(RUNS.c.id.in_([run_id for run_id, _ in shown])))
        runs = {row.id: _run(row) for row in whole}
        return RunPage([runs[run_id] for run_id, _ in shown if run_id in runs], total)

    def choices(self, reader: str) -> Choices:
        """Return the filter values of ``reader``."""
        columns = (RUNS.c.question, RUNS.c.model, RUNS.c.owner, RUNS.c.owner_name)
        rows = self._database.rows(select(*columns).where(_listed_for(reader)).distinct())
        owners = {owner: name for _, _, owner, name in rows}
        return Choices(
            questions=sorted({question for question, *_ in rows}),
            models=sorted({model for _, model, *_ in rows if model}),
            owners=dict(sorted(owners.items(), key=lambda item: item[1].casefold())),
        )

    def models(self) -> list[str]:
        """Return the models of all runs that have one, those of the newest first."""
        named = select(RUNS.c.model).where(RUNS.c.model != "").group_by(RUNS.c.model)
        query = named.order_by(func.max(RUNS.c.asked).desc())
        return [row.model for row in self._database.rows(query)]

    def share(self, run_id: str, visibility: Visibility) -> None:
        """Set who may see the run."""
        self._database.change(update(RUNS).where(RUNS.c.id == run_id).values(visibility=visibility))

    def entitle(self, run: Run, title: str) -> None:
        """Give ``run`` a title."""
        title = line(title)
        words = _words(run.subject, title, run.model, run.question, run.owner_name)
        self._database.change(update(RUNS).where(RUNS.c.id == run.id).values(title=title, words=words))

    def delete(self, run_id: str) -> None:
        """Delete the run; its result stays."""
        self._database.change(delete(RUNS).where(RUNS.c.id == run_id))

    def about(self, owner: str, about: str) -> list[Run]:
        """Return all runs of ``owner`` about one text or data set."""
        rows = self._database.rows(select(*_LISTED).where(RUNS.c.owner == owner, RUNS.c.about == about))
        return [_run(row) for row in rows]

    def names(self, owner: str, upload_id: str) -> bool:
        """Return whether any run of ``owner`` reads this upload."""
        reads = select(RUNS.c.id).where(RUNS.c.owner == owner, RUNS.c.request.contains(upload_id, autoescape=True))
        return bool(self._database.rows(reads.limit(1)))


def row_of(run: Run, request_key: str) -> dict[str, Any]:
    """Return ``run`` as a row of the table."""
    texts = {name: line(getattr(run, name)) for name in ("owner_name", "model", "subject", "title")}
    return {
        **vars(run),
        **texts,
        "owner_full_id": _UNWRITABLE.sub("\ufffd", run.owner_full_id),
        "request": json.dumps(run.request, allow_nan=False),
        "request_key": request_key,
        "words": _words(texts["subject"], texts["title"], texts["model"], run.question, texts["owner_name"]),
    }


def line(text: str, most: int = SUBJECT) -> str:
    """Return ``text`` on one line of at most ``most`` characters, without characters that a database cannot hold."""
    short = _UNWRITABLE.sub("\ufffd", " ".join(text[: 4 * most].split()))
    return short if len(short) <= most else f"{short[: most - 1]}…"


def _words(*texts: str) -> str:
    return "\n".join(texts).casefold()


def _listed_for(reader: str) -> ColumnElement[bool]:
    return or_(RUNS.c.owner == reader, RUNS.c.visibility == "instance")


def _conditions(filters: Filters) -> Sequence[ColumnElement[bool]]:
    same = [
        RUNS.c[name] == value for name in ("kind", "question", "model", "owner") if (value := getattr(filters, name))
    ]
    words = [RUNS.c.words.contains(word, autoescape=True) for word in line(filters.words).casefold().split()]
    return [*same, *words, *([RUNS.c.asked >= filters.since.astimezone(UTC)] if filters.since else [])]


def _run(row: Any) -> Run:
    fields = dict(row._mapping)
    times = {name: fields[name].replace(tzinfo=fields[name].tzinfo or UTC) for name in ("created", "asked")}
    return Run(**{**fields, **times, "request": json.loads(fields["request"])})
