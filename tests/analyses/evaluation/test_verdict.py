"""The groups of methods without a clear difference, and the lead of a single best one over random."""

from __future__ import annotations

import pytest

from explainlab.analyses.evaluation.result import Difference, EvaluationData, EvaluationText, MethodMetric
from explainlab.analyses.evaluation.verdict import data_verdict, overview, paragraphs, shown_name, text_verdict
from explainlab.analyses.records import Passes
from explainlab.analyses.wording import joined
from explainlab.attribution.registry import label_of
from explainlab.metrics.registry import parse_metric
from tests.analyses.evaluation.conftest import with_test

METRIC = parse_metric("comprehensiveness")


def body(**rows: tuple[float, float | None, bool | None]) -> EvaluationData:
    """Return a result from each method's mean, its difference to the best, and True if that is beyond chance."""
    table = [
        MethodMetric(
            method=method,
            **METRIC.facts,
            mean=mean,
            low=mean - 0.1,
            high=mean + 0.1,
            n=9,
            counted=9,
            to_best=None if behind is None else Difference(mean=behind, low=behind - 0.1, high=behind + 0.1, p=0.5),
            told_apart=apart,
        )
        for method, (mean, behind, apart) in rows.items()
    ]
    return with_test(EvaluationData(n=9, rows=table, cost_by_method={}, texts=[]))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            {"lime": (0.9, None, None), "occlusion": (0.8, 0.1, False), "random": (0.5, 0.4, True)},
            "LIME and Occlusion cannot be distinguished; Random is worse than some of them only",
        ),
        (
            {"lime": (0.9, None, None), "random": (0.5, 0.4, True), "reversed:lime": (0.1, 0.8, False)},
            "LIME is best with 0.900 (0.800 to 1.000), 0.400 (0.300 to 0.500) better than random; Random is worse",
        ),
        (
            {"lime": (0.4, 0.1, False), "occlusion": (0.3, 0.2, False), "random": (0.5, None, None)},
            "LIME, Occlusion and Random cannot be distinguished",
        ),
        (
            {"lime": (0.4, 0.1, True), "occlusion": (0.3, 0.2, True), "random": (0.5, None, None)},
            "no method is better than a random one (0.500 (0.400 to 0.600)); LIME and Occlusion are worse",
        ),
        ({"random": (0.5, None, None)}, "Random stands alone"),
        (
            {"lime": (0.9, None, None), "random": (0.8, 0.1, False)},
            "LIME and Random cannot be distinguished",
        ),
    ],
)
def test_the_sentence(rows: dict, said: str) -> None:
    assert data_verdict(body(**rows), METRIC) == said


@pytest.mark.parametrize(("other", "label"), [("lime", "LIME"), ("rpi:select_by=log_odds", "{}, select by log_odds")])
def test_a_method_that_picks_its_map_by_the_metric_is_named(other: str, label: str) -> None:
    said = data_verdict(
        body(
            **{"rpi": (0.9, None, None), other: (0.8, 0.1, True), "gae": (0.7, 0.2, True), "random": (0.5, 0.4, True)}
        ),
        METRIC,
    )
    rpi = "Randomized path-integration"
    assert said.startswith(f"{rpi} is best with 0.900")
    others = joined([label.format(rpi), label_of("gae"), "Random"])
    assert said.endswith(
        f"; {rpi} picks its map by this very metric, and of the others {others} cannot be distinguished"
    )


def test_who_is_first_without_being_chosen_by_the_metric_is_told_once() -> None:
    said = data_verdict(body(lime=(0.9, None, None), rpi=(0.8, 0.1, True), random=(0.5, 0.4, True)), METRIC)
    rpi = "Randomized path-integration"
    assert said.endswith(f"; {rpi} and Random are worse; {rpi} picks its map by this very metric")


def test_the_average_ranks_may_contradict_the_means() -> None:
    """One text alone may decide a mean: then the test does not separate the two, whatever the p of their ranks."""
    made = body(lime=(0.9, None, None), random=(0.5, 0.4, True))
    assert data_verdict(made, METRIC).startswith("LIME is best")
    ranks = [rank.model_copy(update={"rank": 3 - (rank.rank or 0)}) for rank in made.ranks]
    assert data_verdict(made.model_copy(update={"ranks": ranks}), METRIC) == "LIME and Random cannot be distinguished"


def test_the_sentence_of_a_text_leaves_out_controls_and_what_is_undefined() -> None:
    values = {"lime": 0.4, "occlusion": None, "random": 0.3, "reversed:lime": 0.9}
    whole = {name: {METRIC.name: value} for name, value in values.items()}
    assert text_verdict(EvaluationText.model_construct(values=whole), METRIC) == "LIME is ahead with 0.400"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("lime", "LIME"),
        ("reversed:lime:samples=20", "LIME, 20 samples, reversed"),
        ("<b>file</b>", "<b>file</b>"),
        ("reversed:file", "file, reversed"),
    ],
)
def test_names_are_labels_with_their_options(name: str, label: str) -> None:
    assert shown_name(name) == label


def several(**best: str) -> EvaluationData:
    """Return a result by several metrics, each with its best method; a text costs LIME 9 passes and Occlusion 2."""
    rows = []
    for metric, first in best.items():
        facts = parse_metric(metric).facts
        for method in ("lime", "occlusion", "random"):
            mean = (0.9 if method == first else 0.5) * (1 if facts["higher_is_better"] else -1)
            apart = None if method == first else True
            means = {"mean": mean, "low": mean, "high": mean, "told_apart": apart}
            rows.append(MethodMetric(method=method, **facts, **means, n=4, counted=4))
    costs = {"lime": Passes[int](forward=36, backward=0), "occlusion": Passes[int](forward=4, backward=4)}
    return with_test(EvaluationData(n=4, rows=rows, cost_by_method=costs, texts=[]))


@pytest.mark.parametrize(
    ("best", "said"),
    [
        (
            {"comprehensiveness": "lime", "sufficiency": "occlusion", "log_odds": "lime"},
            "Over 4 texts, by Comprehensiveness (RPI) and Log-odds (RPI), LIME is best; Occlusion and Random are "
            "worse. By Sufficiency (RPI), Occlusion is best; LIME and Random are worse.",
        ),
        (
            {"comprehensiveness": "lime", "sufficiency": "lime", "log_odds": "lime"},
            "Over 4 texts, by all 3 metrics, LIME is best; Occlusion and Random are worse.",
        ),
        (
            {"comprehensiveness": "random", "sufficiency": "lime"},
            "Over 4 texts, by Comprehensiveness (RPI), no method is better than a random one; LIME and Occlusion are "
            "worse. By Sufficiency (RPI), LIME is best; Occlusion and Random are worse.",
        ),
    ],
)
def test_the_overview_joins_the_metrics_that_say_the_same(best: dict, said: str) -> None:
    assert overview(several(**best)) == said


def test_there_is_a_sentence_for_each_metric_and_one_for_the_cost() -> None:
    body = several(comprehensiveness="lime", auprc="occlusion")
    first, second, failed, cost = paragraphs(body.model_copy(update={"failed": {"lime": 2}}))
    assert failed.startswith("LIME scored nothing in 2 texts")
    assert first == f"By Comprehensiveness (RPI), {data_verdict(body, METRIC)}."
    assert second.startswith("By ")
    assert cost == "Passes that a text takes: Occlusion 2; LIME 9."
