"""The effect of near words on a method's map, in words."""

from __future__ import annotations

from explainlab.analyses.attack.verdict import not_attacked
from explainlab.analyses.substitution.result import SubstitutionData, SubstitutionText
from explainlab.analyses.wording import counted, interval_words, joined, quoted, whole_percent


def text_verdict(body: SubstitutionText) -> str:
    """Name the replaced words of one text, and say how its map changed."""
    if body.original.left_out:
        return not_attacked(body, body.original)
    own = body.texts[-1]
    if own.failed:
        return (
            f"No near word drove the map of {body.label} away: none of those that kept the prediction lowered the top "
            f"words' share of {body.original.top_k_sum or 0.0:.3f}."
        )
    words = joined([f"{quoted(word.before)} by {quoted(word.after)}" for word in own.replaced])
    before, measures = body.original.top_k_sum or 0.0, own.measures
    return (
        f"Replacing {words} ({own.objective}) moved {whole_percent(measures.rank_change)} of the top places of "
        f"{body.label} and took their share from {before:.3f} to {before - measures.top_k_sum_change:.3f}, while the "
        f"probability changed by {measures.absolute_probability_change:.3f}."
    )


def data_verdict(body: SubstitutionData) -> str:
    """Say how the attacks changed maps on average; the constrained attacks if the run has any."""
    row = body.rows[-1]
    if not row.n:
        return f"None of {counted(body.left_out, 'text')} was attacked: {body.originals[0].left_out}."
    moved = row.rank_change
    between = "" if moved.low is None else f" ({interval_words(moved, '.0%')})"
    return (
        f"Over {counted(row.n, 'text')}, near words in place of {whole_percent(row.replaced_share.mean or 0.0)} of all "
        f"words ({row.objective}) move {whole_percent(moved.mean or 0.0)}{between} of the top places of {body.label} "
        f"and take {row.top_k_sum_change.mean or 0.0:.3f} of their share; {row.failed} of {row.n} attacks failed."
    )
