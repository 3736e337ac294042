"""All studies by id, and requests made complete."""

from __future__ import annotations

import difflib
from functools import cache
from typing import Any

from pydantic import ValidationError

from explainlab.attribution.baselines import data_digest
from explainlab.attribution.method import Parameters
from explainlab.data import source_digest
from explainlab.errors import RequestError
from explainlab.studies.integration_error import IntegrationError
from explainlab.studies.path_gradients import PathGradients
from explainlab.studies.study import Study, StudyRequest


@cache
def studies() -> dict[str, Study]:
    """Every study by id."""
    return {study.id: study() for study in (IntegrationError, PathGradients)}


def get_study(study_id: str) -> Study:
    """The study with this id; raises :class:`RequestError` with the nearest names."""
    if study_id in studies():
        return studies()[study_id]
    near = difflib.get_close_matches(study_id, studies(), n=2, cutoff=0.4) or sorted(studies())
    raise RequestError(f"There is no study '{study_id}'.", f"Did you mean {' or '.join(near)}?")


def parse(study: Study, values: dict[str, Any]) -> Parameters:
    """``values`` checked and completed with defaults; raises :class:`RequestError` naming parameter and range."""
    try:
        return study.Parameters(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(study.Parameters.model_fields)
            raise RequestError(f"{study.id} has no parameter '{name}'.", f"Its parameters: {known}.") from None
        raise RequestError(f"{study.id}: {name} = {first['input']!r} is not accepted.", f"{first['msg']}.") from None


def complete(request: StudyRequest) -> StudyRequest:
    """The same request with every parameter of its study filled in."""
    study = get_study(request.study)
    return request.model_copy(update={"parameters": parse(study, request.parameters).model_dump(mode="json")})


def study_key(request: StudyRequest, model_digest: str) -> str:
    """The store's key of a complete request."""
    data = source_digest(request.data) if request.data is not None else ""
    return request.key(model_digest, get_study(request.study).version, data + data_digest(request.parameters))


def evaluations(request: StudyRequest) -> int:
    """About how many gradients one text of ``request`` costs, known before anything has run."""
    study = get_study(request.study)
    return study.evaluations(parse(study, request.parameters))
