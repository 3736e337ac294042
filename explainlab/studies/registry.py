"""All studies by id, and requests made complete."""

from __future__ import annotations

from functools import cache

from explainlab.data import source_digest
from explainlab.declared import named, parse
from explainlab.studies.ablation import Ablation
from explainlab.studies.activation import Activation
from explainlab.studies.candidates import RpiCandidates
from explainlab.studies.evaluation import Evaluation
from explainlab.studies.integration_error import IntegrationError
from explainlab.studies.intermediate_predictions import IntermediatePredictions
from explainlab.studies.judged_map import JudgedMap
from explainlab.studies.mistake_drivers import MistakeDrivers
from explainlab.studies.path_gradients import PathGradients
from explainlab.studies.predictions import Predictions
from explainlab.studies.study import AnyStudy, StudyRequest
from explainlab.studies.trust import Trust

STUDIES = (
    Ablation,
    Activation,
    Evaluation,
    IntegrationError,
    IntermediatePredictions,
    JudgedMap,
    MistakeDrivers,
    PathGradients,
    Predictions,
    RpiCandidates,
    Trust,
)


@cache
def studies() -> dict[str, AnyStudy]:
    """Every study by id."""
    return {study.id: study() for study in STUDIES}


def get_study(study_id: str) -> AnyStudy:
    """The study with this id; raises :class:`RequestError` with the nearest names."""
    return named("study", study_id, studies())


def complete(request: StudyRequest) -> StudyRequest:
    """The same request with every parameter of its study filled in."""
    study = get_study(request.study)
    return request.model_copy(update={"parameters": parse(study, request.parameters).model_dump(mode="json")})


def study_key(request: StudyRequest, model_digest: str) -> str:
    """The store's key of a complete request."""
    data = source_digest(request.data) if request.data is not None else ""
    study = get_study(request.study)
    return request.key(model_digest, study.version, data + study.stamp(parse(study, request.parameters)))


def evaluations(request: StudyRequest) -> int:
    """About how many gradients one text of ``request`` costs, known before anything has run."""
    study = get_study(request.study)
    return study.evaluations(parse(study, request.parameters))
