"""Verdicts on the value of choosing: every wording, forced by values that allow no other."""

from __future__ import annotations

from typing import Any

import pytest

from explainlab.analyses.candidates.result import (
    CandidateAttribution,
    CandidatesData,
    CandidatesText,
    HeldOut,
    MeanSelection,
    Selection,
    Summary,
    TextWinners,
)
from explainlab.analyses.candidates.verdict import data_verdict, text_verdict
from explainlab.analyses.records import Interval, MetricFacts
from tests.analyses.bodies import features

AOPC = "aopc_comprehensiveness"
COMPREHENSIVENESS, AT_50, LOG_ODDS, SUFFICIENCY = (
    "comprehensiveness",
    "comprehensiveness:k=50",
    "log_odds",
    "sufficiency",
)


def facts(key: str) -> MetricFacts:
    name = key.partition(":")[0]
    higher = name in (COMPREHENSIVENESS, AOPC)
    shared = {"preset": "", "asked": key, "definition": "-", "higher_is_better": higher}
    return MetricFacts(key=key, metric=name, label=name.capitalize(), **shared)


METRICS = [facts(key) for key in (COMPREHENSIVENESS, AT_50, LOG_ODDS, SUFFICIENCY, AOPC)]


def text(*reported: str, first: Selection) -> CandidatesText:
    """Return a result of eight candidates; the first metric ``reported`` has this selection."""
    candidate = CandidateAttribution(layer=1, draw=0, timestep=0, scores=[0.0], metrics={})
    prediction = {"index": 1, "label": "positive", "probabilities": {"negative": 0.1, "positive": 0.9}}
    return CandidatesText(
        prediction=prediction,
        target={"index": 1, "label": "positive"},
        features=features(["so"]),
        metrics=METRICS,
        candidates=[candidate] * 8,
        winners=dict.fromkeys(reported, 0),
        counted=dict.fromkeys(reported, 1),
        agreement=[],
        selection=dict.fromkeys(reported, first),
        by_draws={},
        by_layer={},
    )


def chosen(mean: float, best: float, **held_out: float) -> Selection:
    return Selection(first=mean, mean=mean, best=best, held_out=held_out)


RAISES = "Choosing among 8 raises Comprehensiveness from 0.09 to 0.19 on this text"


@pytest.mark.parametrize(
    ("log_odds", "said"),
    [
        (0.09, "chosen by another metric, nothing is left of it."),
        (0.12, "chosen by another metric, 30% of it is left."),
        (0.19, "chosen by another metric, all of it is left."),
        (0.05, "chosen by another metric, the map is worse than without a choice."),
    ],
)
def test_another_metric_leaves_a_part_of_the_gain(log_odds: float, said: str) -> None:
    # the same metric at another k is no other metric
    body = text(COMPREHENSIVENESS, AT_50, LOG_ODDS, first=chosen(0.09, 0.19, log_odds=log_odds))
    assert text_verdict(body) == f"{RAISES}; {said}"


def test_the_metric_reported_can_be_another_and_aopc_is_the_same_metric() -> None:
    body = text(LOG_ODDS, COMPREHENSIVENESS, AOPC, first=chosen(0.09, 0.19, log_odds=0.09, aopc_comprehensiveness=0.19))
    assert text_verdict(body, COMPREHENSIVENESS) == f"{RAISES}; chosen by another metric, nothing is left of it."
    assert " lowers Log_odds from 0.09 to −0.14 " in text_verdict(text(LOG_ODDS, first=chosen(0.09, -0.14)))


def test_several_metrics_count_on_average_and_lower_can_be_better() -> None:
    first = chosen(0.5, 0.3, comprehensiveness=0.5, log_odds=0.3)
    assert text_verdict(text(SUFFICIENCY, COMPREHENSIVENESS, LOG_ODDS, first=first)) == (
        "Choosing among 8 lowers Sufficiency from 0.50 to 0.30 on this text; chosen by 2 other metrics, 50% of it is "
        "left."
    )


def test_without_another_metric_or_a_difference_nothing_is_claimed() -> None:
    alone = text_verdict(text(COMPREHENSIVENESS, first=chosen(0.09, 0.19)))
    assert alone.startswith(f"{RAISES}; that is by the very metric")
    alike = text_verdict(text(COMPREHENSIVENESS, LOG_ODDS, first=chosen(0.1, 0.1, log_odds=0.1)))
    assert alike.startswith("Comprehensiveness cannot tell the 8 maps apart: it is 0.1000")
    small = text_verdict(text(COMPREHENSIVENESS, first=chosen(0.1001, 0.1002)))
    assert "from 0.1001 to 0.1002" in small


def data(*rows: Selection, reported: tuple[str, ...] = (COMPREHENSIVENESS, LOG_ODDS)) -> CandidatesData:
    def mean(values: list[float]) -> dict[str, Any]:
        return {"mean": sum(values) / len(values), "low": None, "high": None}

    held_out = HeldOut(**mean([0.0]), also_best=0.0)
    means = MeanSelection(
        first=Interval(**mean([row.first for row in rows])),
        mean=Interval(**mean([row.mean for row in rows])),
        best=Interval(**mean([row.best for row in rows])),
        held_out={key: held_out for key in reported[1:]},
    )
    return CandidatesData(
        texts=[
            TextWinners(
                row=i,
                text="",
                text_pair=None,
                label=None,
                counted={},
                winners={},
                selection=dict.fromkeys(reported, row),
            )
            for i, row in enumerate(rows)
        ],
        metrics=METRICS,
        summary=Summary(n=len(rows), counted={}, selection=dict.fromkeys(reported, means), agreement=[]),
        draws=[1, 8],
        by_draws={},
        by_layer={},
    )


OVER = "Choosing among 8 raises Comprehensiveness from 0.09 to 0.19 over 20 texts"


@pytest.mark.parametrize(
    ("log_odds", "said"),
    [
        ((0.12, 0.06), "nothing certain is left of it: "),
        ((0.14, 0.12), "some of it is left: +0.040 of +0.100 ("),
        ((0.06, 0.04), "the maps are worse than without a choice: −0.040 of +0.100 ("),
    ],
)
def test_of_a_data_set_only_what_its_interval_allows_is_said(log_odds: tuple[float, float], said: str) -> None:
    rows = [chosen(0.09, 0.19, log_odds=value) for value in log_odds for _ in range(10)]
    assert data_verdict(data(*rows)).startswith(f"{OVER}; chosen by another metric, {said}")


def test_a_data_set_without_an_interval_a_difference_or_another_metric() -> None:
    one = data_verdict(data(chosen(0.09, 0.19, log_odds=0.12)))
    assert one.endswith("over 1 text; chosen by another metric, 30% of it is left.")
    alike = data_verdict(data(*[chosen(0.1, 0.1, log_odds=0.1)] * 2))
    assert alike.startswith("Comprehensiveness cannot tell the maps of the 2 texts apart")
    alone = data_verdict(data(*[chosen(0.09, 0.19)] * 20, reported=(COMPREHENSIVENESS,)))
    assert alone.startswith(f"{OVER}; that is by the very metric")


def test_one_map_and_metrics_that_cannot_tell_choose_nothing() -> None:
    body = text(COMPREHENSIVENESS, LOG_ODDS, first=chosen(0.09, 0.19, log_odds=0.09))
    one = body.model_copy(update={"candidates": body.candidates[:1]})
    assert "only 1 map" in text_verdict(one)
    blind = body.model_copy(update={"selection": {**body.selection, LOG_ODDS: chosen(0.5, 0.5)}})
    assert "by the very metric" in text_verdict(blind)
    half = data_verdict(data(*[chosen(0.09, 0.19, log_odds=0.14)] * 10, chosen(0.1, 0.1, log_odds=0.1)))
    assert " In 1 of them it cannot tell" in half
