"""The judge: every preset against a slow loop, nothing run twice, and what stands behind a number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch

from explainlab.errors import Cancelled, RequestError, UnsupportedError
from explainlab.limits import Limits
from explainlab.metrics.evaluate import evaluate
from explainlab.metrics.presets import PRESETS
from explainlab.metrics.registry import metric_ids, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import Receivers, RunContext
from explainlab.text.encoding import Encoding
from explainlab.text.units import group
from tests.conftest import Zoo, loaded
from tests.metrics.conftest import PAIR, PERTURBING, TEXT, WITH_PRESETS, case_of, judged, logits_of, value_of
from tests.metrics.slow import slow
from tests.tiers import first

ALL = [f"{metric}:preset={preset}" for preset in PRESETS for metric in WITH_PRESETS]
NEWS = "Oil prices rose on Monday as the team won the final game of the season."


@contextmanager
def runs(classifier: Classifier) -> Iterator[list[tuple[int, ...]]]:
    """The real token ids of every sequence that the model reads, whatever batch it is in."""
    seen: list[tuple[int, ...]] = []

    def see(_, __, options: dict) -> None:
        ids, attention = options["input_ids"], options["attention_mask"]
        attention = torch.ones_like(ids) if attention is None else attention
        seen.extend(tuple(row[mask.bool()].tolist()) for row, mask in zip(ids, attention, strict=True))

    body = classifier.model.network.base_model if classifier.architecture.causal else classifier.model.network
    hook = body.register_forward_pre_hook(see, with_kwargs=True)
    try:
        yield seen
    finally:
        hook.remove()


# Values --------------------------------------------------------------------------------------------------------------


IN_A_LOOP = [
    ("bert", TEXT, None, "token"),
    ("bert", TEXT, PAIR, "word"),
    ("roberta", TEXT, PAIR, "token"),
    ("gpt2", TEXT, None, "word"),
    ("llama", "A good film.", None, "token"),
    ("modernbert-mean", TEXT, None, "sentence"),
    ("embedded:bert-mini-sst2", TEXT, PAIR, "token"),
    ("embedded:gpt2-mini-ag-news", NEWS, None, "token"),
]


@pytest.fixture(
    scope="module",
    params=first((IN_A_LOOP[1], IN_A_LOOP[3]), IN_A_LOOP, "a slow loop for each of six presets"),
    ids=lambda p: f"{p[0]}-{p[3]}",
)
def subject(request: pytest.FixtureRequest, zoo: Zoo) -> tuple:
    """A classifier, and a text with attributions: three for tiny models, two for real ones."""
    name, text, pair, unit = request.param
    classifier = loaded(name) if ":" in name else zoo(name)
    return classifier, case_of(classifier, text, pair, unit, maps=2 if ":" in name else 3)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_that_of_a_slow_loop(subject: tuple, preset: str) -> None:
    classifier, case = subject
    (found,) = judged(classifier, [case], *(f"{metric}:preset={preset}" for metric in WITH_PRESETS))
    for row, scores in zip(found, case.scores.tolist(), strict=True):
        for metric, metric_result in zip(WITH_PRESETS, row, strict=True):
            expected = slow(metric, preset, classifier, case.encoding, case.units, case.target, scores)
            assert metric_result.value == pytest.approx(expected, abs=2e-6), metric


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("removal", ["delete", "mask"])
def test_what_is_given_overrides_the_preset(encoder: Classifier, preset: str, removal: str) -> None:
    case = case_of(encoder, pair=PAIR, maps=1)
    for metric in ("sufficiency", "comprehensiveness"):
        found = value_of(encoder, case, f"{metric}:preset={preset}:k=35:removal={removal}")
        units, scores = case.units, case.scores[0].tolist()
        assert found == pytest.approx(
            slow(metric, preset, encoder, case.encoding, units, case.target, scores, 35, removal), abs=2e-6
        )


def test_the_divisor_of_the_code(encoder: Classifier) -> None:
    case = case_of(encoder, maps=1)
    for metric in ("aopc_sufficiency", "aopc_comprehensiveness"):
        plain, code = (value_of(encoder, case, name) for name in (metric, f"{metric}:divisor=bins_plus_one"))
        assert plain != 0
        assert code == pytest.approx(plain * 5 / 6)


def test_the_target_stays_that_of_the_text(encoder: Classifier) -> None:
    case = case_of(encoder, maps=1)
    for target in range(len(encoder.labels)):
        asked = type(case)(case.encoding, case.units, case.logits, target, case.scores)
        (((metric_result,),),) = judged(encoder, [asked], "comprehensiveness:k=60")
        scores = case.scores[0].tolist()
        expected = slow("comprehensiveness", "rpi", encoder, case.encoding, case.units, target, scores, 60)
        assert metric_result.value == pytest.approx(expected, abs=2e-6)


def refused(name: str) -> bool:
    return name.endswith(("dig_sig", "thesis"))


def test_padding_changes_nothing(encoder: Classifier) -> None:
    plain, padded = case_of(encoder), case_of(encoder, padded=5)
    assert len(padded.encoding) == len(plain.encoding) + 5
    expected, values = ([result.value for result in judged(encoder, [case], *ALL)[0][1]] for case in (plain, padded))
    assert values == expected


def test_a_sequence_of_nothing_is_read_as_the_filler(decoder: Classifier) -> None:
    case = case_of(decoder)
    (((metric_result,), *_),) = judged(decoder, [case], "comprehensiveness:k=100")
    filler = decoder.tokenizer.decode([decoder.filler_id("mask")])
    assert [step.text for step in metric_result.steps] == [filler]


# Nothing twice -------------------------------------------------------------------------------------------------------


def test_every_distinct_input_is_run_once_and_the_text_never(encoder: Classifier) -> None:
    case = case_of(encoder, maps=4)
    with runs(encoder) as seen:
        (found,) = judged(encoder, [case], *ALL)
    assert len(seen) == len(set(seen)) > 20
    assert tuple(case.encoding.ids.tolist()) not in seen
    alone = 0
    for candidate in range(4):
        for name in ALL:
            one = type(case)(
                case.encoding, case.units, case.logits, case.target, case.scores[candidate : candidate + 1]
            )
            with runs(encoder) as again:
                assert value_of(encoder, one, name) == pytest.approx(found[candidate][ALL.index(name)].value, abs=2e-6)
            assert set(again) <= set(seen)
            alone += len(again)
    assert alone > 2 * len(seen)


def test_equal_words_make_equal_texts(encoder: Classifier) -> None:
    encoding = encoder.encode("good good good good")
    case = case_of(encoder, "good good good good", scores=np.eye(len(encoding))[encoding.content])
    with runs(encoder) as seen:
        judged(encoder, [case], "comprehensiveness:k=50")
    assert len(seen) == 1


def test_two_cases_of_one_text_share(encoder: Classifier) -> None:
    case = case_of(encoder)
    with runs(encoder) as once:
        judged(encoder, [case], "comprehensiveness", "log_odds")
    with runs(encoder) as twice:
        judged(encoder, [case, case], "comprehensiveness", "log_odds", "comprehensiveness:k=20")
    assert sorted(twice) == sorted(once)


def test_batches_hold_texts_of_like_length(encoder: Classifier) -> None:
    narrow = replace(encoder, limits=Limits(batch_tokens=60))
    shapes: list[torch.Size] = []
    hook = encoder.model.network.register_forward_pre_hook(
        lambda _, __, options: shapes.append(options["input_ids"].shape), with_kwargs=True
    )
    (found,) = judged(narrow, [case_of(narrow, maps=8)], *PERTURBING)
    hook.remove()
    assert all(rows * length <= 60 for rows, length in shapes)
    (expected,) = judged(encoder, [case_of(encoder, maps=8)], *PERTURBING)
    for row, other in zip(found, expected, strict=True):
        assert [j.value for j in row] == pytest.approx([j.value for j in other], abs=2e-6)


def test_progress_is_told_and_a_cancel_felt(encoder: Classifier) -> None:
    told: list[tuple[int, int]] = []

    def check() -> None:
        if told and told[-1][0] > 10:
            raise Cancelled

    progress = Receivers(report=lambda done, total, _: told.append((done, total)))
    context = RunContext(progress=progress, check_cancelled=check)
    with pytest.raises(Cancelled):
        evaluate([case_of(encoder, maps=20)], [parse_metric(name) for name in PERTURBING], Batcher(encoder, context))
    done, total = told[-1]
    assert 10 < done < total


# Comparisons with a rationale --------------------------------------------------------------------------------------


def marked(classifier: Classifier, *places: int) -> np.ndarray:
    """The features of ``TEXT`` at these places."""
    units = group(classifier.encode(TEXT), "token")
    return np.isin(np.arange(len(units.features)), places)


def test_both_kinds_are_evaluated_together_and_a_comparison_runs_no_text(encoder: Classifier) -> None:
    names = ["auprc", "comprehensiveness", "mean_rank", "activation_auc"]
    case = case_of(encoder, rationale=marked(encoder, 3, 4))
    with runs(encoder) as alone:
        expected = judged(encoder, [case], "comprehensiveness", "activation_auc")[0]
    with runs(encoder) as seen:
        (found,) = judged(encoder, [case], *names)
    assert sorted(seen) == sorted(alone)
    for row, (removed, revealed) in zip(found, expected, strict=True):
        assert [row[1].value, row[3].value] == [removed.value, revealed.value]
        assert [row[1].steps, row[3].steps] == [removed.steps, revealed.steps]
        assert (row[0].counted, row[2].counted, row[0].steps) == (2, 2, ())
        assert row[2].value >= 2
    with runs(encoder) as none:
        judged(encoder, [case, case], *metric_ids("Rationale"))
    assert not none


@pytest.mark.parametrize("reason", ["missing", "empty", "cut"])
def test_a_text_without_a_rationale_has_no_value_and_the_reason(encoder: Classifier, reason: str) -> None:
    cases = [case_of(encoder, rationale=reason), case_of(encoder, rationale=marked(encoder, 3))]
    found, other = judged(encoder, cases, "token_f1", "comprehensiveness")
    for row in found:
        assert np.isnan(row[0].value)
        assert (row[0].undefined, row[0].counted, row[1].undefined) == (reason, 0, None)
        assert np.isfinite(row[1].value)
    assert all(row[0].undefined is None and np.isfinite(row[0].value) for row in other)


# What stands behind a number -----------------------------------------------------------------------------------------


def test_the_steps_of_a_number(encoder: Classifier) -> None:
    text = "a good film, a great story and wonderful acting"
    encoding = encoder.encode(text)
    scores = np.arange(len(encoding), 0, -1, dtype=float)[None]
    case = case_of(encoder, text, scores=scores)
    ((found,),) = judged(encoder, [case], "comprehensiveness:k=20", "log_odds:k=20", "aopc_comprehensiveness:bins=0+20")
    count = (len(encoding) - 2) * 20 // 100
    assert [metric_result.counted for metric_result in found] == [count, count, count]
    (deleted,), (masked,), (whole, again) = (metric_result.steps for metric_result in found)
    assert deleted == again
    assert deleted.removed == masked.removed == tuple(range(1, 1 + count))
    assert (deleted.level, whole.level, whole.removed) == (20, 0, ())
    kept = encoding.ids.tolist()[:1] + encoding.ids.tolist()[1 + count :]
    assert deleted.text == encoder.tokenizer.decode(kept)
    assert masked.text.count("[MASK]") == count
    original = torch.tensor(case.logits).softmax(dim=0)[case.target].item()
    assert found[0].value == pytest.approx(original - deleted.probability)
    assert found[1].value == pytest.approx(np.log(masked.probability) - np.log(original))
    assert whole.probability == pytest.approx(original)


def test_a_pair_stays_a_pair(encoder: Classifier) -> None:
    case = case_of(encoder, TEXT, PAIR, maps=1)
    for preset in ("rpi", "ferret", "eraser", "alti"):
        with runs(encoder) as seen:
            judged(encoder, [case], f"aopc_sufficiency:preset={preset}", f"aopc_comprehensiveness:preset={preset}")
        assert seen
        assert {ids.count(encoder.tokenizer.sep_token_id) for ids in seen} == {2}
        assert {ids[0] for ids in seen} == {encoder.tokenizer.cls_token_id}


def test_words_go_as_a_whole(decoder: Classifier) -> None:
    case = case_of(decoder, unit="word", maps=1)
    (((metric_result,),),) = judged(decoder, [case], "comprehensiveness:k=40")
    (step,) = metric_result.steps
    kept = [f for i, f in enumerate(case.units.features) if i not in step.removed]
    assert step.text == decoder.tokenizer.decode([i for feature in kept for i in feature.ids])
    assert metric_result.counted == len(step.removed) == len(case.units.content) * 40 // 100


def test_a_text_too_short_for_k_is_flagged(encoder: Classifier) -> None:
    case = case_of(encoder, "good film")
    names = ["sufficiency", "comprehensiveness", "log_odds", "aopc_sufficiency:bins=1+5", "sufficiency:preset=ferret"]
    with runs(encoder) as seen:
        (found,) = judged(encoder, [case], *names)
    assert {(j.value, j.counted) for row in found for j in row} == {(0.0, 0)}
    assert not seen
    assert judged(encoder, [case], "sufficiency:preset=alti")[0][0][0].counted == 1
    assert value_of(encoder, case, "sufficiency:preset=eraser") != 0


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_a_model_read_at_its_end_token_keeps_it(zoo: Zoo, preset: str) -> None:
    t5 = zoo("t5")
    names = [f"{metric}:preset={preset}" for metric in WITH_PRESETS]
    case = case_of(t5)
    if not refused(preset):
        assert np.isfinite([j.value for row in judged(t5, [case], *names)[0] for j in row]).all()
        return
    with runs(t5) as seen, pytest.raises(UnsupportedError, match=r"remove the token .* T5"):
        judged(t5, [case], *names)
    assert not seen


def test_end_tokens_written_in_the_text_may_go(zoo: Zoo) -> None:
    t5 = zoo("t5")
    case = case_of(t5, "a good film</s> and a great story", maps=6)
    assert (case.encoding.ids == t5.model.network.config.eos_token_id).sum() == 2
    (found,) = judged(t5, [case], "comprehensiveness:k=60")
    for (metric_result,), scores in zip(found, case.scores.tolist(), strict=True):
        expected = slow("comprehensiveness", "rpi", t5, case.encoding, case.units, case.target, scores, 60)
        assert metric_result.value == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("shape", [(3,), (1, 2), (0, 0)])
def test_scores_of_another_text_are_refused(encoder: Classifier, shape: tuple[int, ...]) -> None:
    with pytest.raises(RequestError, match="do not fit a text of"):
        case_of(encoder, scores=np.zeros(shape))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_are_refused(encoder: Classifier, wrong: float) -> None:
    scores = case_of(encoder).scores
    scores[1, 2] = wrong
    with pytest.raises(RequestError, match="not finite"):
        case_of(encoder, scores=scores)


def test_nothing_to_judge(encoder: Classifier) -> None:
    case = case_of(encoder, maps=1)
    empty = type(case)(case.encoding, case.units, case.logits, case.target, case.scores[:0])
    assert judged(encoder, [], "sufficiency") == []
    assert judged(encoder, [empty], "sufficiency") == [[]]
    assert judged(encoder, [case]) == [[[]]]


def test_logits_of_the_text_are_those_given(encoder: Classifier) -> None:
    encoding: Encoding = encoder.encode(TEXT)
    case = case_of(encoder, maps=1)
    assert np.array_equal(case.logits, logits_of(encoder, encoding))
    shifted = type(case)(case.encoding, case.units, case.logits * 0, case.target, case.scores)
    found, plain = (value_of(encoder, asked, "comprehensiveness") for asked in (shifted, case))
    original = torch.tensor(case.logits).softmax(dim=0)[case.target].item()
    assert found - plain == pytest.approx(1 / len(encoder.labels) - original)
