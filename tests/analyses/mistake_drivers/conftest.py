"""A result of the study that its tests, figures and records share."""

from __future__ import annotations

import pytest

from explainlab import load_model, study
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.mistake_drivers.result import MistakeDriversData
from explainlab.models.classifier import Classifier

DATA = "embedded:sentiment"
ASKED = {"data": DATA, "right": 12, "seed": 3}


@pytest.fixture(scope="session")
def bert() -> Classifier:
    return load_model("embedded:bert-mini-sst2", device="cpu")


@pytest.fixture(scope="session")
def result(bert: Classifier) -> AnalysisResult[MistakeDriversData]:
    """Return the drivers of a real model's mistakes, compared with 12 correct rows; tests must not change them."""
    return study(bert, "mistake_drivers", **ASKED)
