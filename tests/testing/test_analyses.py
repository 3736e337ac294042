"""Every analysis fulfils its contract, and the contract catches what is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explainlab.analyses.base import Analysis, AnalysisResult
from explainlab.analyses.data_analysis import DataAnalysis, DataSubject
from explainlab.analyses.errors.analysis import Predictions
from explainlab.analyses.errors.result import PredictionsData
from explainlab.analyses.registry import get_analysis, studies
from explainlab.analyses.trust.analysis import Trust
from explainlab.analyses.trust.result import TrustText
from explainlab.attribution.subject import Subject
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.reader import Reader
from explainlab.request import CompleteRequest
from explainlab.testing import check_analysis
from tests.conftest import Zoo

TEXT = "a good film"
CHEAP: dict[str, dict[str, Any]] = {
    "ablation": {"methods": "occlusion,random", "samples": 2, "metrics": "log_odds"},
    "activation": {"methods": "occlusion"},
    "evaluation": {"methods": "occlusion", "metrics": "log_odds"},
    "integration_error": {"steps": "2,3", "rules": "right"},
    "path_gradients": {"steps": "2"},
    "rpi_candidates": {"samples": 2, "steps": 2, "metrics": "log_odds"},
    "trust": {"method": "occlusion"},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of three short texts with every label of the tiny models."""
    file: Path = tmp_path_factory.mktemp("data") / "texts.csv"
    file.write_text("text,label\na good film,0\na bad film,1\nthe plot is good,2\n", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("name", sorted(studies()))
def test_every_study_fulfils_the_contract(zoo: Zoo, data: str, name: str) -> None:
    classifier = zoo("gpt2" if name == "intermediate_predictions" else "bert")
    parameters = dict(CHEAP.get(name, {}))
    if name == "judged_map":
        parameters = {"scores": list(range(len(classifier.encode(TEXT)))), "metrics": "log_odds"}
    text = None if isinstance(get_analysis(name), DataAnalysis) else TEXT
    check_analysis(get_analysis(name), classifier, text=text, data=data, **parameters)


def test_a_method_fulfils_it_too(encoder: Classifier) -> None:
    check_analysis(get_analysis("occlusion"), encoder, text=TEXT, data=None)
