"""Analyses of whole data sets, which a single text cannot answer."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from explainlab.analyses.base import Analysis, AnalysisResult, Record, Sampled, Skipped
from explainlab.data import Dataset, Row, read_dataset
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.reading_warnings import model_warnings
from explainlab.reader import Reader
from explainlab.request import CompleteRequest
from explainlab.result import Cost

D = TypeVar("D", bound=Record)


@dataclass(eq=False)
class DataSubject:
    """The ``rows`` of a data set and one classifier, for an analysis of all rows together.

    The analysis counts the passes that it makes in ``forward`` and ``backward`` and adds the rows that this model
    cannot read to ``skipped``, each as its number and the reason.
    """

    classifier: Classifier
    rows: Sequence[Row]
    request: CompleteRequest
    context: RunContext
    forward: int = 0
    backward: int = 0
    warnings: list[str] = field(default_factory=list)
    skipped: list[tuple[int, str]] = field(default_factory=list)


class DataAnalysis(Analysis, Generic[D]):
    """One question to a whole data set, answered by a body ``D``."""

    @abstractmethod
    def of_data(self, subject: DataSubject, parameters: Any) -> D:
        """Compute the body; parts are stored with the subject's context, so that a stopped run goes on."""

    def run(self, classifier: Classifier, request: CompleteRequest, context: RunContext) -> AnalysisResult[D]:
        """See :meth:`Analysis.run`; raises :class:`RequestError` for a single text."""
        if request.data is None:
            raise RequestError(
                f"{self.label} are computed for a data set, not for a single text.", "Choose a data set instead."
            )
        data, sample = dataset_of(self, classifier, request, context.reader)
        clock = Clock(context)
        subject = DataSubject(classifier, data.rows, request, clock.context)
        body = self.of_data(subject, self.parameters(request))
        skipped = [Skipped(*bad) for bad in sorted([*data.skipped, *subject.skipped])]
        return AnalysisResult(
            request=request,
            body=body,
            skipped=tuple(skipped),
            sample=sample,
            cost=Cost(subject.forward, subject.backward, clock.seconds),
            warnings=(*model_warnings(classifier), *warnings_of(skipped), *data.notes, *subject.warnings),
            versions=self.versions(classifier),
        )


class Clock:
    """A clock of the own time of the run that has its ``context``: urgent work of others between two batches does not
    count.
    """

    def __init__(self, context: RunContext) -> None:
        self.context = replace(context, check_cancelled=self._check)
        self._check_context = context.check_cancelled
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """The seconds since the clock started, without the pauses."""
        return time.perf_counter() - self._started

    def _check(self) -> None:
        start = time.perf_counter()
        self._check_context()
        self._started += time.perf_counter() - start


def dataset_of(
    analysis: Analysis, classifier: Classifier, request: CompleteRequest, reader: Reader
) -> tuple[Dataset, Sampled]:
    """Return the rows of a data set that ``request`` asks ``analysis`` about, read as ``reader``, and their sampling.

    An analysis without the parameter ``sample`` gets the first rows. Raises as :func:`explainlab.data.read_dataset`.
    """
    assert request.data is not None
    drawn, needs = request.parameters.get("sample", "first"), analysis.requirements(analysis.parameters(request))
    needs_label = needs.needs_labels(request.target, request.columns, request.classes)
    data = read_dataset(
        request.data,
        classifier.labels if needs_label or needs.uses_labels else None,
        limit=None if drawn == "all" else request.parameters["rows"],
        skip_bad=True,
        columns=request.columns,
        classes=request.classes,
        reader=reader,
        seed=request.seed if drawn == "random" else None,
        marks=needs.extra_columns,
        needs_label=needs_label,
    )
    return data, Sampled(drawn=drawn, rows=len(data.rows), total=data.total, seed=request.seed)


def warnings_of(skipped: Sequence[Skipped], warned: int = 0, texts: int = 0) -> tuple[str, ...]:
    """Return warnings of a data set's result: the rows left out, and the number of its ``texts`` with own warnings."""
    warnings = []
    if skipped:
        rows = f"{len(skipped)} row{'s were' if len(skipped) > 1 else ' was'} left out"
        warnings.append(f"{rows}; row {skipped[0].row}: {skipped[0].reason}")
    if warned:
        warnings.append(f"Texts with warnings of their own: {warned} of {texts}.")
    return tuple(warnings)
