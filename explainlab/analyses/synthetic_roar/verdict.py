"""The result of the draws for ROAR and Recursive ROAR, in words."""

from __future__ import annotations

from explainlab.analyses.significance import groups_of
from explainlab.analyses.synthetic_roar.result import LABELS, OrderShare, SyntheticRoarData
from explainlab.analyses.wording import counted, whole_percent


def verdict(body: SyntheticRoarData) -> str:
    """Say how often each finds the informative features, whether that differs, and the cost for the model."""
    recursive, plain = body.share("recursive_roar"), body.share("roar")
    found = {LABELS[own.order]: [float(draw.found[own.order]) for draw in body.draws] for own in (recursive, plain)}
    groups = groups_of(found)
    if groups.winner:
        apart = f"{groups.winner} finds them more often than {groups.worse[0]}"
    else:
        apart = "these draws do not tell the two apart"
    among = f"{recursive.found} of {counted(recursive.draws, 'draw')}"
    return (
        f"Recursive ROAR masks the four informative features first in {among} ({_interval(recursive)}), ROAR in "
        f"{plain.found} ({_interval(plain)}): {apart}. The area under the accuracy curve is {recursive.area:.2f} with "
        f"recursion and {plain.area:.2f} without; {body.share('ground_truth').area:.2f} where the informative features "
        f"go first as they are numbered, and {body.share('worst').area:.2f} where they go last."
    )


def _interval(share: OrderShare) -> str:
    return f"{whole_percent(share.mean)}, 95% interval {100 * (share.low or 0):.0f}% to {100 * (share.high or 0):.0f}%"
