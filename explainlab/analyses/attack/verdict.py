"""The effect of attacks on a method's maps, in words."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.attack.result import AttackData, AttackRow, AttackText, Original
from explainlab.analyses.records import TextBody
from explainlab.analyses.wording import capital, counted, interval_words, whole_percent

USUAL = "0.1s"
"""The radius of the sentence, if the request has it."""


def sentence_row(rows: Sequence[AttackRow]) -> AttackRow:
    """Return the row for the sentence: constrained if possible, at the usual radius, else at the first above 0."""
    last = rows[-1].objective
    own = [row for row in rows if row.objective == last]
    usual = [row for row in own if row.epsilon == USUAL]
    return (usual or [row for row in own if row.radius] or own)[0]


def text_verdict(body: AttackText) -> str:
    """Say how an attack changed the map of one text."""
    if body.original.left_out:
        return not_attacked(body, body.original)
    row = sentence_row(body.rows)
    (own,) = [text for text in body.texts if (text.objective, text.epsilon) == (row.objective, row.epsilon)]
    attack = capital(_attack(row))
    if own.failed:
        return f"{attack} did not drive the map of {body.label} away: no feasible change lowered its top words' share."
    measures, before = own.measures, body.original.top_k_sum or 0.0
    return (
        f"{attack} moved {whole_percent(measures.rank_change)} of the top places of {body.label} and lowered their "
        f"share from {before:.3f} to {before - measures.top_k_sum_change:.3f}, while the probability changed by "
        f"{measures.absolute_probability_change:.3f}."
    )


def not_attacked(body: TextBody, original: Original) -> str:
    """Say why the attack left a text out."""
    features = sum(not feature.special for feature in body.features)
    return f"Not attacked, with {counted(features, 'feature')}: {original.left_out}."


def data_verdict(body: AttackData) -> str:
    """Say how the attacks changed maps on average."""
    row = sentence_row(body.rows)
    if not row.n:
        return f"None of {counted(body.left_out, 'text')} was attacked: {body.originals[0].left_out}."
    moved, share = row.rank_change, row.top_k_sum_change
    between = "" if moved.low is None else f" ({interval_words(moved, '.0%')})"
    return (
        f"Over {counted(row.n, 'text')}, {_attack(row)} moves {whole_percent(moved.mean or 0.0)}{between} of the "
        f"top places of {body.label} and takes {share.mean or 0.0:.3f} of their share, while the probability changes "
        f"by {row.absolute_probability_change.mean or 0.0:.3f}; {row.failed} of {row.n} attacks failed."
    )


def _attack(row: AttackRow) -> str:
    article = "a" if row.objective == "constrained" else "an"
    standard = " standard deviations" if row.epsilon.endswith("s") else ""
    return f"{article} {row.objective} attack within {row.epsilon.removesuffix('s')}{standard}"
