"""The agreement of three answers on the rank of the measures, in words."""

from __future__ import annotations

from typing import Literal

from explainlab.analyses.records import Interval
from explainlab.analyses.roar.judging import FEWEST_SEEDS
from explainlab.analyses.roar.verdict import METRICS, as_estimate
from explainlab.analyses.summary import spelled, table
from explainlab.analyses.three_answers.result import Agreed, Answer, ThreeAnswersData
from explainlab.analyses.wording import capital, counted, mean_words

NAMES: dict[Answer, str] = {
    "plain": "erasure on the plain model",
    "masked": "erasure on the masked model",
    "roar": "Recursive ROAR",
}
SHORT: dict[Answer, str] = {"plain": "plain model", "masked": "masked model", "roar": "Recursive ROAR"}
"""The short names of the answers."""
Judged = Literal["alike", "opposite", "not shown", "not known"]
_JUDGED: dict[Judged, str] = {
    "alike": "Alike",
    "opposite": "In the opposite order",
    "not shown": "Not shown to be alike",
    "not known": "Not known",
}


def judged(tau: Agreed) -> Judged:
    """Return the place of 0 beside the interval of ``tau``: below, above or in it (``not shown``: also no interval)."""
    if tau.mean is None:
        return "not known"
    if tau.low is None or tau.high is None or tau.low <= 0 <= tau.high:
        return "not shown"
    return "alike" if tau.low > 0 else "opposite"


def verdict(body: ThreeAnswersData) -> str:
    """Say whether all three rank the measures alike, with tau of each pair, and name the limits of the answer."""
    found = {judged(tau) for tau in body.taus}
    ranked = f"the {counted(len(body.measures), 'measure')}"
    if "not known" in found:
        first = f"Whether the three answers rank {ranked} alike is not known."
    elif found == {"alike"}:
        first = f"The three answers rank {ranked} alike."
    else:
        first = f"The three answers are not shown to rank {ranked} alike."
    return " ".join([first, *_by_tau(body), *limits(body)])


def limits(body: ThreeAnswersData) -> list[str]:
    """Return the limits of the answer: missing models, few seeds."""
    told = []
    if body.unknown:
        told.append(f"{counted(body.unknown, 'model')} of the grid could not be made.")
    elif any(place.answer == "roar" and place.mean is None for place in body.places):
        told.append("Recursive ROAR has no value where random words, masked, do as much harm as all words do.")
    if len(body.seeds) < FEWEST_SEEDS:
        told.append("With fewer than three seeds nothing about Recursive ROAR has an interval.")
    return told


def pair_name(tau: Agreed) -> str:
    """Return the names of the two answers of ``tau``."""
    return f"{NAMES[tau.first]} and {NAMES[tau.second]}"


def rank_words(rank: Interval) -> str:
    """Return ``2 (1 to 3)``, ``2`` without an interval, or ``none``."""
    return "none" if rank.mean is None else mean_words(rank, "g")


def tau_words(tau: Agreed) -> str:
    """Return ``0.80 (0.60 to 1.00)``, ``0.80`` without an interval, or ``not known``."""
    return "not known" if tau.mean is None else mean_words(tau, ".2f")


def lines(body: ThreeAnswersData) -> list[str]:
    """Return lines for a command: every measure by every answer, tau of every pair, and the models' performance."""
    taus = [{"answers": pair_name(tau), "tau": spelled(tau), "ranked": judged(tau)} for tau in body.taus]
    return [
        f"erasure: {body.erasure_label}, {'higher' if body.higher_is_better else 'lower'} is better; n = {body.n}",
        *table(rows(body)).splitlines(),
        "",
        *table(taus).splitlines(),
        "",
        performance_words(body),
    ]


def rows(body: ThreeAnswersData) -> list[dict[str, str]]:
    """Return a row for each measure: its value and its rank by each answer."""
    places = {(place.measure, place.answer): place for place in body.places}
    told = []
    for fact in body.measures:
        row = {"Measure": fact.label}
        for answer, name in SHORT.items():
            place = places[fact.name, answer]
            value = "not known" if place.mean is None else mean_words(place)
            row[capital(name)] = f"{value}, rank {rank_words(place.rank)}"
        told.append(row)
    return told


def performance_words(body: ThreeAnswersData) -> str:
    """Say how well the two models read whole texts."""
    plain, masked = (mean_words(as_estimate(own)) for own in (body.plain, body.masked))
    return f"{METRICS[body.metric]} of whole texts: the plain model {plain}, the masked model {masked}"


def _by_tau(body: ThreeAnswersData) -> list[str]:
    """Return a sentence for all pairs with the same judgement."""
    sentences: list[str] = []
    for kind, words in _JUDGED.items():
        pairs = [_pair(tau) for tau in body.taus if judged(tau) == kind]
        if pairs:
            by = "" if sentences else " by Kendall's tau"
            sentences.append(f"{words}{by}: {'; '.join(pairs)}.")
    return sentences


def _pair(tau: Agreed) -> str:
    return pair_name(tau) if tau.mean is None else f"{pair_name(tau)}, {tau_words(tau)}"
