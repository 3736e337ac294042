"""All studies by id, and requests made complete."""

from __future__ import annotations

from functools import cache

from explainlab.analyses.ablation.analysis import Ablation
from explainlab.analyses.activation.analysis import Activation
from explainlab.analyses.base import AnyStudy, StudyRequest
from explainlab.analyses.candidates.analysis import RpiCandidates
from explainlab.analyses.errors.analysis import Predictions
from explainlab.analyses.evaluation.analysis import Evaluation
from explainlab.analyses.integration.analysis import IntegrationError
from explainlab.analyses.intermediate_predictions.analysis import IntermediatePredictions
from explainlab.analyses.judged_map.analysis import JudgedMap
from explainlab.analyses.mistake_drivers.analysis import MistakeDrivers
from explainlab.analyses.path_gradients.analysis import PathGradients
from explainlab.analyses.trust.analysis import Trust
from explainlab.data import source_digest
from explainlab.declared import named, parse

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
    return request.key(model_digest, study.version, data + study.fingerprint(parse(study, request.parameters)))


def evaluations(request: StudyRequest) -> int:
    """About how many gradients one text of ``request`` costs, known before anything has run."""
    study = get_study(request.study)
    return study.evaluations(parse(study, request.parameters))
