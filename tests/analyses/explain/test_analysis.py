"""The output of an attribution on the command line and on a page."""

from __future__ import annotations

from explainlab import explain, load_model
from explainlab.analyses.explain.verdict import verdict
from explainlab.analyses.registry import get_analysis


def test_the_headline_is_the_verdict_and_the_lines_begin_with_method_and_class() -> None:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    result = explain(classifier, "A warm film.", method="occlusion", target="positive")
    report = get_analysis("occlusion").report(result)
    assert report.headline == verdict(result)
    assert report.lines[0] == f"occlusion for 'positive' ({result.prediction.probabilities['positive']:.4f})"
