"""A plan: what a job will take, in words that pages, the command line and notebooks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from explainlab.analyses.wording import counted, takes

Basis = Literal["question", "model", "unknown"]
_BASES: Mapping[Basis, str] = {
    "question": "from {runs} of these settings on this kind of device",
    "model": "from this model's speed in {runs} of other settings on this kind of device",
    "unknown": "no earlier run on this kind of device tells it",
}


@dataclass(frozen=True)
class Plan:
    """What answering takes: ``forward`` passes, of which ``backward`` have gradients, counted per single input.

    ``exact``: neither more nor fewer; else at most so many, or ``about`` where earlier jobs, or other texts, told it.
    ``texts`` are those of a data set, 0 for a single one. ``work`` is what the job will expect, in tokens of passes
    with gradients. ``seconds`` are None where nothing tells; else ``basis`` says what ``runs`` earlier runs were about.
    """

    forward: float
    backward: float
    exact: bool
    work: float
    texts: int = 0
    about: bool = False
    seconds: float | None = None
    basis: Basis = "unknown"
    runs: int = 0

    @property
    def words(self) -> str:
        """The plan in a line: ``Takes about 12 s: at most 1,024 passes through the model.``"""
        amount = "" if self.exact else "about " if self.about else "at most "
        texts = f" for {counted(self.texts, 'text')}" if self.texts else ""
        forward = max(1, round(self.forward))
        passes = "1 pass" if forward == 1 else f"{forward:,} passes"
        start = "Takes " if self.seconds is None else f"{takes(self.seconds)}: "
        return f"{start}{amount}{passes} through the model{texts}."

    @property
    def meaning(self) -> str:
        """What its numbers mean, and where they come from."""
        basis = _BASES[self.basis].format(runs=counted(self.runs, "earlier run"))
        alike = " All texts are taken to be as long as the first." if self.texts else ""
        return (
            f"Passes: {round(self.forward):,} forward, {round(self.backward):,} of them with gradients, each of one "
            f"version of a text. What is stored already is not computed again. Time: {basis}; loading the model is not "
            f"counted.{alike}"
        )


def together(plans: Sequence[Plan]) -> Plan:
    """The plan of jobs one after another: of one model, or each time of another one."""
    seconds = [plan.seconds for plan in plans if plan.seconds is not None]
    return Plan(
        forward=sum(plan.forward for plan in plans),
        backward=sum(plan.backward for plan in plans),
        exact=all(plan.exact for plan in plans),
        about=all(plan.exact or plan.about for plan in plans),
        work=sum(plan.work for plan in plans),
        texts=sum(plan.texts for plan in plans),
        seconds=sum(seconds) if len(seconds) == len(plans) else None,
        basis="model" if any(plan.basis == "model" for plan in plans) else plans[0].basis,
        runs=min(plan.runs for plan in plans),
    )
