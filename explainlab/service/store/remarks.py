"""Remarks of readers on the rows of a data set: notes, tags, and edited texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import and_, delete, func, select, update

from explainlab.request import digest
from explainlab.service.store.database import Database
from explainlab.service.store.schema import REMARKS

MOST_CHARACTERS = 4000
"""The longest note."""


class Remark(BaseModel):
    """A note and tags on one row, or on an edited text whose parent is that row.

    ``row`` counts the file's rows from 1. ``edit`` is empty for the row itself; else it names the edited ``text`` (and
    its pair), 16 hexadecimal digits of both.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    row: int = Field(ge=1)
    edit: str = ""
    text: str | None = None
    text_pair: str | None = None
    note: str = Field(default="", max_length=MOST_CHARACTERS)
    tags: tuple[Annotated[str, Field(min_length=1, max_length=60)], ...] = Field(default=(), max_length=20)

    @classmethod
    def of_edit(cls, row: int, text: str, text_pair: str | None = None) -> Remark:
        """Return an empty remark on an edited text whose parent is ``row``; equal texts share a remark."""
        return cls(row=row, edit=digest([text, text_pair])[:16], text=text, text_pair=text_pair)

    @property
    def empty(self) -> bool:
        """True if there is nothing to keep."""
        return not (self.edit or self.note or self.tags)


@dataclass(frozen=True)
class Sheet:
    """The remarks of ``owner`` on a data set: how many ``bytes``, and when the last was made (UTC)."""

    owner: str
    data: str
    bytes: int
    used: datetime


def all_sheets(database: Database) -> list[Sheet]:
    """Return the sheets of all users."""
    size, last = func.sum(func.length(REMARKS.c.body)), func.max(REMARKS.c.created)
    query = select(REMARKS.c.owner, REMARKS.c.data, size, last).group_by(REMARKS.c.owner, REMARKS.c.data)
    rows = database.rows(query)
    return [
        Sheet(owner, data, int(total), made.replace(tzinfo=made.tzinfo or UTC)) for owner, data, total, made in rows
    ]


class Remarks:
    """The remarks of one ``owner`` (a user's id) on one data set (by its digest, 64 hexadecimal digits).

    Remarks of others are neither read nor changed. Every method raises :class:`explainlab.errors.ResourceError` where
    the database fails.
    """

    def __init__(self, database: Database, owner: str, data: str) -> None:
        self._database = database
        self._place = {"owner": owner, "data": data}

    def all(self) -> list[Remark]:
        """Return every remark, by row; those of one row in the order of their creation."""
        query = select(REMARKS.c.body).where(self._matches(self._place))
        rows = self._database.rows(query.order_by(REMARKS.c.row, REMARKS.c.created))
        return [Remark.model_validate_json(body) for (body,) in rows]

    def keep(self, remark: Remark) -> None:
        """Keep ``remark`` in place of an earlier one; an empty remark is removed."""
        if remark.empty:
            self.forget(remark)
            return
        key, body = self._key(remark), remark.model_dump_json()
        if not self._database.change(update(REMARKS).where(self._matches(key)).values(body=body)):
            self._database.insert(REMARKS, {**key, "body": body})

    def forget(self, remark: Remark) -> None:
        """Remove the remark on the same row or edited text, if there is one."""
        self._database.change(delete(REMARKS).where(self._matches(self._key(remark))))

    def clear(self) -> None:
        """Remove every remark."""
        self._database.change(delete(REMARKS).where(self._matches(self._place)))

    def _key(self, remark: Remark) -> dict[str, Any]:
        return {**self._place, "row": remark.row, "edit": remark.edit}

    @staticmethod
    def _matches(values: Mapping[str, Any]) -> Any:
        return and_(*(REMARKS.c[name] == value for name, value in values.items()))
