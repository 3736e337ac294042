"""What drives the mistakes: the words, and the pairs of words, that push misclassified rows toward the wrong class."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.analyses.attributions import Share, attribution_of, text_seed
from explainlab.analyses.data_analysis import DataAnalysis, DataSubject
from explainlab.analyses.errors.analysis import MOST_ROWS, Predicted, predicted
from explainlab.analyses.parameters import method_spec
from explainlab.analyses.summary import interval
from explainlab.attribution.baselines import data_digest
from explainlab.attribution.registry import MethodRequest, get_method, parse_method
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.models.context import RunContext
from explainlab.reader import Reader
from explainlab.request import Output, digest

TOGETHER = 32
"""Maps that are kept together: little is lost by a cancel."""
TESTED_PAIRS, TESTED_ROWS = 20, 10
"""The pairs whose interaction is measured, and in how many rows of each."""
CLEAR_ROWS = 6
"""In fewer rows, scores of random signs would all be positive with a probability above 2.5%: 2⁻⁵."""
_KEPT = "mistake_drivers/1"  # part of the key of what is kept: rises when it would read otherwise

Words = tuple[str, ...]
Found = dict[tuple[Words, str], list[tuple[int, float]]]
"""By words and class: in which rows, by their numbers, they stand, and what they add to the class there."""


def _signed(name: str) -> str:
    name = method_spec(name)
    asked = parse_method(name)
    if not get_method(asked.method).is_signed(asked.parameters):
        told = "The scores of {name} have no sign: they push toward no class"
        raise PydanticCustomError("signed", told, {"name": asked.label})
    return name


@dataclass(frozen=True)
class WordMap:
    """The map of one row toward the class ``label``: case-folded words (empty: no word) with their scores, in order."""

    row: Row
    label: str
    words: Sequence[str]
    scores: Sequence[float]

    def totals(self) -> dict[Words, float]:
        """What every word adds, all of its places together."""
        return _summed(((word,), score) for word, score in zip(self.words, self.scores, strict=True) if word)

    def pair_totals(self) -> dict[Words, float]:
        """What every two words that stand side by side add: the sum of both scores, over all such places."""
        beside = pairwise(zip(self.words, self.scores, strict=True))
        return _summed(((a, b), left + right) for (a, left), (b, right) in beside if a and b)


Totals = Callable[[WordMap], dict[Words, float]]


Body = dict[str, Any]


class MistakeDrivers(DataAnalysis[Body]):
    """Scores of words toward the predicted class, over all misclassified rows; beside them those toward the same
    class in rows that are predicted right.

    A word counts once a row, with the sum of its places; a pair is two words side by side, and its score the sum of
    both. Means with 95% bootstrap intervals over the rows, each for itself: among many words some intervals miss.
    Listed is what pushes toward the wrong class: first what is ``clear``, its interval above zero in at least six rows
    (in fewer, all scores may be positive by chance in more than 1 of 40 cases), then the rest, then what stands in
    one row only (``once``) and has no interval; in each group by the mean times the rows. The correct rows are
    ``right`` drawn at random from all.

    ``interaction`` of the first pairs: F(x) - F(x without a) - F(x without b) + F(x without both), with F the class's
    score and masks in place of the words, in at most ten rows: what they push together beyond what each does alone.
    """

    class Parameters(declared.Parameters):
        method: Annotated[str, AfterValidator(_signed)] = Field(
            "input_x_gradient", description="A method with signed scores, options after colons."
        )
        right: int = Field(300, ge=0, le=100_000, description="Correct rows that are compared with.")
        most: int = Field(100, ge=1, le=1_000, description="Words, and pairs, that are listed.")
        rows: int = Field(MOST_ROWS, ge=1, le=MOST_ROWS, description="Most rows of a data set.")

    id = "mistake_drivers"
    label = "Mistake drivers"
    source = "Ours; interaction: Grabisch & Roubens 1999, of two features with all others present"
    definition = "mean over wrong rows x of φ_w(x; predicted class)"
    labelled = True

    def fingerprint(self, parameters: Parameters, reader: Reader) -> str:
        """The method's version, and the data that it reads."""
        return _fingerprint(parse_method(parameters.method), reader)

    def default_output(self, parameters: Mapping[str, Any]) -> Output:
        """Logits: the gradient of a probability fades where the model is sure, and so would its surest mistakes."""
        return "logit"

    def evaluations(self, parameters: Parameters) -> int:
        return 1

    def of_data(self, subject: DataSubject, parameters: Parameters) -> dict[str, Any]:
        method = parse_method(parameters.method)
        get_method(method.method).require(subject.classifier)
        found = predicted(subject)
        wrong, right = _asked(found, subject, parameters.right)
        maps = list(_maps(subject, method, [*wrong, *right]))
        words = _entries(maps, len(wrong), WordMap.totals, parameters.most)
        pairs = _entries(maps, len(wrong), WordMap.pair_totals, parameters.most)
        _add_interactions(subject, pairs[:TESTED_PAIRS], maps[: len(wrong)])
        return {
            "n_wrong": len(wrong),
            "n_right": len(found.rows) - len(wrong),
            "n_compared": len({row.number for row, _ in right}),
            "words": [{"word": one["words"][0], **one} for one in words],
            "pairs": pairs,
            "method": method.name,
        }

    def lines(self, result: Any) -> list[str]:
        body = result.body
        told = [f"{body['n_wrong']} of {body['n_wrong'] + body['n_right']} rows are wrong; {body['method']}"]
        for one in [*body["words"][:10], *body["pairs"][:10]]:
            ends = "" if one["low"] is None else f" ({one['low']:+.4f} to {one['high']:+.4f})"
            right = "-" if one["right_mean"] is None else f"{one['right_mean']:+.4f}"
            told.append(
                f"{' '.join(one['words']):<24} toward {one['predicted']}: {one['mean']:+.4f}{ends}, "
                f"n = {one['rows']}; in correct rows {right}"
            )
        return told


Asked = tuple[Row, str]
"""A row, and the class toward which it is explained."""


def _asked(found: Predicted, subject: DataSubject, sampled: int) -> tuple[list[Asked], list[Asked]]:
    """Wrong rows with their predicted class, and correct ones, drawn by the request's seed, with every such class."""
    labels = subject.classifier.labels
    is_wrong = found.gold(labels) != found.best
    wrong = [(found.rows[i], labels[found.best[i]]) for i in np.flatnonzero(is_wrong)]
    correct = np.flatnonzero(~is_wrong)
    drawn = np.random.default_rng(subject.request.seed).permutation(correct)[:sampled]
    toward = sorted({label for _, label in wrong}, key=labels.index)
    return wrong, [(found.rows[i], label) for i in sorted(drawn) for label in toward]


def _maps(subject: DataSubject, method: MethodRequest, asked: Sequence[Asked]) -> Iterator[WordMap]:
    """The maps in their order; those that the context remembers are not made again."""
    request, model = subject.request, subject.classifier
    made = [_KEPT, model.digest, str(model.dtype), method.name, _fingerprint(method, subject.context.reader)]
    for start in range(0, len(asked), TOGETHER):
        part = asked[start : start + TOGETHER]
        texts = [(row.text, row.text_pair, label) for row, label in part]
        key = digest([made, request.output, request.seed, texts])
        known = subject.context.recall(key)
        if known is None:
            shares = (Share(subject.context, start + i, len(asked)) for i in range(len(part)))
            known = {"maps": [_map(subject, method, *one, share) for one, share in zip(part, shares, strict=True)]}
            subject.context.keep(key, known)
        yield from (WordMap(row, label, *one) for (row, label), one in zip(part, known["maps"], strict=True))


def _fingerprint(method: MethodRequest, reader: Reader) -> str:
    read = data_digest(method.parameters.model_dump(mode="json"), reader)
    return f"{method.method} {get_method(method.method).version} {read}"


def _map(
    subject: DataSubject, method: MethodRequest, row: Row, label: str, context: RunContext
) -> tuple[list[str], list[float]]:
    """The words of all features, empty for what is none, and their scores."""
    context.check_cancelled()
    text = _subject(subject, row, label)
    settings = method.parameters.model_dump(mode="json")
    found = attribution_of(text, method.method, settings, text.output, text_seed(text), context)
    subject.forward += found.cost.forward
    subject.backward += found.cost.backward
    return [_word(f.text) if not f.special else "" for f in found.features], found.scores.tolist()


def _subject(subject: DataSubject, row: Row, label: str) -> Subject:
    model, request = subject.classifier, subject.request
    encoding = model.encode(row.text, row.text_pair)
    return Subject(model, encoding, target=label, output=request.output, unit="word", seed=request.seed)


def _word(text: str) -> str:
    """The case-folded text of a feature; empty for punctuation."""
    return "" if all(unicodedata.category(letter)[0] in "PZC" for letter in text) else text.casefold()


def _summed(scores: Iterator[tuple[Words, float]]) -> dict[Words, float]:
    found: dict[Words, float] = defaultdict(float)
    for words, score in scores:
        found[words] += score
    return found


def _gathered(maps: Sequence[WordMap], totals: Totals) -> Found:
    found: Found = defaultdict(list)
    for one in maps:
        for words, score in totals(one).items():
            found[words, one.label].append((one.row.number, score))
    return found


def _entries(maps: Sequence[WordMap], n_wrong: int, totals: Totals, most: int) -> list[dict[str, Any]]:
    """What pushes toward the wrong class, ranked; ``totals`` gives the scores of a map."""
    wrong, right = _gathered(maps[:n_wrong], totals), _gathered(maps[n_wrong:], totals)
    push = {key: sum(score for _, score in places) for key, places in wrong.items()}
    order = sorted((key for key in push if push[key] > 0), key=lambda key: (len(wrong[key]) == 1, -push[key]))
    entries = [_entry(key, wrong[key], right.get(key, [])) for key in order[:most]]
    return sorted(entries, key=lambda one: (one["once"], not one["clear"]))


def _entry(key: tuple[Words, str], places: list[tuple[int, float]], right: list[tuple[int, float]]) -> dict[str, Any]:
    words, label = key
    found = interval([score for _, score in places])
    above = found["low"] is not None and found["low"] > 0
    return {
        "words": list(words),
        "predicted": label,
        "rows": len(places),
        "once": len(places) == 1,
        "clear": above and len(places) >= CLEAR_ROWS,
        **found,
        **{f"right_{name}": value for name, value in interval([score for _, score in right]).items()},
        "right_rows": len(right),
        "row_numbers": [number for number, _ in places],
    }


# ---- pairs, both words taken away


def _add_interactions(subject: DataSubject, pairs: Sequence[dict[str, Any]], wrong: Sequence[WordMap]) -> None:
    """Measure the interaction of ``pairs``, in the first of their rows, and note it with them."""
    maps = {one.row.number: one for one in wrong}
    for i, pair in enumerate(pairs):
        rows = pair["row_numbers"][:TESTED_ROWS]
        values = [_interaction(subject, maps[number], *pair["words"]) for number in rows]
        pair["interaction"] = {**interval(values), "rows": len(rows)}
        subject.context.report(i + 1, len(pairs), "pairs")


def _interaction(subject: DataSubject, found: WordMap, first: str, second: str) -> float:
    subject.context.check_cancelled()
    text = _subject(subject, found.row, found.label)
    beside = pairwise(found.words)
    places = np.array([i for i, words in enumerate(beside) if words == (first, second)])
    keep = np.ones((4, len(found.words)), dtype=bool)
    keep[1, places] = keep[2, places + 1] = keep[3, places] = keep[3, places + 1] = False
    whole, without_first, without_second, without_both = text.masked(keep[:, text.units.content], "mask")
    subject.forward += text.forward
    return float(whole - without_first - without_second + without_both)
