"""Facts of an attribution beside its scores."""

from __future__ import annotations

from explainlab.app.text import plain
from explainlab.attribution.records import Attribution
from explainlab.figures.heatmap import settings, sum_words

AGREEMENT = (
    "Rank correlation: Spearman's ρ of the scores, or of |score| where a map has no sign; empty where "
    "a map is constant. Sign conflicts: features to which both maps give at least 10% of their "
    "largest score, with opposite signs."
)


def facts(result: Attribution) -> list[str]:
    """Completeness, cost, settings and notes, one Markdown text each."""
    texts = [plain(sum_words(result))] if result.completeness else []
    cost = result.cost
    backward = f" + {cost.backward} backward" if cost.backward else ""
    passes = f"{cost.forward} forward{backward} pass{'es' if cost.forward > 1 else ''}"
    texts.append(f"{passes}, {cost.seconds:.2f} s")
    chosen = [f"{name.replace('_', ' ')} {value}" for name, value in settings(result).items()]
    texts += [plain(line) for line in (*chosen, *result.notes)]
    return texts
