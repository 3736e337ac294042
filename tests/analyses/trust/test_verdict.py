"""Trust in an attribution, in words: every wording, forced by a comparison that allows no other."""

from __future__ import annotations

import math
from typing import Any

import pytest

from explainlab.analyses.records import Interval, PerturbedText
from explainlab.analyses.trust.result import Comparison, MeanComparison, Summary, TrustData, TrustText
from explainlab.analyses.trust.verdict import TOO_SHORT, level, mean_verdict, verdict
from tests.analyses.bodies import features

WORDS = ["The", "ending", "is", "so", "beautiful", "that", "I", "forgave", "everything", "."]


def metric(name: str, beaten: float, after: float = 0.03, counted: int = 3, **fields: Any) -> Comparison:
    facts = {"key": name, "metric": name, "preset": "", "asked": name, "label": name.capitalize(), "definition": "-"}
    spread: dict[str, Any] = {"value": 0.4, "median": 0.2, "low": 0.1, "high": 0.3}
    step = PerturbedText(level=20, removed=["so"] * counted, text="", probability=after)
    better = name == "comprehensiveness"
    return Comparison(
        **{
            **facts,
            **spread,
            "higher_is_better": better,
            "counted": counted,
            "beaten": beaten,
            "steps": [step],
            **fields,
        }
    )


def trust(without: float, alone: float, **fields: Any) -> TrustText:
    return TrustText(
        prediction={"index": 1, "label": "positive", "probabilities": {"negative": 0.27, "positive": 0.73}},
        target={"index": 1, "label": "positive"},
        features=features(WORDS),
        method="occlusion",
        scores=[0.0] * (len(WORDS) + 2),
        random_maps=100,
        metrics=[metric("comprehensiveness", without, **fields), metric("sufficiency", alone, **fields)],
    )


@pytest.mark.parametrize(
    ("without", "alone", "said"),
    [
        (0.99, 1.0, "only 1 of 100 random maps does as well: this map can be trusted."),
        (1.0, 0.95, "none of 100 random maps does as well: this map can be trusted."),
        (0.955, 0.95, "only 5 of 100 random maps do as well: this map can be trusted."),
        (0.99, 0.885, "this map can be trusted, though these words alone beat only 88 of 100."),
        (0.9, 0.8, "10 of 100 random maps do as well: this map is better than chance, but not far beyond it."),
        (0.75, 0.99, "25 of 100 random maps do as well: this map is better than chance, but not far beyond it."),
        (0.99, 0.5, "this map finds some of what matters, but kept alone it does not carry the prediction."),
        (0.5, 0.99, "what this map puts first is enough alone, but the model can do without it."),
        (0.7, 0.02, "30 of 100 random maps do as well: this map is no better than a random one."),
        (0.0, 0.02, "100 of 100 random maps do as well: this map is worse than a random one."),
    ],
)
def test_every_comparison_has_its_words(without: float, alone: float, said: str) -> None:
    sentence = verdict(trust(without, alone), "word")
    assert sentence.startswith("Without its top 3 words it falls to 3%; ")
    assert sentence.endswith(said)


@pytest.mark.parametrize(("after", "change"), [(0.03, "falls to 3%"), (0.9, "rises to 90%"), (0.7301, "stays at 73%")])
def test_the_change_is_told_as_it_is(after: float, change: str) -> None:
    said = verdict(trust(0.99, 0.99, after=after, counted=1), "token", "“positive”", "this map (Occlusion)")
    assert said.startswith(f"Without its top token “positive” {change}; ")
    assert said.endswith(": this map (Occlusion) can be trusted.")


def test_a_text_too_short_and_maps_that_are_all_alike_tell_nothing() -> None:
    short = trust(0.5, 0.5, counted=0, value=0, low=0, median=0, high=0)
    assert verdict(short, "word") == TOO_SHORT
    alike = trust(0.5, 0.5, value=0.2, low=0.2, median=0.2, high=0.2)
    assert "as it does by any random map" in verdict(alike, "word")
    assert math.isnan(level(short))
    assert math.isnan(level(alike))
    assert level(trust(0.9, 0.6)) == 0.6


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ((0.8, 0.7, 0.9), (0.9, 0.8, 1.0), "80% (70% to 90%) by A and 90% (80% to 100%) by B .*: better than chance."),
        ((0.8, 0.7, 0.9), (0.6, 0.4, 0.8), "better than chance by A only."),
        ((0.6, 0.4, 0.8), (0.6, 0.4, 0.8), "not better than chance."),
        ((0.8, None, None), (0.6, None, None), "of the random maps do worse than this method's."),
    ],
)
def test_a_data_set_is_better_than_chance_only_beyond_its_interval(first: Any, second: Any, said: str) -> None:
    means = [
        MeanComparison(
            **metric(name, 0.5).model_dump(include={"metric", "preset", "asked", "definition", "higher_is_better"}),
            label=label,
            beaten=Interval(mean=beaten[0], low=beaten[1], high=beaten[2]),
            value=Interval(mean=0.4, low=None, high=None),
            counted=2,
        )
        for name, label, beaten in (("comprehensiveness", "A", first), ("sufficiency", "B", second))
    ]
    sentence = mean_verdict(TrustData(summary=Summary(n=2, metrics=means), texts=[]))
    assert sentence.startswith("Over 2 texts, ")
    start, _, end = said.partition(".*")
    assert start in sentence
    assert sentence.endswith(end or start)
