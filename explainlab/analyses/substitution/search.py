"""The search for a few near words that drive a text's map away: greedy, a word a round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import softmax

from explainlab.analyses.attack.search import Objective, Point, normalised
from explainlab.analyses.attributions import output_of, text_seed
from explainlab.attribution.registry import MethodSpec, get_method
from explainlab.attribution.subject import Subject
from explainlab.errors import ModelError, TextError
from explainlab.metrics.edits import Neighbours, cased_as, replaced, single
from explainlab.metrics.evaluate import TIE
from explainlab.models.batching import Batcher
from explainlab.models.reading import Reading, Text, logits_of, read_all
from explainlab.text.encoding import Encoding

Ending = Literal["budget", "no_gain", "none_feasible"]
MOST_EXPLAINED = 64
"""Texts of a round that are explained; of more, the most promising by input x gradient."""
SCREEN = "input_x_gradient"
"""The method that chooses these."""
_PHASES = 3


class Replacement(NamedTuple):
    """A word replaced: its ``feature``, and both words as they are written."""

    feature: int
    before: str
    after: str


@dataclass(eq=False)
class Run:
    """An attack on the text of ``subject``: the current text, its replacements, and its map.

    ``listed`` int64 [k] are the features to drive away. ``dropped`` counts the texts that were tokenised otherwise.
    """

    subject: Subject
    objective: Objective
    budget: int
    listed: np.ndarray
    original: Point
    best: Point
    encoding: Encoding
    replaced: list[Replacement] = field(default_factory=list)
    places: set[int] = field(default_factory=set)
    rounds: int = 0
    dropped: int = 0
    ending: Ending | None = None


@dataclass(frozen=True, eq=False)
class Proposal:
    """A text that differs from the text of ``run`` in the token at ``place``, and the model's prediction for it."""

    run: Run
    place: int
    replacement: Replacement
    text: Text
    probabilities: np.ndarray
    logits: np.ndarray

    @property
    def probability(self) -> float:
        """The probability of the class predicted for the original text."""
        return float(self.probabilities[self.run.subject.prediction.index])


class Search:
    """A search that replaces words in texts of one classifier with known predictions, and explains them by ``method``.

    ``tolerance``: how far the probability of the predicted class may change where it is constrained.
    """

    def __init__(self, batcher: Batcher, method: MethodSpec, neighbours: Neighbours, tolerance: float) -> None:
        self._batcher = batcher
        self._method = method
        self._neighbours = neighbours
        self._tolerance = tolerance

    def originals(self, subjects: Sequence[Subject]) -> list[np.ndarray]:
        """Return the map of every text as it is, float64 [n_features]."""
        runs = [
            subject.again(output=self._output(subject), seed=text_seed(subject), baseline_data=self._data)
            for subject in subjects
        ]
        scores = self._explained(runs, self._method)
        for subject, run in zip(subjects, runs, strict=True):
            _count(subject, run)
        return scores

    def attack(self, runs: Sequence[Run]) -> None:
        """Replace words until every run has ended; cancellable between two batches."""
        rounds = max((run.budget for run in runs), default=0)
        for i in range(rounds):
            going = [run for run in runs if run.ending is None]
            if not going:
                break
            self._round(going, i * _PHASES, rounds * _PHASES)
        self._batcher.finish("substitutions")

    def _round(self, runs: Sequence[Run], done: int, total: int) -> None:
        with self._batcher.span(done, done + 1, total):
            feasible = [[p for p in own if self._feasible(p)] for own in self._proposals(runs)]
        with self._batcher.span(done + 1, done + 2, total):
            chosen = [self._promising(own) for own in feasible]
        with self._batcher.span(done + 2, done + 3, total):
            maps = self._maps([p for own in chosen for p in own], self._method)
        for run, own in zip(runs, chosen, strict=True):
            run.rounds += 1
            shares = [_share(run, maps[p]) for p in own]
            if not own:
                run.ending = "none_feasible"
            elif not min(shares) < run.best.share - TIE:
                run.ending = "no_gain"
            else:
                best = own[int(np.argmin(shares))]
                self._accept(run, best, maps[best], min(shares))

    def _accept(self, run: Run, best: Proposal, scores: np.ndarray, share: float) -> None:
        run.best = Point(run.rounds, scores, share, best.probability)
        run.encoding = self._batcher.classifier.encode(*best.text)
        run.replaced.append(best.replacement)
        run.places.add(best.place)
        if len(run.replaced) == run.budget:
            run.ending = "budget"

    # Candidates ------------------------------------------------------------------------------------------------------

    def _proposals(self, runs: Sequence[Run]) -> list[list[Proposal]]:
        """Return every text of a round that is tokenised as the one before but for one token, with its logits."""
        wanted = [self._written(run) for run in runs]
        distinct = list(dict.fromkeys(text for own in wanted for *_, text in own))
        readings = dict(zip(distinct, read_all(self._batcher.classifier, distinct), strict=True))
        kept = [
            [(p, r, t) for p, token, r, t in own if _differs_once(run.encoding, readings[t], p, token)]
            for run, own in zip(runs, wanted, strict=True)
        ]
        for run, own, left in zip(runs, wanted, kept, strict=True):
            run.dropped += len(own) - len(left)
            run.subject.forward += len(left)
        texts = list(dict.fromkeys(text for own in kept for *_, text in own))
        tokens = [reading for text in texts if isinstance(reading := readings[text], Reading)]
        said = dict(zip(texts, logits_of(self._batcher, tokens, "near words", 0, len(texts)), strict=True))
        return [
            [Proposal(run, place, how, text, softmax(said[text]), said[text]) for place, how, text in own]
            for run, own in zip(runs, kept, strict=True)
        ]

    def _written(self, run: Run) -> list[tuple[int, int, Replacement, Text]]:
        """Return each place with a near token: the replacement, and the text with it."""
        encoding, found = run.encoding, []
        for word in single(encoding):
            if word.place in run.places:
                continue
            before = encoding.part_text(word.part)[word.start : word.end]
            feature = int(run.subject.units.membership[word.place])
            for token, near in self._neighbours.of(int(encoding.ids[word.place])):
                after = cased_as(near, before)
                text = replaced(encoding, word.part, word.start, word.end, after)
                found.append((word.place, token, Replacement(feature, before, after), text))
        return found

    def _feasible(self, proposal: Proposal) -> bool:
        run = proposal.run
        if proposal.probabilities.argmax() != run.subject.prediction.index:
            return False
        close = abs(proposal.probability - run.original.probability) <= self._tolerance
        return close or run.objective == "unconstrained"

    def _promising(self, proposals: list[Proposal]) -> list[Proposal]:
        """Keep at most :data:`MOST_EXPLAINED` proposals, those with the smallest share under input x gradient."""
        if len(proposals) <= MOST_EXPLAINED:
            return proposals
        screen = get_method(SCREEN)
        if screen.unsupported(self._batcher.classifier.architecture):
            return proposals[:MOST_EXPLAINED]
        request = MethodSpec(SCREEN, screen.Parameters())
        maps = self._maps(proposals, request)
        return sorted(proposals, key=lambda p: _share(p.run, maps[p]))[:MOST_EXPLAINED]

    # Maps ------------------------------------------------------------------------------------------------------------

    def _maps(self, proposals: Sequence[Proposal], method: MethodSpec) -> dict[Proposal, np.ndarray]:
        """Return the maps of proposals; a text that several runs propose is explained once and counted with each."""
        subjects: dict[tuple[Subject, Text], Subject] = {}
        for proposal in proposals:
            key = proposal.run.subject, proposal.text
            if key not in subjects:
                subjects[key] = self._subject(proposal)
        scores = dict(zip(subjects, self._explained(list(subjects.values()), method), strict=True))
        for proposal in proposals:
            _count(proposal.run.subject, subjects[proposal.run.subject, proposal.text])
        return {proposal: scores[proposal.run.subject, proposal.text] for proposal in proposals}

    def _subject(self, proposal: Proposal) -> Subject:
        original = proposal.run.subject
        subject = Subject(
            original.classifier,
            original.classifier.encode(*proposal.text),
            target=original.target.label,
            output=self._output(original),
            unit=original.unit,
            seed=text_seed(original),
            baseline_data=self._data,
            batcher=self._batcher,
        )
        subject.text.logits = proposal.logits  # they are known, and are no prediction that the run is about
        return subject

    def _explained(self, subjects: Sequence[Subject], method: MethodSpec) -> list[np.ndarray]:
        if not subjects:
            return []
        outcomes = get_method(method.method).attribute_many(subjects, method.parameters)
        if not all(np.isfinite(outcome.scores).all() for outcome in outcomes):
            raise ModelError(
                f"{method.label} on {self._batcher.classifier.id} gave scores that are not finite.",
                "Try dtype float32, output logit, or another method.",
            )
        return [outcome.scores for outcome in outcomes]

    def _output(self, subject: Subject) -> Literal["probability", "logit"]:
        return output_of(subject.output, self._method.method, self._method.parameters.model_dump(mode="json"), "own")

    @property
    def _data(self) -> str:
        data: str = getattr(self._method.parameters, "baseline_data", "")
        return data


def _differs_once(encoding: Encoding, reading: Reading | TextError, place: int, token: int) -> bool:
    """Return whether a text has the tokens of ``encoding``, but for ``token`` at ``place``."""
    if isinstance(reading, TextError) or len(reading) != len(encoding):
        return False
    expected = encoding.ids.copy()
    expected[place] = token
    return np.array_equal(expected, np.asarray(reading.ids))


def _share(run: Run, scores: np.ndarray) -> float:
    """Return the listed features' share of a map; 1 for one that is 0 everywhere."""
    share = float(normalised(scores, run.subject.units.content)[run.listed].sum())
    return share if np.isfinite(share) else 1.0


def _count(subject: Subject, run: Subject) -> None:
    """Add the passes of ``run`` to those of the text."""
    subject.forward += run.forward
    subject.backward += run.backward
