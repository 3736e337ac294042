"""Analyses of single texts; a data set is analysed text by text, in groups whose passes run together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
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


class TextAnalysis(Analysis, Generic[T, D]):
    """An analysis of a text with a body ``T``; a data set is analysed text by text and summarised in a ``D``.

    ``TextBody`` and ``DataBody`` are the two as classes.
    """

    TextBody: type[T]
    DataBody: type[D]

    @abstractmethod
    def of_texts(self, subjects: Sequence[Subject], parameters: Any) -> list[T]:
        """The body of every subject; their model passes are batched together."""

    @abstractmethod
    def of_rows(self, rows: Sequence[Row], bodies: Sequence[T], parameters: Any) -> D:
        """The body of a data set, from those of its texts: what each text contributes, and a summary."""

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
        compares = self.compares(self.parameters(request))
        if compares:
            require_rationales(data, request.columns)
        results = self._of_rows(classifier, [row_request(request, row, compares) for row in rows], lengths, context)
        return AnalysisResult(
            request=request,
            body=self.of_rows(rows, [result.body for result in results], self.parameters(request)),
            skipped=tuple(skipped),
            sample=sample,
            cost=Cost.total(result.cost for result in results),
            warnings=warnings_of(skipped, results),
            versions=self.versions(classifier),
        )

    def _of_rows(
        self,
        classifier: Classifier,
        requests: Sequence[CompleteRequest],
        lengths: Sequence[int],
        context: RunContext,
    ) -> list[AnalysisResult[T]]:
        """The result of every text of ``lengths`` tokens, from the context's memory or run in groups of like length.

        The first group is small, so that what a text takes is soon known.
        """
        keys = [self.key(request, classifier.digest, context.reader) for request in requests]
        known = {key: self.read(record) for key, record in context.recall_results(keys).items()}
        parameters = self.parameters(requests[0])
        missing = {
            key: (request, self._work(classifier, parameters, length), length)
            for key, request, length in zip(keys, requests, lengths, strict=True)
            if key not in known
        }
        context.expect(sum(work for _, work, _ in missing.values()), not self.adaptive(parameters))
        progress = _Texts(context, len(known), len(known) + len(missing))
        ordered = _typical_first(sorted(missing, key=lambda key: missing[key][1]))
        for group in _groups({key: missing[key][1] / missing[key][2] for key in ordered}):
            context.part(sum(missing[key][1] for key in group))
            results = self._of_group(classifier, [missing[key][0] for key in group], progress)
            known |= zip(group, results, strict=True)
            context.keep_results({key: known[key].to_json() for key in group})
            progress.finish(len(group))
        return [known[key] for key in keys]


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
