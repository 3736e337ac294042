"""Running a study: one text, or the texts of a data set in groups whose passes run together, none of them twice."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from explainlab.analyses.base import GOLD, AnyStudy, DataStudy, DataSubject, Study, StudyRequest, StudyResult
from explainlab.analyses.evaluation.analysis import MOST_ROWS, Evaluation
from explainlab.analyses.registry import complete, evaluations, get_study, study_key
from explainlab.attribution.explain import cut_warning, versions
from explainlab.attribution.records import Cost
from explainlab.attribution.subject import Subject
from explainlab.data import Row, read_dataset
from explainlab.declared import parse
from explainlab.errors import RequestError, TextError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import Relay, RunContext
from explainlab.request import checked
from explainlab.settings import settings

GROUP_EVALUATIONS = 20_000
"""Texts run together until they need about so many gradients: full batches, and little lost by a cancel."""
MOST_TOGETHER = 64


def study(
    classifier: Classifier,
    study: str,
    text: str | None = None,
    *,
    text_pair: str | None = None,
    data: str | None = None,
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    target: str | int = "predicted",
    output: str | None = None,
    unit: str = "token",
    seed: int = 0,
    context: RunContext | None = None,
    **parameters: Any,
) -> StudyResult:
    """Ask ``study`` of one ``text`` (and its pair), or of the texts of the data set ``data``.

    ``columns`` and ``classes`` say how the data set is read (see :func:`explainlab.data.read_dataset`). The other
    arguments are those of :func:`explainlab.explain`. ``result.body`` is a plain record. Raises the errors of
    :mod:`explainlab.errors`, each with what to do about it.
    """
    request = checked(
        StudyRequest,
        study=study,
        model=classifier.id,
        text=text,
        text_pair=text_pair,
        data=data,
        columns=dict(columns or {}),
        classes=dict(classes or {}),
        parameters=parameters,
        target=str(target),
        output=output or get_study(study).default_output(parameters),
        unit=unit,
        seed=seed,
        dtype=str(classifier.dtype).removeprefix("torch."),
    )
    return answer_study(classifier, request, context)


def evaluate(
    classifier: Classifier,
    data: str,
    methods: Sequence[str] = ("integrated_gradients",),
    metrics: Sequence[str] = ("comprehensiveness", "sufficiency"),
    *,
    limit: int | None = None,
    skip_bad: bool = False,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    attributions: Sequence[str] = (),
    **common: Any,
) -> StudyResult:
    """Judge ``methods`` by ``metrics`` on the data set ``data``; ``random`` is always among the methods.

    ``limit`` ends after that many rows; ``settings`` are parameters of methods by id; ``attributions`` are JSON files
    of maps made elsewhere; ``common`` are target, output, unit, seed and context as in :func:`study`.
    ``result.body["rows"]`` is the table. Raises :class:`DataError` for a row that cannot be used, unless ``skip_bad``.
    """
    if not skip_bad:
        read_dataset(data, classifier.labels, limit)
    asked = evaluation_parameters(methods, metrics, limit, settings or {}, attributions)
    return study(classifier, Evaluation.id, data=data, **common, **asked)


def evaluation_parameters(
    methods: Sequence[str],
    metrics: Sequence[str],
    limit: int | None,
    settings: Mapping[str, Any],
    attributions: Sequence[str],
) -> dict[str, Any]:
    """The parameters of the study behind :func:`evaluate`; without a ``limit`` all rows there are."""
    return {
        "methods": list(methods),
        "metrics": list(metrics),
        "settings": dict(settings),
        "attributions": list(attributions),
        "rows": limit or MOST_ROWS,
    }


def answer_study(classifier: Classifier, request: StudyRequest, context: RunContext | None = None) -> StudyResult:
    """What ``request`` asks of its loaded ``classifier``.

    The texts of a data set are kept in the context's memory as they are finished, under the keys of their own
    requests: a study that was stopped goes on where it was, and a text that was ever asked alone is not run again.
    """
    request = complete(request)
    found = get_study(request.study)
    context = context or RunContext()
    check_affordable(request)
    if request.data is not None:
        return _of_data(found, classifier, request, context)
    if isinstance(found, DataStudy):
        raise RequestError(f"{found.label} are of a data set, not of a single text.", "Name a data set instead.")
    return _results(found, classifier, [request], context)[0]


def check_affordable(request: StudyRequest) -> None:
    """Raise :class:`RequestError` if one text of ``request`` costs more than the settings allow."""
    limit, cost = settings().max_evaluations, evaluations(request)
    if cost > limit:
        raise RequestError(
            f"This study needs {cost:,} gradients a text; the limit is {limit:,}.",
            "Ask for fewer steps or rules, or raise EXPLAINLAB_MAX_EVALUATIONS.",
        )


def _results(
    found: Study, classifier: Classifier, requests: Sequence[StudyRequest], context: RunContext
) -> list[StudyResult]:
    """The results of single texts, their passes batched together."""
    start = time.perf_counter()
    parameters = parse(found, requests[0].parameters)
    batcher = Batcher(classifier, context)
    subjects = [_subject(classifier, request, batcher) for request in requests]
    bodies = found.of_texts(subjects, parameters)
    passes = [subject.forward + subject.backward for subject in subjects]
    seconds = (time.perf_counter() - start) / max(1, sum(passes))
    return [
        StudyResult(
            request=request,
            body=body,
            cost=Cost(subject.forward, subject.backward, seconds * count),
            warnings=(*cut_warning(subject.encoding), *subject.warnings, *batcher.warnings, *subject.notes),
            versions=_versions(found, classifier),
        )
        for request, subject, body, count in zip(requests, subjects, bodies, passes, strict=True)
    ]


def _subject(classifier: Classifier, request: StudyRequest, batcher: Batcher) -> Subject:
    return Subject(
        classifier,
        classifier.encode(request.text, request.text_pair),
        target=request.target,
        output=request.output,
        unit=request.unit,
        seed=request.seed,
        baseline_data=request.parameters.get("baseline_data", ""),
        batcher=batcher,
    )


def _of_data(found: AnyStudy, classifier: Classifier, request: StudyRequest, context: RunContext) -> StudyResult:
    labels = classifier.labels if found.labelled or request.target == GOLD else None
    data = read_dataset(
        request.data,
        labels,
        limit=request.parameters["rows"],
        skip_bad=True,
        columns=request.columns,
        classes=request.classes,
    )
    if isinstance(found, DataStudy):
        return _together(found, DataSubject(classifier, data.rows, request, context), data.skipped)
    rows, skipped = _readable(classifier, data.rows)
    skipped = sorted([*data.skipped, *skipped])
    if not rows:
        raise RequestError(f"No text of {data.name} can be studied.", f"Row {skipped[0][0]}: {skipped[0][1]}")
    together = max(1, min(MOST_TOGETHER, GROUP_EVALUATIONS // evaluations(request)))
    results = _each(found, classifier, [request.of_row(row) for row in rows], together, context)
    body = found.of_rows(rows, [result.body for result in results], parse(found, request.parameters))
    costs = [result.cost for result in results]
    return StudyResult(
        request=request,
        body={**body, "skipped": [list(bad) for bad in skipped]},
        cost=Cost(*(sum(getattr(cost, part) for cost in costs) for part in ("forward", "backward", "seconds"))),
        warnings=_told(skipped, results),
        versions=_versions(found, classifier),
    )


def _together(found: DataStudy, subject: DataSubject, skipped: Sequence[tuple[int, str]]) -> StudyResult:
    """The result of a study that judges all rows together; ``skipped`` could not even be read from the file."""
    start = time.perf_counter()
    body = found.of_data(subject, parse(found, subject.request.parameters))
    left_out = sorted([*skipped, *subject.skipped])
    return StudyResult(
        request=subject.request,
        body={**body, "skipped": [list(bad) for bad in left_out]},
        cost=Cost(subject.forward, subject.backward, time.perf_counter() - start),
        warnings=(*_told(left_out, ()), *subject.warnings),
        versions=_versions(found, subject.classifier),
    )


def _readable(classifier: Classifier, rows: Sequence[Row]) -> tuple[list[Row], list[tuple[int, str]]]:
    """The rows that this model can encode, and the others with the reason."""
    good, bad = [], []
    for row in rows:
        try:
            classifier.encode(row.text, row.text_pair)
            good.append(row)
        except TextError as error:
            bad.append((row.number, error.problem))
    return good, bad


def _each(
    found: Study, classifier: Classifier, requests: Sequence[StudyRequest], together: int, context: RunContext
) -> list[StudyResult]:
    """The result of every text, from the context's memory or run in groups of texts of like length."""
    keys = [study_key(request, classifier.digest) for request in requests]
    known = {key: StudyResult.from_json(body) for key in keys if (body := context.recall(key)) is not None}
    missing = {key: request for key, request in zip(keys, requests, strict=True) if key not in known}
    ordered = iter(sorted(missing.items(), key=lambda item: len(item[1].text) + len(item[1].text_pair or "")))
    progress = _Rows(context, len(known), len(known) + len(missing))
    while group := list(islice(ordered, together)):
        progress.group = len(group)
        results = _results(found, classifier, [request for _, request in group], progress)
        for (key, _), result in zip(group, results, strict=True):
            context.keep(key, result.to_json())
            known[key] = result
        progress.finish()
    return [known[key] for key in keys]


class _Rows(Relay):
    """Tells progress in texts while a group of them runs; cancels and remembers as ``context`` does."""

    def __init__(self, context: RunContext, finished: int, total: int) -> None:
        super().__init__(context)
        self._finished, self._total, self._told = finished, total, finished
        self.group = 0

    def report(self, done: int, total: int, phase: str) -> None:
        self._told = max(self._told, self._finished + int(self.group * done / (total + 1)))
        self._context.report(self._told, self._total, "texts")

    def finish(self) -> None:
        """The group is done."""
        self._finished = self._told = self._finished + self.group
        self._context.report(self._told, self._total, "texts")


def _told(skipped: Sequence[tuple[int, str]], results: Sequence[StudyResult]) -> tuple[str, ...]:
    warnings = []
    if skipped:
        number, reason = skipped[0]
        rows = f"{len(skipped)} row{'s were' if len(skipped) > 1 else ' was'} left out"
        warnings.append(f"{rows}; row {number}: {reason}")
    warned = sum(bool(result.warnings) for result in results)
    if warned:
        warnings.append(f"{warned} of {len(results)} texts have warnings of their own.")
    return tuple(warnings)


def _versions(found: AnyStudy, classifier: Classifier) -> dict[str, str]:
    own = {"study": str(found.version), "model": classifier.digest, "device": str(classifier.device)}
    return {**versions(), **own}
