"""Half precision in words: a verdict claims no more than the numbers hold."""

from __future__ import annotations

from typing import Any

import pytest

from explainlab.analyses.precision.result import (
    Control,
    FormatFacts,
    MethodFacts,
    PrecisionData,
    PrecisionRow,
    Read,
    ReadText,
)
from explainlab.analyses.precision.verdict import verdict
from explainlab.analyses.records import Interval

NONE = Interval(mean=None, low=None, high=None)


def mean(value: float, around: float = 0.0) -> Interval:
    return Interval(mean=value, low=value - around if around else None, high=value + around if around else None)


def row(method: str, rho: float | None, top: float | None = 1.0, **others: Any) -> PrecisionRow:
    usual = {"logits": mean(0.01, 0.005), "predictions_changed": 0, "undefined": 0, "short": 0, "broken": 0, "n": 50}
    kept = {
        "rank_correlation": NONE if rho is None else mean(rho, 0.001),
        "top_5": NONE if top is None else mean(top),
    }
    return PrecisionRow(dtype="bfloat16", method=method, **{**usual, **kept, **others})


def said(*rows: PrecisionRow, rounded: bool = True, finite: int = 50, **others: Any) -> str:
    methods = [
        MethodFacts(method=own.method, id=own.method, label=own.method.upper(), signed=True, draws=False)
        for own in rows
    ]
    texts = [
        ReadText(
            row=i,
            text="a film",
            label=None,
            predicted="positive",
            margin=1,
            features=2,
            read=[Read(dtype="bfloat16", logits=0.01 if i <= finite else None, predicted=None)],
            maps=[],
            controls=[],
        )
        for i in range(1, 51)
    ]
    facts = {"left_out": [], "controls": [], **others}
    formats = [FormatFacts(dtype="bfloat16", rounded=rounded)]
    return verdict(PrecisionData(n=50, formats=formats, methods=methods, rows=list(rows), texts=texts, **facts))


@pytest.mark.parametrize(
    ("rhos", "answer"),
    [
        ((0.995, 0.9999), "hardly changes the explanations, over 50 texts: rank correlation with float32 at least"),
        ((0.95, 0.9999), "changes the explanations a little, over 50 texts: rank correlation with float32 0.950 (0.9"),
        ((0.7, 0.9999), "changes the explanations by A much, over 50 texts: rank correlation with float32 0.700"),
        ((0.7, 0.8), "changes the explanations much, over 50 texts: rank correlation with float32 0.700"),
    ],
)
def test_the_method_that_is_kept_the_least_decides(rhos: tuple[float, float], answer: str) -> None:
    assert said(row("a", rhos[0]), row("b", rhos[1])).startswith(f"bfloat16 {answer}")


def test_what_is_rounded_is_never_more_than_it_is() -> None:
    told = said(row("a", 0.95), row("b", 0.99999))
    assert "0.950 (0.949 to 0.951) for A, at least 0.999 for the others; the five highest scores stay;" in told
    assert "at least 0.999 for every method" in said(row("a", 0.99999), row("b", 0.99999))
    assert "of the five highest scores over 99% stay" in said(row("a", 0.95, 0.999), row("b", 1.0))


def test_changed_predictions_and_missing_ones_are_told() -> None:
    assert "no prediction changes, and logits move by 0.01 (0.005 to 0.015)." in said(row("a", 1.0))
    assert "1 of 50 predictions changes" in said(row("a", 1.0, predictions_changed=1))
    some = said(row("a", 1.0, predictions_changed=2, n=43, broken=7), finite=45)
    assert "2 of 45 predictions change, " in some
    assert "For 5 of 50 texts its logits" in some
    assert "For up to 2 texts a method gives no map" in some
    none = said(row("a", None, None, logits=NONE, n=0, broken=50), finite=0)
    assert none.startswith("bfloat16 cannot be used, over 50 texts")


def test_maps_without_an_order_and_files_in_half_precision_are_told() -> None:
    told = said(row("a", None, None, undefined=50), rounded=False)
    assert "leaves no explanation to compare, over 50 texts" in told
    assert "no more digits than bfloat16" in told


def test_the_controls_say_what_numbers_mean() -> None:
    def control(against: Any, method: str, rho: float, top: float) -> Control:
        return Control(against=against, method=method, rank_correlation=mean(rho), top_5=mean(top), n=50)

    controls = [
        control("seed", "a", 0.6, 0.7),
        control("random", "a", 0.002, 0.2),
        control("random", "b", -0.001, 0.25),
    ]
    told = said(row("a", 0.95), row("b", 0.99), controls=controls)
    assert told.endswith(
        "For comparison, the rank correlation of another seed in float32 is 0.600 for A, and of random maps is 0.00, "
        "with 25% of the five highest scores."
    )
    only = said(row("b", 0.99), controls=controls[2:])
    assert only.endswith("the rank correlation of random maps is 0.00, with 25% of the five highest scores.")
