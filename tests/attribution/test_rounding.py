"""Rounding of a pass that shows in the scores: the result reports it, and its size."""

from __future__ import annotations

import re
from itertools import cycle

import numpy as np
import pytest

from explainlab import Attribution, methods
from explainlab.attribution.methods.gradients import NORMALISED
from explainlab.attribution.registry import get_method
from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from explainlab.testing import watched
from explainlab.testing.methods import MethodRun
from tests.attribution.test_contract import supported
from tests.conftest import ONE_OF_EACH, Zoo, loaded
from tests.failures import check_each
from tests.tiers import first

TEXTS = ["a stirring, funny film", "A funny film. It isn't good!", "film film film film film film", "dull"]
SUMS = ["input_x_gradient", "lrp", "kernel_shap", "lime", "occlusion", "sp_pi", "mp_pi"]
"""Methods whose scores are sums that may cancel; DeepLift also rounds quotients of small differences."""
MODELS = ["bert", "albert", "modernbert", "deberta", "gpt2", "embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"]


def told_share(result: Attribution) -> float:
    """The share of the largest score that the note of ``result`` names; 0 without a note."""
    for note in result.notes:
        if re.match(r"Rounding in \w+: another batch size, padding or processor may move the scores by ", note):
            share = re.search(r"by about ([\d.e+-]+)% of the largest\.$", note)
            return float(share[1]) / 100 if share else 1.0
    return 0.0


@pytest.mark.parametrize("name", first(ONE_OF_EACH, MODELS, "a case takes four seconds"))
def test_scores_move_by_no_more_than_the_note_says(zoo: Zoo, name: str) -> None:
    classifier = loaded(name) if ":" in name else zoo(name)

    def check(method: str) -> None:
        run = MethodRun(get_method(method), classifier, {})
        for text, output in zip(TEXTS, cycle(("probability", "logit")), strict=False):
            with watched(classifier) as passes:
                plain = run(text, output=output)
            with watched(classifier, limit=max(1, passes.widest // 3)):
                other = run.on(classifier, text, output=output, padding=3)
            largest = np.abs(plain.scores).max()
            moved = np.abs(other.scores - plain.scores).max()
            assert moved <= max(2e-5, 2 * told_share(plain)) * largest, (
                f"{output} of {text!r}: the result does not name {moved / largest:.1g}"
            )

    check_each(check, [method for method in SUMS if method in supported(classifier)])


@pytest.mark.parametrize(("name", "cancels"), [("deberta", True), ("modernbert", True), ("bert", False), ("t5", False)])
def test_products_that_a_normalised_embedding_cancels_are_told(zoo: Zoo, name: str, cancels: bool) -> None:
    """A model that normalises every word embedding first does not see its length, so x · dF/dx is next to zero."""
    run = MethodRun(get_method("input_x_gradient"), zoo(name), {})
    result = run()
    assert (NORMALISED in result.warnings) == cancels
    assert (told_share(result) > 1e-4) == cancels
    norms = MethodRun(get_method("input_x_gradient"), zoo(name), {"reduction": "l2"})()
    assert not norms.warnings
    assert not told_share(norms)


def test_a_cruder_number_format_is_told_by_every_such_method(zoo_path) -> None:
    classifier: Classifier = load_model(str(zoo_path("bert")), device="cpu", dtype="bfloat16")
    for method in ("occlusion", "input_x_gradient", "kernel_shap", "lime", "lrp", "deep_lift"):
        notes = MethodRun(methods()[method], classifier, {})().notes
        assert any(note.startswith("Rounding in bfloat16") for note in notes), method


NUMBERS = {
    "occlusion": {},
    "input_x_gradient": {},
    "kernel_shap": {"samples": "64"},
    "integrated_gradients": {"rule": "midpoint", "steps": 8},
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_told_and_moves_scores_by_some_per_cent(dtype: str) -> None:
    """The map of an embedded model beside its own in float32."""
    name, told = (
        "embedded:bert-mini-sst2",
        f"Computed in {dtype}: the scores may differ from float32's by some per cent.",
    )
    half, whole = load_model(name, device="cpu", dtype=dtype), loaded(name)
    moved = []
    for method, parameters in NUMBERS.items():
        run = MethodRun(get_method(method), half, parameters)
        result, reference = run(TEXTS[0]), run.on(whole, TEXTS[0])
        assert told in result.notes
        assert not any("per cent" in note for note in reference.notes)
        moved.append(np.abs(result.scores - reference.scores).max() / np.abs(reference.scores).max())
        assert 1e-5 < moved[-1] < max(0.1, told_share(result)), "more than some per cent is told apart"
    assert dtype == "float16" or max(moved) > 0.005
