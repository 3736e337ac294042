"""Ground truth or agreement with people: the name of each table, withheld tables, and overlap against share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explainlab.analyses.errors.result import Accuracy
from explainlab.analyses.evaluation.figures import FIGURES, heat_table, overlap_by_share
from explainlab.analyses.evaluation.latex import latex
from explainlab.analyses.evaluation.result import meaning, shown, withheld
from explainlab.analyses.evaluation.table import kinds_of
from explainlab.analyses.evaluation.verdict import paragraphs
from explainlab.analyses.planted.result import PlantedData, failures
from explainlab.analyses.registry import get_study
from explainlab.metrics.registry import parse_metric
from tests.analyses.evaluation.conftest import HOSTILE

COMP, OVERLAP = (parse_metric(name).name for name in ("comprehensiveness", "ground_truth_overlap"))
MEANS = {
    COMP: {"gradient": 0.3, "lrp": 0.2, "random": 0.1},
    OVERLAP: {"gradient": 0.9, "lrp": 0.6, "random": 0.2},
}


def checks(accuracy: float, masked: float, **fields) -> PlantedData:
    """Return the answer of the checks on 1,000 rows, as it follows from two accuracies."""
    values = {
        "labels": ["a", HOSTILE],
        "n": 1_000,
        "planted": 1_000,
        "best_accuracy": 1.0,
        "accuracy": Accuracy(mean=accuracy, low=accuracy - 0.02, high=accuracy),
        "chance": 0.5,
        "masked": Accuracy(mean=masked, low=masked - 0.03, high=masked + 0.03),
        "unknown": [],
        "cut": 0,
        "known": True,
        "failed": [],
    }
    body = PlantedData(**{**values, **fields})
    failed = failures(body)
    return body.model_copy(update={"failed": failed, "known": not failed})


@pytest.fixture
def result(table, evaluated):
    """Return a function that makes a result of these means, on planted words or not."""

    def make(planted: PlantedData | None, means=MEANS):
        request = evaluated.request.model_copy(update={"parameters": {"metrics": [*means][::-1], "rows": 10}})
        return replace(evaluated, body=table(means).model_copy(update={"planted": planted}), request=request)

    return make


def said(result) -> str:
    study = get_study("evaluation")
    return "\n".join([study.report(result).headline, *study.report(result).lines])


def test_marks_of_people_are_agreement_and_words_that_decide_are_ground_truth(result) -> None:
    people, truth = result(None), result(checks(1.0, 0.5))
    for asked, kind, title in (
        (people, "plausibility", "Agreement with people, not faithfulness"),
        (truth, "ground_truth", "Ground truth by planted words"),
    ):
        assert shown(asked) is asked
        assert kinds_of(asked.body) == ["faithfulness", kind]
        chart = heat_table(asked.body, kind)
        assert chart.title.startswith(title)
        assert {row["kind"] for row in chart.rows} == {kind}
        for document in (latex(asked), chart.to_html(), said(asked), "\n".join(FIGURES.draw(asked).charts)):
            assert title in document or f"table-{kind}" in document
        assert meaning(asked.body, kind) in said(asked)
    assert "Ground truth" not in said(people).replace("Ground-truth overlap", "")
    assert ", agreement with people, " in " ".join(paragraphs(people.body))
    assert ", ground truth, " in " ".join(paragraphs(truth.body))
    assert "100.0% (at best 100.0%), and 50.0% with the words masked" in meaning(truth.body, "ground_truth")
    assert "planted-accuracies" in FIGURES.draw(truth).charts


@pytest.mark.parametrize(
    ("accuracy", "masked", "told"),
    [
        (0.95, 0.5, "95.0%, more than 2 points from the best possible, 100.0%"),
        (1.0, 0.6, "60.0%, more than 3 points from chance, 50.0%"),
    ],
)
def test_where_a_check_fails_nothing_of_the_truth_is_shown(result, accuracy: float, masked: float, told: str) -> None:
    asked = result(checks(accuracy, masked))
    seen = shown(asked)
    assert {row.asked for row in seen.body.rows} == {COMP}
    assert {row.asked for row in asked.body.rows} == {COMP, OVERLAP}, "the record keeps it"
    assert told in withheld(asked.body)
    assert told in said(asked)
    assert said(asked).startswith("By Comprehensiveness")
    pictures = FIGURES.draw(asked)
    tables = [chart.to_csv() for chart in pictures.charts.values()]
    assert "overlap" not in "".join([said(asked), *tables, *pictures.files.values()]).lower()


def test_without_another_metric_the_answer_is_why(result) -> None:
    asked = result(checks(0.6, 0.5), {OVERLAP: MEANS[OVERLAP]})
    assert said(asked).startswith("This model has no known mechanism")
    assert shown(asked).body.rows == []
    assert list(FIGURES.draw(asked).charts) == ["planted-accuracies"]


def test_a_failed_check_tells_what_may_be_the_reason(result) -> None:
    asked = result(checks(0.5, 0.5, unknown=[HOSTILE], cut=3))
    assert f"does not know “{HOSTILE}”" in withheld(asked.body)
    assert "In 3 rows the planted word was cut" in withheld(asked.body)


def test_the_overlap_is_drawn_against_the_share(table) -> None:
    weaker = {OVERLAP: {"gradient": 0.5, "lrp": None, "random": 0.2}}
    known = checks(1.0, 0.5)
    bodies = [table(means).model_copy(update={"planted": known}) for means in (MEANS, weaker)]
    chart = overlap_by_share([1.0, 0.25], bodies, OVERLAP)
    lines = {line.name: list(zip(line.x, line.y, strict=True)) for line in chart.figure.data}
    assert lines == {"Gradient": [(0.25, 0.5), (1.0, 0.9)], "Layer-wise relevance propagation": [(1.0, 0.6)],
                     "Random": [(0.25, 0.2), (1.0, 0.2)]}  # fmt: skip
    assert [row["share"] for row in chart.rows if row["method"] == "lrp"] == [0.25, 1.0]
    assert "3 methods at 25% and 100%" in chart.alt
