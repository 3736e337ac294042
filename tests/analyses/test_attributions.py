"""Attributions inside the results of studies: each names the output that it explains and its origin."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from explainlab import explain, load_model, study
from explainlab.analyses.activation.figures import activation_scrubber
from explainlab.analyses.attributions import text_seed
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.app.pages.runs.bundle import study_bundle
from explainlab.attribution.registry import label_of
from explainlab.attribution.subject import Subject
from explainlab.models.classifier import Classifier

TEXT = "A funny and warm film."
METHODS = ["occlusion", "lrp"]
ROUNDING = 16 * np.finfo(np.float32).eps  # a score is the difference of two logits, which are below 8
STUDIES = pytest.mark.parametrize("name", ["evaluation", "activation"])


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return load_model("embedded:bert-mini-sst2", device="cpu")


def answer(classifier: Classifier, name: str, **settings: Any) -> AnalysisResult[Any]:
    metrics = {"metrics": ["comprehensiveness"]} if name == "evaluation" else {}
    return study(classifier, name, TEXT, methods=METHODS, **metrics, **settings)


@STUDIES
@pytest.mark.parametrize("output", [None, "logit", "probability"])
def test_every_map_says_which_output_it_explains(classifier: Classifier, name: str, output: str | None) -> None:
    result = answer(classifier, name, **({} if output is None else {"output": output}))
    said = {drawn.method: drawn.explained for drawn in (entry.drawn for entry in figures_of(result).maps.values())}
    expected = {"occlusion": output or "probability", "lrp": output or "logit"}
    for method, explained in expected.items():
        seed = text_seed(Subject(classifier, classifier.encode(TEXT)))
        alone = explain(classifier, TEXT, method=method, output=explained, seed=seed)
        scores = {own.id: own.scores for own in result.body.methods} if name == "activation" else result.body.scores
        np.testing.assert_allclose(scores[method], alone.scores, rtol=1e-5, atol=ROUNDING)
        assert said[label_of(method)] == f"explains the {explained} of positive"


def test_the_text_that_is_revealed_says_it_too(classifier: Classifier) -> None:
    result = answer(classifier, "activation")
    drawn = activation_scrubber(result.request, result.body)
    said = {method.name: method.explained for method in drawn.methods}
    assert said["occlusion"] == "explains the probability of positive"
    assert said["lrp"] == "explains the logit of positive"


@STUDIES
def test_a_report_says_so_where_methods_explain_outputs_of_their_own(classifier: Classifier, name: str) -> None:
    def said(result: AnalysisResult[Any]) -> str:
        with zipfile.ZipFile(io.BytesIO(study_bundle(result))) as bundle:
            return bundle.read("report.html").decode()

    assert "each method&#39;s own output of predicted" in said(answer(classifier, name))
    assert "logit of predicted" in said(answer(classifier, name, output="logit"))


def test_an_imported_map_is_said_to_come_from_elsewhere(classifier: Classifier, tmp_path) -> None:
    file = tmp_path / "lrp.json"
    record = explain(classifier, TEXT, method="lrp").to_json()
    file.write_text(json.dumps(record))
    result = study(classifier, "evaluation", TEXT, methods=["occlusion"], attributions=[str(file)])
    maps = {name: entry.drawn.explained for name, entry in figures_of(result).maps.items()}
    assert list(maps.values()).count("scores for positive, made elsewhere") == 1
