"""Analyses of single texts; a data set is analysed text by text, in groups whose passes run together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from reprlib import repr as quote
from typing import Any, Generic, TypeVar

from explainlab.analyses.base import Analysis, AnalysisResult, Record, Skipped
from explainlab.analyses.data_analysis import dataset_of, warnings_of
from explainlab.attribution import passes
from explainlab.attribution.subject import Subject
from explainlab.data import Dataset, Row
from explainlab.errors import RequestError, TextError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import Relay, RunContext
from explainlab.request import GOLD, CompleteRequest
from explainlab.result import Cost

T = TypeVar("T", bound=Record)
D = TypeVar("D", bound=Record)

GROUP_EVALUATIONS = 20_000
"""Texts run together until they need about so many gradients: full batches, and little lost by a cancel."""
_MOST_TOGETHER = 256
_FIRST_TOGETHER = 4


@dataclass(frozen=True, slots=True)
class _Finished:
    """What the result of a data set needs of a finished text: what is ``kept`` of its body, and its facts."""

    kept: Any
    cost: Cost
    warned: bool


class TextAnalysis(Analysis, Generic[T, D]):
    """An analysis of a text with a body ``T``; a data set is analysed text by text and summarised in a ``D``.

    ``TextBody`` and ``DataBody`` are the two as classes.
    """

    TextBody: type[T]
    DataBody: type[D]

    @abstractmethod
    def of_texts(self, subjects: Sequence[Subject], parameters: Any) -> list[T]:
        """The body of every subject; their model passes are batched together."""

    def kept(self, body: T) -> Any:
        """What :meth:`of_rows` needs of the body of a text: all of it, unless overridden for very many texts."""
        return body

    @abstractmethod
    def of_rows(self, rows: Sequence[Row], bodies: Sequence[Any], parameters: Any) -> D:
        """The body of a data set, from what is :meth:`kept` of its texts: what each contributes, and a summary."""

    def compares(self, parameters: Any) -> bool:
        """Whether it compares with the rationale of a text, which is then part of what is asked."""
        return False

    def answer(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> AnalysisResult[Any]:
        """See :meth:`Analysis.answer`.

        Finished texts of a data set are stored in the context's memory under the keys of their own requests: a stopped
        analysis continues there, and a text that was analysed alone is not run again.
        """
        if request.data is not None:
            return self._of_data(classifier, request, context)
        parameters = self.parameters(request)
        tokens = len(classifier.encode(request.single_text, request.text_pair))
        context.expect(self._work(classifier, parameters, tokens), not self.adaptive(parameters))
        return self._of_group(classifier, [request], context)[0]

    def read(self, record: Mapping[str, Any]) -> AnalysisResult[Any]:
        """See :meth:`Analysis.read`."""
        return self._read(record, self.TextBody if record.get("text") is not None else self.DataBody)

    def _work(self, classifier: Classifier, parameters: Any, tokens: int) -> float:
        """The work that a text of ``tokens`` tokens is expected to take."""
        return tokens * self.work(parameters, tokens, classifier.model.depth)

    def _of_group(
        self, classifier: Classifier, requests: Sequence[CompleteRequest], context: RunContext
    ) -> list[AnalysisResult[T]]:
        """The results of single texts, their passes batched together."""
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
                warnings=(*subject.caveats, *subject.warnings, *batcher.warnings, *subject.notes),
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
        compares = self.compares(parameters)
        if compares:
            require_rationales(data, request.columns)
        asked = partial(row_request, request, compares=compares)
        keys = [self.key(asked(row), classifier.digest, context.reader) for row in rows]
        done: dict[str, _Finished] = {}

        def result() -> AnalysisResult[D]:
            """The result of the texts that are finished now."""
            finished = [(row, own) for row, key in zip(rows, keys, strict=True) if (own := done.get(key))]
            return AnalysisResult(
                request=request,
                body=self.of_rows([row for row, _ in finished], [own.kept for _, own in finished], parameters),
                skipped=tuple(skipped),
                sample=sample,
                cost=Cost.total(own.cost for _, own in finished),
                warnings=warnings_of(skipped, sum(own.warned for _, own in finished), len(finished)),
                versions=self.versions(classifier),
            )

        texts = {key: (row, length) for key, row, length in zip(keys, rows, lengths, strict=True)}
        for _ in self._finish(classifier, texts, asked, done, context):
            context.show(result)
        return result()

    def _finish(
        self,
        classifier: Classifier,
        texts: Mapping[str, tuple[Row, int]],
        asked: Callable[[Row], CompleteRequest],
        done: dict[str, _Finished],
        context: RunContext,
    ) -> Iterator[None]:
        """Put every text into ``done``: from the context's memory, or run in groups of like length; yields after each.

        ``texts`` are rows with their tokens, by the keys of their requests. The first group is small, so that what a
        text takes is soon known. Nothing else of a text stays in memory.
        """
        keys = iter(texts)
        while window := list(islice(keys, _MOST_TOGETHER)):
            done |= {key: self._finished(self.read(own)) for key, own in context.recall_results(window).items()}
        parameters = self.parameters(asked(next(iter(texts.values()))[0]))
        work = {
            key: self._work(classifier, parameters, length) for key, (_, length) in texts.items() if key not in done
        }
        context.expect(sum(work.values()), not self.adaptive(parameters))
        progress = _Texts(context, len(done), len(texts))
        ordered = _typical_first(sorted(work, key=work.__getitem__))
        for group in _groups({key: work[key] / texts[key][1] for key in ordered}):
            context.part(sum(work[key] for key in group))
            results = self._of_group(classifier, [asked(texts[key][0]) for key in group], progress)
            context.keep_results({key: own.to_json() for key, own in zip(group, results, strict=True)})
            done |= {key: self._finished(own) for key, own in zip(group, results, strict=True)}
            progress.finish(len(group))
            yield

    def _finished(self, result: AnalysisResult[T]) -> _Finished:
        return _Finished(self.kept(result.body), result.cost, bool(result.warnings))


def row_request(request: CompleteRequest, row: Row, compares: bool) -> CompleteRequest:
    """``request`` for one text of its data set; the target ``gold`` becomes the row's label.

    The row's rationale is asked about only if the analysis ``compares`` with it.
    """
    target = row.label if request.target == GOLD else request.target
    text: dict[str, Any] = {"data": None, "columns": {}, "classes": {}, "text": row.text, "text_pair": row.text_pair}
    rationale = {"rationale": row.rationale, "rationale_pair": row.rationale_pair} if compares else {}
    return request.model_copy(update={**text, **rationale, "target": target})


def require_rationales(data: Dataset, columns: Mapping[str, str]) -> None:
    """Raise :class:`RequestError` unless something is marked in a row of ``data``."""
    if not any(row.rationale or row.rationale_pair for row in data.rows):
        column = columns.get("rationale", "rationale")
        raise RequestError(
            f"{data.name} marks no rationale: its column {quote(column)} is missing or empty in all rows read.",
            "Write there which characters are the evidence, as in [[0, 4], [10, 15]], of a second text in rationale_b; "
            "or leave out the metrics that need it.",
        )


def _typical_first(ordered: Sequence[str]) -> list[str]:
    """The middle ones of ``ordered`` before the others."""
    start = max(0, (len(ordered) - _FIRST_TOGETHER) // 2)
    end = start + _FIRST_TOGETHER
    return [*ordered[start:end], *ordered[:start], *ordered[end:]]


def _groups(gradients: Mapping[str, float]) -> Iterator[list[str]]:
    """The keys of texts in groups that run together, from the ``gradients`` that each of them takes."""
    group: list[str] = []
    most, sum_of_group = _FIRST_TOGETHER, 0.0
    for key, own in gradients.items():
        if group and (len(group) == most or sum_of_group + own > GROUP_EVALUATIONS):
            yield group
            group, sum_of_group, most = [], 0.0, _MOST_TOGETHER
        group.append(key)
        sum_of_group += own
    if group:
        yield group


class _Texts(Relay):
    """Reports progress in finished texts while a group of them runs; cancels and remembers as ``context`` does."""

    def __init__(self, context: RunContext, finished: int, total: int) -> None:
        super().__init__(context)
        self._finished, self._total = finished, total

    def report(self, done: int, total: int, phase: str) -> None:
        self._context.report(self._finished, self._total, "texts")

    def finish(self, texts: int) -> None:
        """So many more texts are done."""
        self._finished += texts
        self._context.report(self._finished, self._total, "texts")


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
    )


def _readable(classifier: Classifier, rows: Sequence[Row]) -> tuple[list[Row], list[int], list[tuple[int, str]]]:
    """The rows that this model can encode, their tokens, and the other rows with the reason."""
    good, lengths, bad = [], [], []
    for row in rows:
        try:
            lengths.append(len(classifier.encode(row.text, row.text_pair)))
            good.append(row)
        except TextError as error:
            bad.append((row.number, error.problem))
    return good, lengths, bad
