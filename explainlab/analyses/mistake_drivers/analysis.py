"""Drivers of mistakes: the words, and the pairs of words, that push misclassified rows toward the wrong class."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise, zip_longest
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.analyses.attributions import attributions_of
from explainlab.analyses.base import AnalysisResult, Report, Requirements
from explainlab.analyses.data_analysis import DataAnalysis, DataSubject
from explainlab.analyses.errors.analysis import MOST_ROWS, Predicted, predicted, reading_work, tokens_of
from explainlab.analyses.mistake_drivers.result import (
    Driver,
    DrivingPair,
    DrivingWord,
    Interaction,
    MistakeDriversData,
    verdict,
)
from explainlab.analyses.parameters import Sample, method_spec
from explainlab.analyses.summary import interval
from explainlab.analyses.wording import mean_words
from explainlab.attribution.passes import masked
from explainlab.attribution.registry import MethodSpec, get_method, parse_spec
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.comparison import LEVEL, bootstrap, holm, signed_rank_p
from explainlab.models.batching import HALVED, Batcher
from explainlab.models.context import FORWARD

TOGETHER = 32
"""Attributions that are stored together: a cancel loses little."""
TESTED_PAIRS, TESTED_ROWS = 20, 10
"""The pairs whose interaction is measured, and in how many rows of each."""
CLEAR_ROWS = 6
"""In fewer rows, the two-sided test cannot tell a word: all signs are equal by chance with a probability of 2⁻⁴."""

Words = tuple[str, ...]
Key = tuple[Words, str]
"""Words, and the class that they push toward."""
Scores = dict[Key, list[tuple[int, float]]]
"""By words and class: the numbers of their rows, each with the words' score there."""


def _signed(name: str) -> str:
    name = method_spec(name)
    method = parse_spec(name)
    if not get_method(method.method).is_signed(method.parameters):
        problem = "The scores of {name} have no sign: they push toward no class"
        raise PydanticCustomError("signed", problem, {"name": method.label})
    return name


@dataclass(frozen=True)
class WordAttribution:
    """The scores of one row's words toward the class ``label``: case-folded words in order, empty where no word is.

    ``warnings`` are those of the attribution.
    """

    row: Row
    label: str
    words: Sequence[str]
    scores: Sequence[float]
    warnings: Sequence[str] = ()

    def totals(self) -> dict[Words, float]:
        """Return the score of every word, summed over its places."""
        return _summed(((word,), score) for word, score in zip(self.words, self.scores, strict=True) if word)

    def pair_totals(self) -> dict[Words, float]:
        """Return the score of every two neighbouring words: the sum of both, over all their places."""
        beside = pairwise(zip(self.words, self.scores, strict=True))
        return _summed(((a, b), left + right) for (a, left), (b, right) in beside if a and b)


Totals = Callable[[WordAttribution], dict[Words, float]]


class MistakeDrivers(DataAnalysis[MistakeDriversData]):
    """Scores of words toward the predicted class in misclassified rows, and toward the same class in correct rows.

    A word counts once a row, with the sum of its places. A pair is two neighbouring words; its score is the sum of
    both. Means have 95% bootstrap intervals over the rows, without correction for many words: some intervals miss.

    Only drivers toward the wrong class are listed. First the ``clear`` ones: Wilcoxon's signed-rank test separates
    their scores from zero, and their interval lies above zero. Holm's correction is for all words, or all pairs, in at
    least six misclassified rows (in fewer no test can separate them). Then the rest, and last the drivers in one row
    only (``once``), without an interval. Each group is sorted by the mean times the rows. The correct rows are
    ``right`` drawn at random from all.

    The first pairs have an ``interaction``: F(x) - F(x without a) - F(x without b) + F(x without both), where F is the
    class's score and masks replace the words, in at most ten rows. It is their joint push beyond that of each alone.
    """

    class Parameters(declared.Parameters):
        method: Annotated[str, AfterValidator(_signed)] = Field(
            "input_x_gradient", description="A method with signed scores, with options after colons."
        )
        right: int = Field(300, ge=0, le=100_000, description="Correct rows to compare with.")
        most: int = Field(100, ge=1, le=1_000, description="Most words and most pairs that are listed.")
        rows: int = Field(MOST_ROWS, ge=1, le=MOST_ROWS, description="Most rows of a data set.")
        sample: Sample = "first"

    id = "mistake_drivers"
    label = "Mistake drivers"
    source = "Ours; interaction: Grabisch & Roubens 1999, of two features with all others present"
    definition = "mean over wrong rows x of φ_w(x; predicted class)"
    version = 2

    def requirements(self, parameters: Parameters) -> Requirements:
        method = parse_spec(parameters.method)
        return Requirements(
            methods=[method],
            labelled=True,
            output="logit",  # where the model is sure, the gradient of a probability vanishes
            gradients=1,
            count_passes=partial(get_method(method.method).passes, method.parameters),
            explains_subset=True,
            guesses_lengths=True,
        )

    def of_data(self, subject: DataSubject, parameters: Parameters) -> MistakeDriversData:
        method = parse_spec(parameters.method)
        get_method(method.method).require(subject.classifier, method.parameters)
        predictions = predicted(subject, following=reading_work(subject.rows))
        wrong, right = _selected(predictions, subject, parameters.right)
        attributions = list(_attributions(subject, method, [*wrong, *right]))
        words = ranked(attributions, len(wrong), WordAttribution.totals, parameters.most)
        pairs = ranked(attributions, len(wrong), WordAttribution.pair_totals, parameters.most)
        tested = _interactions(subject, pairs[:TESTED_PAIRS], attributions[: len(wrong)])
        subject.warnings += _warned(attributions)
        return MistakeDriversData(
            n_wrong=len(wrong),
            n_right=len(predictions.rows) - len(wrong),
            n_compared=len({row.number for row, _ in right}),
            words=[DrivingWord(word=driver.words[0], **dict(driver)) for driver in words],
            pairs=[
                DrivingPair(interaction=interaction, **dict(driver))
                for driver, interaction in zip_longest(pairs, tested)
            ],
            method=method.name,
        )

    def report(self, result: Any) -> Report:
        return Report(result, verdict(result.body, CLEAR_ROWS), _lines)


def _lines(result: AnalysisResult[MistakeDriversData]) -> list[str]:
    body = result.body
    lines = [f"{body.n_wrong} of {body.n_wrong + body.n_right} rows are wrong; {body.method}"]
    for driver in (*body.words[:10], *body.pairs[:10]):
        right = "-" if driver.right_mean is None else f"{driver.right_mean:+.4f}"
        lines.append(
            f"{driver.name:<24} toward {driver.predicted}: {mean_words(driver.wrong_interval, '+.4f')}, "
            f"n = {driver.rows}; in correct rows {right}"
        )
    return lines


RowTarget = tuple[Row, str]
"""A row, and the class toward which it is explained."""


def _selected(predictions: Predicted, subject: DataSubject, sampled: int) -> tuple[list[RowTarget], list[RowTarget]]:
    """Select wrong rows with their predicted class, and correct rows, drawn by the seed, with each of these classes."""
    labels = subject.classifier.labels
    is_wrong = predictions.gold(labels) != predictions.best
    wrong = [(predictions.rows[i], labels[predictions.best[i]]) for i in np.flatnonzero(is_wrong).tolist()]
    correct = np.flatnonzero(~is_wrong)
    drawn = np.random.default_rng(subject.request.seed).permutation(correct)[:sampled]
    targets = sorted({label for _, label in wrong}, key=labels.index)
    return wrong, [(predictions.rows[i], label) for i in sorted(drawn.tolist()) for label in targets]


def _attributions(subject: DataSubject, method: MethodSpec, targets: Sequence[RowTarget]) -> Iterator[WordAttribution]:
    """Yield the attributions in their order, computed for :data:`TOGETHER` rows at a time."""
    batcher = Batcher(subject.classifier, subject.context)
    parts = [targets[start : start + TOGETHER] for start in range(0, len(targets), TOGETHER)]
    work = [_work(subject, method, part) for part in parts]
    tested = _tested_work(targets, TESTED_PAIRS)  # a row each: more cannot be known yet
    subject.context.progress.expect(sum(work) + tested, not get_method(method.method).adaptive(method.parameters))
    for i, part in enumerate(parts):
        subject.context.progress.part(work[i])
        with batcher.span(i, i + 1, len(parts)):
            yield from _word_scores(subject, method, part, batcher)
    _add_warnings(subject, batcher)


def _work(subject: DataSubject, method: MethodSpec, targets: Sequence[RowTarget]) -> float:
    """Return the expected work of explaining ``targets``."""
    depth, tokens = subject.classifier.model.depth, [tokens_of(row) for row, _ in targets]
    return sum(get_method(method.method).work(method.parameters, int(n), depth) * n for n in tokens)


def _tested_work(targets: Sequence[RowTarget], count: int) -> float:
    """Return the work of testing ``count`` pairs in rows like ``targets``: four texts each."""
    tokens = sum(tokens_of(row) for row, _ in targets) / max(1, len(targets))
    return 4 * FORWARD * tokens * count


def _word_scores(
    subject: DataSubject, method: MethodSpec, targets: Sequence[RowTarget], batcher: Batcher
) -> Iterator[WordAttribution]:
    """Yield for every row the words of its features (empty: no word), their scores, and its attribution's warnings."""
    subject.context.check_cancelled()
    texts = [_subject(subject, row, label, batcher) for row, label in targets]
    settings = method.parameters.model_dump(mode="json")
    results = attributions_of(texts, [(method.method, settings)], outputs="all")
    subject.forward += sum(text.forward for text in texts)
    subject.backward += sum(text.backward for text in texts)
    for target, (result,) in zip(targets, results, strict=True):
        words = [_word(feature.text) if not feature.special else "" for feature in result.features]
        warnings = [
            warning for warning in result.warnings if warning != HALVED
        ]  # that is of the batches, not of a text
        yield WordAttribution(*target, words, result.scores.tolist(), warnings)


def _add_warnings(subject: DataSubject, batcher: Batcher) -> None:
    """Add the warnings of ``batcher`` to those of ``subject``, each once."""
    subject.warnings += [warning for warning in batcher.warnings if warning not in subject.warnings]


def _warned(attributions: Sequence[WordAttribution]) -> list[str]:
    """Return a warning that counts the attributions with warnings and quotes the first; empty if there is none."""
    warned = [attribution for attribution in attributions if attribution.warnings]
    if not warned:
        return []
    first = f"row {warned[0].row.number}: {warned[0].warnings[0]}"
    return [f"Maps with warnings of their own: {len(warned)} of {len(attributions)}; {first}"]


def _subject(subject: DataSubject, row: Row, label: str, batcher: Batcher) -> Subject:
    model, request = subject.classifier, subject.request
    encoding = model.encode(row.text, row.text_pair)
    return Subject(
        model, encoding, target=label, output=request.output, unit="word", seed=request.seed, batcher=batcher
    )


def _word(text: str) -> str:
    """Return the case-folded text of a feature; empty for punctuation."""
    return "" if all(unicodedata.category(letter)[0] in "PZC" for letter in text) else text.casefold()


def _summed(scores: Iterator[tuple[Words, float]]) -> dict[Words, float]:
    totals: dict[Words, float] = defaultdict(float)
    for words, score in scores:
        totals[words] += score
    return totals


def _gathered(attributions: Sequence[WordAttribution], totals: Totals) -> Scores:
    scores: Scores = defaultdict(list)
    for attribution in attributions:
        for words, score in totals(attribution).items():
            scores[words, attribution.label].append((attribution.row.number, score))
    return scores


def ranked(attributions: Sequence[WordAttribution], n_wrong: int, totals: Totals, most: int) -> list[Driver]:
    """List the drivers toward the wrong class in the first ``n_wrong`` of the ``attributions``; the others are right.

    ``totals`` sums the scores of an attribution. At most ``most`` are listed.
    """
    wrong, right = _gathered(attributions[:n_wrong], totals), _gathered(attributions[n_wrong:], totals)
    push = {key: sum(score for _, score in places) for key, places in wrong.items()}
    order = sorted((key for key in push if push[key] > 0), key=lambda key: (len(wrong[key]) == 1, -push[key]))
    told = _told_from_zero(wrong)
    drivers = [_driver(key, wrong[key], right.get(key, []), key in told) for key in order[:most]]
    return sorted(drivers, key=lambda driver: (driver.once, not driver.clear))


def _told_from_zero(scores: Scores) -> set[Key]:
    """Find the scores that differ from zero beyond chance, among those of :data:`CLEAR_ROWS` rows or more."""
    by_rows: dict[int, list[Key]] = defaultdict(list)
    for key, places in scores.items():
        if len(places) >= CLEAR_ROWS:
            by_rows[len(places)].append(key)
    tested = [key for keys in by_rows.values() for key in keys]
    p = [signed_rank_p(np.array([[score for _, score in scores[key]] for key in keys])) for keys in by_rows.values()]
    corrected = holm(np.concatenate(p)) if p else ()
    return {key for key, own in zip(tested, corrected, strict=True) if own < LEVEL}


def _driver(key: Key, places: list[tuple[int, float]], right: list[tuple[int, float]], told: bool) -> Driver:
    words, label = key
    mean, low, high = bootstrap([score for _, score in places])
    right_mean, right_low, right_high = bootstrap([score for _, score in right])
    return Driver(
        words=list(words),
        predicted=label,
        rows=len(places),
        once=len(places) == 1,
        clear=told and low is not None and low > 0,
        mean=mean,
        low=low,
        high=high,
        right_mean=right_mean,
        right_low=right_low,
        right_high=right_high,
        right_rows=len(right),
        row_numbers=[number for number, _ in places],
    )


def _interactions(subject: DataSubject, pairs: Sequence[Driver], wrong: Sequence[WordAttribution]) -> list[Interaction]:
    """Return the mean interaction of every pair over its first rows."""
    by_row = {attribution.row.number: attribution for attribution in wrong}
    rows = [pair.row_numbers[:TESTED_ROWS] for pair in pairs]
    tested = [
        (by_row[number], pair.words[0], pair.words[1])
        for pair, numbers in zip(pairs, rows, strict=True)
        for number in numbers
    ]
    subject.context.progress.part(_tested_work([(attribution.row, "") for attribution, _, _ in tested], len(tested)))
    values = iter(_interaction_values(subject, tested))
    means = [interval(list(islice(values, len(numbers)))) for numbers in rows]
    return [Interaction(**mean.model_dump(), rows=len(numbers)) for mean, numbers in zip(means, rows, strict=True)]


def _interaction_values(subject: DataSubject, tested: Sequence[tuple[WordAttribution, str, str]]) -> list[float]:
    """Return the interaction of two neighbouring words, for every attribution and pair."""
    batcher = Batcher(subject.classifier, subject.context)
    texts = [_subject(subject, attribution.row, attribution.label, batcher) for attribution, _, _ in tested]
    keep = [_keep(*each)[:, text.units.content] for each, text in zip(tested, texts, strict=True)]
    values = masked(texts, keep, "mask")
    subject.forward += sum(text.forward for text in texts)
    _add_warnings(subject, batcher)
    return [float(whole - first - second + both) for whole, first, second, both in values]


def _keep(attribution: WordAttribution, first: str, second: str) -> np.ndarray:
    """Return bool [4, n_features]: the whole text, without the first word, without the second, without both."""
    places = np.array([i for i, words in enumerate(pairwise(attribution.words)) if words == (first, second)])
    keep = np.ones((4, len(attribution.words)), dtype=bool)
    keep[1, places] = keep[2, places + 1] = keep[3, places] = keep[3, places + 1] = False
    return keep
