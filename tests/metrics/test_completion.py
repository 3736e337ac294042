"""Metrics on language models with a prompt: only the text is deleted and masked, under every preset."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from explainlab.analyses.run import evaluate
from explainlab.metrics import distinct
from explainlab.metrics.presets import PRESETS
from explainlab.models.classifier import Classifier
from tests.conftest import Zoo
from tests.metrics.conftest import WITH_PRESETS, case_of, judged, value_of
from tests.metrics.slow import slow

TEXT = "A funny film. It isn't good!"
PLAIN = [name for name, preset in PRESETS.items() if not preset.special and not preset.retokenised]
"""The presets of which the slow loop knows nothing that a prompt changes."""


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def classifier(request: pytest.FixtureRequest, speaker: Zoo) -> Classifier:
    return speaker(request.param)


@pytest.mark.parametrize("preset", PLAIN)
@pytest.mark.parametrize("unit", ["token", "word"])
def test_values_are_those_of_a_slow_loop(classifier: Classifier, preset: str, unit: str) -> None:
    case = case_of(classifier, TEXT, unit=unit)
    (found,) = judged(classifier, [case], *(f"{metric}:preset={preset}" for metric in WITH_PRESETS))
    for row, scores in zip(found, case.scores.tolist(), strict=True):
        for metric, metric_result in zip(WITH_PRESETS, row, strict=True):
            expected = slow(metric, preset, classifier, case.encoding, case.units, case.target, scores)
            assert metric_result.value == pytest.approx(expected, abs=2e-6), metric


@pytest.mark.parametrize("preset", PRESETS)
def test_the_prompt_stays_in_every_input(classifier: Classifier, preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ids before and after the text are read in every perturbed input, and nothing else of it is new."""
    monkeypatch.setattr(distinct, "LEAST_PREFIX", 10**9)  # no input is cut in two
    case = case_of(classifier, TEXT, unit="word")
    encoding = case.encoding
    own = np.flatnonzero(encoding.content)
    before, after = encoding.ids[: own[0]].tolist(), encoding.ids[own[-1] + 1 :].tolist()
    marker = int(PRESETS[preset].special and encoding.prompt[0] is None)  # a special token that may go
    opening = before[marker:]
    seen: list[list[int]] = []

    def look(_: torch.nn.Module, __: tuple, options: dict) -> None:
        ids, mask = options["input_ids"], options["attention_mask"]
        mask = torch.ones_like(ids) if mask is None else mask
        seen.extend(row[kept.bool()].tolist() for row, kept in zip(ids, mask, strict=True))

    hook = classifier.model.network.base_model.register_forward_pre_hook(look, with_kwargs=True)
    try:
        judged(classifier, [case], *(f"{metric}:preset={preset}" for metric in WITH_PRESETS))
    finally:
        hook.remove()
    assert len(seen) > 3
    for ids in seen:
        assert ids[-len(after) :] == after
        assert opening in (ids[marker : len(before)], ids[: len(opening)])


def test_special_presets_rank_all_but_the_prompt(classifier: Classifier) -> None:
    """Deleting everything that 'thesis' ranks leaves the prompt alone."""
    case = case_of(classifier, TEXT)
    value = value_of(classifier, case, "comprehensiveness:preset=dig_sig:k=100")
    ids = torch.from_numpy(case.encoding.ids[[said is not None for said in case.encoding.prompt]])[None]
    with torch.no_grad():
        bare = classifier.model.network.base_model(input_ids=ids).last_hidden_state[:, -1]
        left = classifier.model.network.score(bare)[0].double().softmax(dim=-1)[case.target]
    whole = torch.from_numpy(case.logits).softmax(dim=-1)[case.target]
    assert value == pytest.approx(float(whole - left), abs=1e-5)


def test_retokenising_reads_the_same_prompt(classifier: Classifier) -> None:
    """ferret decodes the remaining tokens and tokenises them again; a text without removals stays as it was."""
    case = case_of(classifier, TEXT)
    kept = case_of(classifier, TEXT, scores=np.ones((1, len(case.units.features))))
    assert value_of(classifier, kept, "sufficiency:preset=ferret:k=100") == pytest.approx(0, abs=1e-12)
    first = int(np.flatnonzero(case.encoding.content)[0])
    scores = np.zeros((1, len(case.units.features)))
    scores[0, first] = 1
    value = value_of(classifier, case_of(classifier, TEXT, scores=scores), "comprehensiveness:preset=ferret:k=10")
    rest = TEXT[int(case.encoding.offsets[first, 1]) :].strip()
    left = classifier.predict(classifier.encode(rest)).probabilities[classifier.labels[case.target]]
    whole = classifier.predict(case.encoding).probabilities[classifier.labels[case.target]]
    assert value == pytest.approx(whole - left, abs=1e-5)


def test_a_data_set_is_evaluated(classifier: Classifier) -> None:
    result = evaluate(classifier, "embedded:sentiment", ["occlusion"], ["comprehensiveness"], limit=2)
    assert {row.method for row in result.body.rows} == {"occlusion", "random", "reversed:occlusion"}
