"""Analyses of single texts; a data set is analysed text by text, in groups whose passes run together."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from explainlab.analyses.base import Analysis, AnalysisResult, Record, Requirements, Skipped
from explainlab.analyses.data_analysis import dataset_of, warnings_of
from explainlab.analyses.wording import counted
from explainlab.attribution import passes
from explainlab.attribution.method import TextSize, expected_work
from explainlab.attribution.subject import Subject
from explainlab.data import Row, without_marks
from explainlab.disk_backed import Chosen
from explainlab.errors import RequestError, TextError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import Counted, RunContext
from explainlab.models.reading_warnings import model_warnings
from explainlab.request import GOLD, CompleteRequest, digest, result_key
from explainlab.result import Cost

T = TypeVar("T", bound=Record)
D = TypeVar("D", bound=Record)

_FIELDS = {"rationale": ("rationale", "rationale_pair"), "paraphrase": ("paraphrases",)}
"""The fields of rows, and of requests, for the roles of :data:`explainlab.data.files.OPTIONAL_COLUMNS`."""
GROUP_EVALUATIONS = 20_000
"""Gradients of a group of texts that run together: full batches, and little lost by a cancel."""
MOST_TOGETHER = 256
_FIRST_TOGETHER = 4
_SHARES, _LEAST_TOGETHER = 6, 500
"""Groups for each of several workers that run the texts, and the least gradients of a group."""


@dataclass(frozen=True, eq=False)
class _Texts:
    """The ``rows`` of a data set that a model can read, with the facts of each, by its place.

    ``lengths`` int64 [n] in tokens, ``keys`` bytes [n] of their requests, and ``same`` int64 [n]: the place of the
    first row with the same request, where the facts of its text are written. ``finished`` [n] has ``done``, its cost,
    and ``warned``; ``kept`` the part of its body that the result needs. ``known`` are the warnings of the model, which
    all texts have.
    """

    rows: Sequence[Row]
    lengths: np.ndarray
    keys: np.ndarray
    same: np.ndarray
    finished: np.ndarray
    kept: Any
    known: tuple[str, ...]


class TextAnalysis(Analysis, Generic[T, D]):
    """An analysis of a text with a body ``T``; a data set is analysed text by text and summarised in a ``D``."""

    @abstractmethod
    def of_texts(self, subjects: Sequence[Subject], parameters: Any) -> list[T]:
        """Return the body of every subject; their model passes are batched together."""

    @abstractmethod
    def of_rows(self, rows: Sequence[Row], bodies: Any, parameters: Any) -> D:
        """Return the body of a data set, which summarises the bodies of its n texts.

        ``bodies`` are an array of objects [n], or the :attr:`Requirements.table` of n texts.
        """

    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> AnalysisResult[Any]:
        """See :meth:`Analysis.run`.

        Finished texts of a data set are stored in the context's memory under the keys of their own requests: a stopped
        analysis continues there, and a text that was analysed alone is not run again.
        """
        if request.data is not None:
            return self._of_data(classifier, request, context)
        encoding = classifier.encode(request.single_text, request.text_pair)
        needs = self.requirements(self.parameters(request))
        passes = needs.passes(TextSize.of(encoding, request.unit), classifier.model.depth)
        context.progress.expect(expected_work(passes, len(encoding), classifier.architecture), not needs.adaptive)
        return self._of_group(classifier, [request], context)[0]

    def _of_group(
        self, classifier: Classifier, requests: Sequence[CompleteRequest], context: RunContext
    ) -> list[AnalysisResult[T]]:
        """Return the results of single texts, their passes batched together."""
        batcher = Batcher(classifier, context)
        since = batcher.mark()
        subjects = [_subject(classifier, request, batcher) for request in requests]
        passes.read_label_shares(subjects)
        bodies = self.of_texts(subjects, self.parameters(requests[0]))
        spent = [subject.forward + subject.backward for subject in subjects]
        seconds = (batcher.mark().seconds - since.seconds) / max(1, sum(spent))
        return [
            AnalysisResult(
                request=request,
                body=body,
                cost=Cost(subject.forward, subject.backward, seconds * count),
                warnings=(*subject.reading_warnings, *subject.warnings, *batcher.warnings, *subject.notes),
                versions=self.versions(classifier),
            )
            for request, subject, body, count in zip(requests, subjects, bodies, spent, strict=True)
        ]

    def _of_data(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> AnalysisResult[D]:
        data, sample = dataset_of(self, classifier, request, context.reader)
        rows, lengths, unreadable = _readable(classifier, data.rows)
        skipped = [Skipped(*bad) for bad in sorted([*data.skipped, *unreadable])]
        if not rows:
            raise RequestError(f"No text of {data.name} can be studied.", f"Row {skipped[0].row}: {skipped[0].reason}")
        parameters = self.parameters(request)
        needs = self.requirements(parameters)
        for role in needs.extra_columns:
            if not any(_marks_of(row, role) for row in data.rows):
                raise without_marks(data.name, role, request.columns)
        asked = partial(row_request, request, extra_columns=needs.extra_columns)
        read = needs.fingerprint(parameters, context.reader)
        own_keys = (result_key(self.identity_with(asked(row), read), classifier.digest) for row in rows)
        keys = np.fromiter(own_keys, "S64", len(rows))
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        same = first[number]
        finished = np.zeros(
            len(rows), dtype=[("done", "?"), ("passes", "i8", (2,)), ("seconds", "f8"), ("warned", "?")]
        )
        kept = needs.table(classifier.labels, len(rows)) if needs.table else np.empty(len(rows), dtype=object)
        texts = _Texts(rows, lengths, keys, same, finished, kept, tuple(model_warnings(classifier)))

        def result() -> AnalysisResult[D]:
            """Return the result over the texts that are finished now."""
            places = np.flatnonzero(finished["done"][same])
            own = finished[same[places]]
            forward, backward = own["passes"].sum(axis=0).tolist()
            studied = Chosen(rows, places)
            warned = warnings_of(skipped, own["warned"].sum().item(), len(own))
            return AnalysisResult(
                request=request,
                body=self.of_rows(studied, kept[same[places]], parameters),
                skipped=tuple(skipped),
                sample=sample,
                cost=Cost(forward, backward, own["seconds"].sum().item()),
                warnings=(*texts.known, *warned, *data.notes, *_without_paraphrase(studied, needs)),
                versions=self.versions(classifier),
            )

        for _ in self._finish(classifier, texts, needs, asked, context):
            context.progress.show(result)
        return result()

    def _finish(
        self,
        classifier: Classifier,
        texts: _Texts,
        needs: Requirements,
        asked: Callable[[Row], CompleteRequest],
        context: RunContext,
    ) -> Iterator[None]:
        """Finish all ``texts``: from the context's memory, or run in groups of similar length; yield after each.

        The first group is small, so that the time of a text is soon known. Others may run some of the groups. Nothing
        else of a text stays in memory.
        """
        distinct = np.unique(texts.same)
        self._recall(texts, distinct, context)
        pending = distinct[~texts.finished["done"][distinct]]
        work = np.zeros(len(texts.rows))
        work[pending] = [text_work(classifier, needs, length) for length in texts.lengths[pending].tolist()]
        context.progress.expect(work.sum().item(), not needs.adaptive)
        finished = Counted(context, len(distinct) - len(pending), len(distinct), "texts")
        ordered = _typical_first(pending[np.argsort(work[pending], kind="stable")])

        def run(group: Sequence[int]) -> None:
            context.progress.part(work[group].sum().item())
            results = self._of_group(classifier, [asked(texts.rows[place]) for place in group], finished.context)
            keys = [texts.keys[place].decode() for place in group]
            context.results.put_many({key: own.to_json() for key, own in zip(keys, results, strict=True)})
            for place, own in zip(group, results, strict=True):
                self._note(texts, place, own)
            finished.finish(len(group))

        gradients = work / texts.lengths
        together: float = GROUP_EVALUATIONS * (needs.rounds if classifier.device.type == "cuda" else 1)
        if context.shards.workers > 1:
            together = min(together, max(_LEAST_TOGETHER, gradients.sum() / (_SHARES * context.shards.workers)))
        groups = list(_groups(ordered, gradients, together))
        if context.shards.workers > 1:
            groups[1:] = groups[:0:-1]  # the slowest groups do not begin last
        for group in context.shards.take(digest([*map(bytes.decode, texts.keys.tolist())]), groups):
            run(group)
            yield
        finished.finish(self._recall(texts, distinct[~texts.finished["done"][distinct]], context))
        for group in groups:
            if not texts.finished["done"][group].all():  # done elsewhere, and lost
                run(group)
                yield

    def _recall(self, texts: _Texts, places: np.ndarray, context: RunContext) -> int:
        """Take the texts at ``places`` that the context remembers, and return their number."""
        known = 0
        for start in range(0, len(places), MOST_TOGETHER):
            by_key = {texts.keys[place].decode(): place for place in places[start : start + MOST_TOGETHER]}
            for key, record in context.results.get_many(by_key).items():
                self._note(texts, by_key[key], self.read(record))
                known += 1
        return known

    def _note(self, texts: _Texts, place: int, result: AnalysisResult[T]) -> None:
        cost = result.cost
        alone = result.body.shown_alone
        texts.kept[place] = result.body.model_copy(update={name: [] for name in alone}) if alone else result.body
        texts.finished[place] = (
            True,
            (cost.forward, cost.backward),
            cost.seconds,
            bool({*result.warnings} - {*texts.known}),
        )


def text_work(classifier: Classifier, needs: Requirements, tokens: int) -> float:
    """Return the most work that a text of ``tokens`` tokens is expected to take."""
    passes = needs.passes(TextSize(tokens, tokens), classifier.model.depth)
    return expected_work(passes, tokens, classifier.architecture)


def _without_paraphrase(rows: Sequence[Row], needs: Requirements) -> Sequence[str]:
    """Warn of the ``rows`` that lack a paraphrase where the analysis reads one."""
    missing = sum(not row.paraphrases for row in rows) if "paraphrase" in needs.extra_columns else 0
    if not missing:
        return ()
    have = "has" if missing == 1 else "have"
    return (f"{missing:,} of {counted(len(rows), 'text')} {have} no paraphrase, and nothing of edits=column.",)


def row_request(request: CompleteRequest, row: Row, extra_columns: Collection[str]) -> CompleteRequest:
    """Return ``request`` for one text of its data set; the target ``gold`` becomes the row's label.

    Of its roles of :data:`explainlab.data.files.OPTIONAL_COLUMNS`, it has those that ``extra_columns`` names.
    """
    target = row.label if request.target == GOLD else request.target
    text: dict[str, Any] = {"data": None, "columns": {}, "classes": {}, "text": row.text, "text_pair": row.text_pair}
    asked = {name: getattr(row, name) for role in extra_columns for name in _FIELDS[role]}
    return request.model_copy(update={**text, **asked, "target": target})


def _marks_of(row: Row, role: str) -> bool:
    """Tell if the ``row`` has anything for a ``role``."""
    return any(getattr(row, name) for name in _FIELDS[role])


def _typical_first(ordered: np.ndarray) -> np.ndarray:
    """Return the middle ones of ``ordered`` before the others."""
    start = max(0, (len(ordered) - _FIRST_TOGETHER) // 2)
    end = start + _FIRST_TOGETHER
    return np.concatenate([ordered[start:end], ordered[:start], ordered[end:]])


def _groups(places: np.ndarray, gradients: np.ndarray, together: float) -> Iterator[list[int]]:
    """Yield the ``places`` of texts in groups that run ``together``; each text takes its ``gradients`` float64 [n]."""
    group: list[int] = []
    most, sum_of_group = _FIRST_TOGETHER, 0.0
    for place in map(int, places):
        own = gradients[place].item()
        if group and (len(group) == most or sum_of_group + own > together):
            yield group
            group, sum_of_group, most = [], 0.0, MOST_TOGETHER
        group.append(place)
        sum_of_group += own
    if group:
        yield group


def _subject(classifier: Classifier, request: CompleteRequest, batcher: Batcher) -> Subject:
    return Subject(
        classifier,
        classifier.encode(request.single_text, request.text_pair),
        target=request.target,
        output=request.output,
        unit=request.unit,
        seed=request.seed,
        baseline_data=request.parameters.get("baseline_data", ""),
        batcher=batcher,
        rationale=request.rationales,
        paraphrases=request.paraphrases,
    )


def _readable(classifier: Classifier, rows: Sequence[Row]) -> tuple[Sequence[Row], np.ndarray, list[tuple[int, str]]]:
    """Return the rows that this model can encode, their tokens int64 [n], and the other rows with the reason."""
    good, lengths, bad = array("q"), array("q"), []
    for place, row in enumerate(rows):
        try:
            lengths.append(len(classifier.encode(row.text, row.text_pair)))
            good.append(place)
        except TextError as error:
            bad.append((row.number, error.problem))
    return Chosen(rows, np.array(good)), np.array(lengths), bad
