"""A look at a data set before any request about it: users open only what they may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explainlab import data
from explainlab.data.uploads import upload_name
from explainlab.request import Request
from explainlab.service.limits import require_source
from explainlab.service.uploads import reader_for
from explainlab.service.users import User


def preview(source: str, user: User) -> data.Preview:
    """See :func:`explainlab.data.preview`; raises as :func:`explainlab.service.limits.require_source` too."""
    require_source(source)
    return data.preview(source, reader=reader_for(user.id))


def survey(source: str, classes: Sequence[str], columns: Mapping[str, str], user: User) -> data.Survey:
    """See :func:`explainlab.data.survey`; raises as :func:`explainlab.service.limits.require_source` too."""
    require_source(source)
    return data.survey(source, classes, columns, reader=reader_for(user.id))


def misfit(
    source: str, classes: Sequence[str] | None, columns: Mapping[str, str], meant: Mapping[str, str], user: User
) -> data.Misfit | None:
    """See :func:`explainlab.data.misfit`; raises as :func:`explainlab.service.limits.require_source` too."""
    require_source(source)
    return data.misfit(source, classes, columns, meant, reader_for(user.id))


def source_digest(source: str, user: User) -> str:
    """See :func:`explainlab.data.source_digest`; raises as :func:`explainlab.service.limits.require_source` too."""
    require_source(source)
    return data.source_digest(source, reader_for(user.id))


def about(request: Request, user: User) -> str:
    """What a request is about: its text, or the shown name of its data set."""
    return request.single_text if request.data is None else source_name(request.data, user)


def source_name(source: str, user: User) -> str:
    """The shown name of ``source``: an upload of this user has its file's name, others their own."""
    return upload_name(source, reader_for(user.id).uploads)
