"""The judgement of retraining on each measure, in words: faithful to a degree, not shown to be, or worse than random.

The rule is that of the paper, over the whole area. Words with the same meaning may stand in for masked ones: so by ROAR
no difference to random words proves nothing, while Recursive ROAR asks the measure for these words as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explainlab.analyses.records import Interval
from explainlab.analyses.roar.judging import known_seeds
from explainlab.analyses.roar.result import Estimated, Faithfulness, RoarData
from explainlab.analyses.significance import groups_of_intervals
from explainlab.analyses.summary import spelled, table
from explainlab.analyses.wording import capital, counted, joined, mean_words

METRICS = {"macro_f1": "macro F1", "micro_f1": "micro F1", "accuracy": "accuracy"}
_FEWEST = 3
"""Seeds that an interval needs."""


def verdict(body: RoarData) -> str:
    """Return the answer: the gaps first, then a sentence for each measure, and the measures told apart."""
    return " ".join([*missing(body), *measure_sentences(body), *closing(body)])


def overview(body: RoarData) -> str:
    """Say in a line for each kind which measures are faithful to a degree, and which are not."""
    told = [_overview(body, kind) for kind in body.recursive]
    return " ".join([*missing(body), *filter(None, told)]) or "Nothing is known yet."


def missing(body: RoarData) -> list[str]:
    """Say which models are missing, not made yet or impossible to make; nothing if all exist."""
    told = []
    if body.unfinished:
        told.append(f"Unfinished: {counted(body.unfinished, 'model')} of {len(body.nodes):,} still to be made.")
    if body.failed:
        told.append(
            f"{counted(body.failed, 'model')} of {len(body.nodes):,} could not be made, so numbers are missing."
        )
    return told


def measure_sentences(body: RoarData) -> list[str]:
    """Return a sentence for each measure, in the order of the request, by Recursive ROAR and by ROAR."""
    return [_sentence(body, row) for row in whole_areas(body)]


def closing(body: RoarData) -> list[str]:
    """Return the end of the answer: the measures told apart, masks that tell the class, and seeds that are too few."""
    told = [_told_apart(body, kind) for kind in body.recursive]
    told.append(_leaks(body))
    if len(body.seeds) < _FEWEST:
        told.append("No interval: fewer than three seeds cannot tell a measure apart from random words.")
    return [words for words in told if words]


def whole_areas(body: RoarData) -> list[Faithfulness]:
    """Return the faithfulness over all ratios: one row a measure and kind, Recursive ROAR first."""
    last = max((row.upto for row in body.faithfulness), default=0)
    rows = {(row.measure, row.recursive): row for row in body.faithfulness if row.upto == last}
    asked = [(measure.name, kind) for kind in body.recursive for measure in body.measures if not measure.random]
    return [rows[key] for key in asked if key in rows]


def labels_of(body: RoarData) -> dict[str, str]:
    """Return the labels of the measures by their names."""
    return {measure.name: measure.label for measure in body.measures}


def series_name(body: RoarData, measure: str, recursive: bool) -> str:
    """Return the label of a measure, with the kind where there are two."""
    label = labels_of(body)[measure]
    return f"{label}, {kind_name(recursive)}" if len(body.recursive) > 1 and not is_random(body, measure) else label


def is_random(body: RoarData, measure: str) -> bool:
    """Return True if ``measure`` is the control."""
    return any(fact.random for fact in body.measures if fact.name == measure)


def kind_name(recursive: bool) -> str:
    """Return the name of a kind of masking."""
    return "Recursive ROAR" if recursive else "ROAR"


def ratio_words(body: RoarData, ratio: int) -> str:
    """Return ``30%``, ``3 tokens``, or ``all tokens`` for the last one."""
    if ratio == body.ratios[-1]:
        return "all tokens"
    return counted(ratio, "token") if body.counted else f"{ratio}%"


def judged(row: Faithfulness) -> str:
    """Return the verdict of ``row`` in the paper's sense, in a few words."""
    if row.verdict is None:
        return "not judged"
    if row.verdict == "not told apart":
        return "not shown to be faithful" if row.recursive else "inconclusive"
    return {"below random": "faithful to a degree", "above random": "worse than random words"}[row.verdict]


def estimate_words(value: Estimated) -> str:
    """Return ``0.312 (0.250 to 0.375)``, without an interval only the mean, or ``not known yet``."""
    return "not known yet" if value.mean is None else mean_words(as_estimate(value))


def as_estimate(value: Estimated) -> Interval:
    """Return the mean over seeds as other analyses write theirs."""
    return Interval(mean=value.mean, low=value.low, high=value.high)


def _overview(body: RoarData, recursive: bool) -> str:
    labels = labels_of(body)
    known = [row for row in whole_areas(body) if row.recursive == recursive and row.mean is not None]
    told = []
    for one in ("below random", "not told apart", "above random", None):
        rows = [row for row in known if row.verdict == one]
        told += [f"{judged(rows[0])}: {joined([labels[row.measure] for row in rows])}"] if rows else []
    return f"By {kind_name(recursive)}, {'; '.join(told)}." if told else ""


def _sentence(body: RoarData, row: Faithfulness) -> str:
    label, by = labels_of(body)[row.measure], f" by {kind_name(row.recursive)}"
    if row.mean is None:
        return f"{label}: its faithfulness{by} is not known{' yet' if body.unfinished else ''}."
    value = f"faithfulness {estimate_words(row)}"
    if row.verdict == "below random":
        return f"{label} is faithful to a degree{by}: {value}."
    if row.verdict == "above random":
        return f"{label} is worse than random words{by}: {value}; masking random words hurts more."
    if row.verdict is None:
        return f"{label}: {value}{by}."
    if row.recursive:
        return f"{label} is not shown to be faithful{by}: {value}, not told apart from random words."
    return f"{label}: inconclusive{by}: {value}, not told apart from random words."


def _told_apart(body: RoarData, recursive: bool) -> str:
    """Name the faithful measures that a test tells apart; empty for fewer than two."""
    rows = [row for row in whole_areas(body) if row.recursive == recursive and row.verdict == "below random"]
    if len(rows) < 2:
        return ""
    labels = labels_of(body)
    by = f" by {kind_name(recursive)}" if len(body.recursive) > 1 else ""
    values = {labels[row.measure]: (as_estimate(row), len(known_seeds(row))) for row in rows}
    groups = groups_of_intervals(values)
    if not groups.winner:
        return f"Of those faithful to a degree{by}, {groups.words()}."
    mean = mean_words(values[groups.winner][0])
    return f"Of those faithful to a degree{by}, {groups.winner} is best with {mean}{groups.others()}."


def _leaks(body: RoarData) -> str:
    """Say where the performance rises with more masks; empty if it never does."""
    if not body.leakage:
        return ""
    labels, several = labels_of(body), len(body.recursive) > 1
    told = []
    for leak in body.leakage:
        name = labels[leak.measure] + (f" by {kind_name(leak.recursive)}" if several else "")
        span = f"from {ratio_words(body, leak.before)} to {ratio_words(body, leak.ratio)}"
        told.append(f"{name} {span} (+{leak.rise:.3f})")
    return capital(
        f"the masks themselves may tell the class (leakage), as {METRICS[body.metric]} rises with more masked: "
        f"{joined(told)}."
    )


def lines(body: RoarData) -> list[str]:
    """Return the numbers as tables for a command: performance, faithfulness, sparsity, leaks, lengths, costs."""
    sections = {
        f"{capital(METRICS[body.metric])} by what is masked": _performance(body),
        "Faithfulness": _faithfulness(body),
        "Share of |importance| in the most important tokens": _sparsity(body),
        "Leakage": _leakage(body),
        "Content tokens of a text": [split.model_dump() for split in body.lengths],
        "Seconds": _seconds(body),
        "Models that failed": _failures(body),
    }
    told = [
        f"Whole texts: {spelled(as_estimate(body.performance))}; all masked: {spelled(as_estimate(body.lower_bound))}"
    ]
    for title, rows in sections.items():
        if rows:
            told += ["", f"{title}:", *table(rows).splitlines()]
    kept = weights_words(body)
    return [*told, "", kept] if kept else told


def weights_words(body: RoarData) -> str:
    """Name the folder of the models' weights; empty if the run deletes them."""
    folders = {Path(node.weights).parent for node in body.nodes if node.weights}
    return f"The weights of each model are a directory in {folders.pop()}." if folders else ""


def _performance(body: RoarData) -> list[dict[str, Any]]:
    """Return a row for each ratio, with a column for each measure and kind."""
    rows: dict[int, dict[str, Any]] = {ratio: {"masked": ratio_words(body, ratio)} for ratio in body.ratios}
    for point in body.curves:
        rows[point.ratio][_column(body, point.measure, point.recursive)] = spelled(as_estimate(point))
    return list(rows.values())


def _column(body: RoarData, measure: str, recursive: bool) -> str:
    plain = len(body.recursive) > 1 and not recursive and not is_random(body, measure)
    return f"{measure} (ROAR)" if plain else measure


def _faithfulness(body: RoarData) -> list[dict[str, Any]]:
    return [
        {
            "measure": row.measure,
            "by": kind_name(row.recursive),
            "up to": ratio_words(body, row.upto),
            "faithfulness": spelled(as_estimate(row)),
            "verdict": judged(row),
        }
        for row in body.faithfulness
    ]


def _sparsity(body: RoarData) -> list[dict[str, Any]]:
    """Return the shares of the first tokens (1, 3, 10) and of the first per cents (10, 30, 50) of each measure."""
    return [
        {
            "measure": row.measure,
            **{counted(n, "token"): round(row.tokens[n - 1], 4) for n in (1, 3, 10)},
            **{f"{n}%": round(row.percents[n // 10 - 1], 4) for n in (10, 30, 50)},
        }
        for row in body.sparsity
    ]


def _leakage(body: RoarData) -> list[dict[str, Any]]:
    return [
        {
            "measure": leak.measure,
            "by": kind_name(leak.recursive),
            "from": ratio_words(body, leak.before),
            "to": ratio_words(body, leak.ratio),
            "rise": round(leak.rise, 4),
        }
        for leak in body.leakage
    ]


def _seconds(body: RoarData) -> list[dict[str, Any]]:
    return [
        {
            "measure": _column(body, cost.measure, cost.recursive),
            "training": round(cost.training, 1),
            "importance": round(cost.importance, 1),
        }
        for cost in body.costs
    ]


def _failures(body: RoarData) -> list[dict[str, Any]]:
    return [
        {
            "measure": _column(body, node.measure, node.recursive),
            "masked": ratio_words(body, node.ratio),
            "seed": node.seed,
            "reason": node.reason,
        }
        for node in body.nodes
        if node.status == "failed"
    ]
