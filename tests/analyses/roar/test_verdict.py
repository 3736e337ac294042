"""Retraining in words: the paper's verdicts, missing results first, leaks, and no order without evidence."""

from __future__ import annotations

from explainlab.analyses.roar.result import RoarData
from explainlab.analyses.roar.verdict import closing, lines, measure_sentences, missing, verdict, whole_areas
from tests.analyses.roar.bodies import MEASURES, roar_body


def with_values(body: RoarData, values: dict[str, tuple[float, float, float]]) -> RoarData:
    """Return ``body`` with these means and intervals of the faithfulness of measures, below random."""
    rows = []
    for row in body.faithfulness:
        mean, low, high = values[row.measure]
        rows.append(row.model_copy(update={"mean": mean, "low": low, "high": high, "verdict": "below random"}))
    return body.model_copy(update={"faithfulness": rows})


def test_a_sentence_a_measure_in_the_order_asked() -> None:
    body = roar_body()
    attention, gradient, integrated = measure_sentences(body)
    first = whole_areas(body)[0]
    assert attention == (
        "Attention, last layer is faithful to a degree by Recursive ROAR: "
        f"faithfulness {first.mean:.3f} ({first.low:.3f} to {first.high:.3f})."
    )
    assert gradient.startswith("Gradient (one-hot) is faithful to a degree")
    assert integrated.startswith("Integrated gradients is not shown to be faithful by Recursive ROAR")
    assert verdict(body).startswith(attention)
    assert [row.upto for row in whole_areas(body)] == [100, 100, 100]


def test_no_difference_by_plain_roar_is_inconclusive_and_worse_is_said() -> None:
    body = roar_body(recursive=(False,))
    attention, gradient, integrated = measure_sentences(body)
    assert attention.startswith("Attention, last layer is faithful to a degree by ROAR")
    assert gradient.startswith("Gradient (one-hot): inconclusive by ROAR")
    assert integrated.startswith("Integrated gradients is worse than random words by ROAR")
    assert "masking random words hurts more" in integrated


def test_both_kinds_are_told_apart() -> None:
    body = roar_body(recursive=(True, False))
    sentences = measure_sentences(body)
    assert len(sentences) == 6
    assert [" by Recursive ROAR: " in sentence for sentence in sentences] == [True] * 3 + [False] * 3


def test_measures_are_put_in_groups() -> None:
    names = list(MEASURES)[:3]
    near = dict(zip(names, ((0.5, 0.4, 0.6), (0.45, 0.35, 0.55), (0.1, 0.05, 0.15)), strict=True))
    (told,) = closing(with_values(roar_body(), near))
    first = "Attention, last layer"
    assert told.endswith(f"{first} and Gradient (one-hot) cannot be distinguished; Integrated gradients is worse.")
    far = {**near, names[0]: (0.8, 0.75, 0.85)}
    (told,) = closing(with_values(roar_body(), far))
    assert told.endswith(
        f"{first} is best with 0.800 (0.750 to 0.850); Gradient (one-hot) and Integrated gradients are worse."
    )


def test_what_is_missing_comes_first() -> None:
    body = roar_body(done=4)
    assert verdict(body).startswith(f"Unfinished: {body.unfinished} models of {len(body.nodes)} ")
    broken = roar_body(failed=True)
    assert [line.partition(" could")[0] for line in missing(broken)] == [f"6 models of {len(broken.nodes)}"]
    assert missing(roar_body()) == []


def test_one_seed_has_no_interval_and_no_order() -> None:
    body = roar_body(seeds=1)
    assert "No interval: fewer than three seeds" in verdict(body)
    first = whole_areas(body)[0]
    assert measure_sentences(body)[0] == f"Attention, last layer: faithfulness {first.mean:.3f} by Recursive ROAR."
    assert "ahead" not in verdict(body)


def test_leaks_are_named() -> None:
    assert "leakage" not in verdict(roar_body())
    told = verdict(roar_body(leaks=True, recursive=(True, False)))
    assert "leakage), as macro F1 rises with more masked: Gradient (one-hot) by Recursive ROAR from 50% to 60%" in told
    assert "and Gradient (one-hot) by ROAR from 50% to 60% (+0.120)." in told
    assert "from 5 tokens to 6 tokens" in verdict(roar_body(leaks=True, counted=True))


def test_the_tables_of_the_command_line() -> None:
    body = roar_body(recursive=(True, False), leaks=True, failed=True)
    told = "\n".join(lines(body))
    assert f"Whole texts: {body.performance.mean:.4f} [" in told
    for title in ("Macro F1 by what is masked", "Faithfulness", "Share of", "Leakage", "Content tokens", "Seconds"):
        assert f"\n{title}" in told
    assert "attention_last (ROAR)" in told
    assert "random (ROAR)" not in told
    (row,) = (line for line in lines(body) if line.lstrip().startswith("30%") and "[" in line)
    means = [point.mean for point in body.curves if point.ratio == 30]
    assert all(f"{mean:.4f}" in row for mean in means)
    assert lines(body)[-1].split(maxsplit=3) == [
        *("attention_last", "40%", "1"),
        "The loss of the training is not a number.",
    ]
    assert "Leakage" not in "\n".join(lines(roar_body()))
    assert "all tokens" in "\n".join(lines(roar_body(counted=True)))
    assert lines(roar_body(done=0))
