"""Functions that run an analysis from Python: of one text, or of a data set."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.cells import cells, cells_of, parameters_on, require_data
from explainlab.analyses.evaluation.analysis import Evaluation
from explainlab.analyses.parameters import MOST_ROWS, listed
from explainlab.analyses.registry import answer, answer_alone, complete, get_study, named_base, new_request
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import request_label
from explainlab.data import as_named, read_dataset
from explainlab.declared import parse
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext, sharded
from explainlab.models.devices import choose_device
from explainlab.reader import Reader
from explainlab.request import Request
from explainlab.result import Result

Attributions = str | Path | Attribution | Sequence[str | Path | Attribution]
"""Attributions made elsewhere: files, or attributions in memory."""


def study(
    models: Classifier | Sequence[Classifier | str] | None,
    study: str,
    text: str | None = None,
    *,
    data: Any = None,
    **named: Any,
) -> Any:
    """Run ``study`` on one ``text``, or on the data set ``data``, as :func:`study_one`, which has all arguments.

    A data set is a file's name or path, an id, a pandas DataFrame, or a list of records (see
    :func:`explainlab.data.as_named`).

    Of several ``models`` (loaded, or ids that are loaded in their turn) or data sets a list of
    :class:`explainlab.analyses.cells.Cell`, in the order of the models, then of the data sets: each has its own result,
    or the reason why there is none. Raises :class:`RequestError` for several models and a text.

    ``models`` are None for a study that needs no loaded classifier: of those that train, ``base`` names the start: an
    architecture or the id of a model.
    """
    with as_named(data) as every:
        if (every is None or isinstance(every, str)) and (models is None or isinstance(models, Classifier)):
            return study_one(models, study, text, data=every, **named)
        asked = require_data(text, every)
        sources = [asked] if isinstance(asked, str) else list(asked)

        def one(model: Classifier | None, source: str) -> AnalysisResult[Any]:
            own = parameters_on(get_study(study), named, sources.index(source), len(sources))
            return study_one(model, study, data=source, **own)

        if models is None:
            base, _ = named_base(study, None, named)
            return list(cells([base], sources, lambda _, source: one(None, source)))
        return cells_of(models, sources, one)


def study_one(
    classifier: Classifier | None,
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
) -> AnalysisResult[Any]:
    """Run ``study`` on one ``text`` (and its pair), or on the data set ``data``.

    ``columns`` and ``classes`` say how the data set is read (see :func:`explainlab.data.read_dataset`). Of its rows, a
    random sample is studied, as large as the study's parameter ``rows``; its parameter ``sample`` asks for the first
    rows or for all. The other arguments are those of :func:`explainlab.explain`. ``result.body`` is a typed record.
    Without a ``classifier`` it runs on the best device here, within the limits of the reader of the ``context``.
    Raises the errors of :mod:`explainlab.errors`, each with advice.
    """
    named = None if classifier is None else classifier.id
    model, parameters = named_base(study, named, parameters, "Give one of explainlab.load_model.")
    request = new_request(
        question=study,
        model=model,
        text=text,
        text_pair=text_pair,
        data=data,
        columns=dict(columns or {}),
        classes=dict(classes or {}),
        parameters=parameters,
        target=str(target),
        output=output,
        unit=unit,
        seed=seed,
        dtype="float32" if classifier is None else str(classifier.dtype).removeprefix("torch."),
    )
    result = _answered_alone(request, context) if classifier is None else answer(classifier, request, context)
    assert isinstance(result, AnalysisResult)
    return result


def _answered_alone(request: Request, context: RunContext | None) -> Result | None:
    context = context or sharded()
    return answer_alone(complete(request), context, choose_device(None).type, context.reader.limits)


def evaluate(
    models: Classifier | Sequence[Classifier | str],
    data: Any,
    methods: str | Sequence[str] = ("integrated_gradients",),
    metrics: str | Sequence[str] = ("comprehensiveness", "sufficiency"),
    **named: Any,
) -> Any:
    """Evaluate ``methods`` by ``metrics`` on the data set ``data`` as :func:`evaluate_one`, which has all arguments.

    A data set is as for :func:`study`; a single name stands for a list of one.

    Of several ``models`` (loaded, or ids that are loaded in their turn) or data sets a list of
    :class:`explainlab.analyses.cells.Cell`, in the order of the models, then of the data sets: each has its own result,
    or the reason why there is none.
    """
    with as_named(data) as every:
        if isinstance(models, Classifier) and isinstance(every, str):
            return evaluate_one(models, every, methods, metrics, **named)
        return cells_of(models, every, lambda model, source: evaluate_one(model, source, methods, metrics, **named))


def evaluate_one(
    classifier: Classifier,
    data: str,
    methods: str | Sequence[str] = ("integrated_gradients",),
    metrics: str | Sequence[str] = ("comprehensiveness", "sufficiency"),
    *,
    columns: Mapping[str, str] | None = None,
    classes: Mapping[str, str] | None = None,
    limit: int | None = None,
    sample: str = "random",
    skip_bad: bool = False,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    attributions: Attributions = (),
    context: RunContext | None = None,
    **common: Any,
) -> AnalysisResult[Any]:
    """Evaluate ``methods`` by ``metrics`` on the data set ``data``, always beside ``random`` and every method reversed.

    ``limit`` is the number of rows (default: :data:`MOST_ROWS`), drawn as ``sample`` says: random, first or all.
    Methods have their options after colons (``"lime:samples=500"``); ``settings`` by id fill in the rest.
    ``attributions`` were made elsewhere: JSON files, or attributions in memory, one for every text that is drawn.
    ``columns``, ``classes``, ``context`` and ``common``
    (target, output, unit, seed) are as in :func:`study_one`.
    ``result.body.rows`` is the table. Raises :class:`DataError` for a row that cannot be used, unless ``skip_bad``.
    """
    context = context or sharded()
    with _as_files(attributions) as files:
        parameters = evaluation_parameters(methods, metrics, limit, sample, settings or {}, files)
        if not skip_bad:
            require_rows(
                data,
                classifier.labels,
                parameters,
                limit,
                common.get("target", "predicted"),
                columns=columns or {},
                classes=classes or {},
                reader=context.reader,
            )
        return study_one(
            classifier,
            Evaluation.id,
            data=data,
            columns=columns,
            classes=classes,
            context=context,
            **common,
            **parameters,
        )


@contextmanager
def _as_files(attributions: Attributions) -> Iterator[list[str]]:
    """Yield the files of ``attributions``; those in memory are written for the time of a run, a file per method."""
    attributions = [attributions] if isinstance(attributions, str | Path | Attribution) else attributions
    in_memory: dict[str, list[Attribution]] = {}
    for one in attributions:
        if isinstance(one, Attribution):
            in_memory.setdefault(re.sub(r"\W+", "_", request_label(one.request)), []).append(one)
    with TemporaryDirectory(prefix="explainlab-") as folder:
        files = [str(one) for one in attributions if not isinstance(one, Attribution)]
        for name, own in in_memory.items():
            path = Path(folder) / f"{name}.json"
            path.write_text(json.dumps([one.to_json() for one in own]), encoding="utf-8")
            files.append(str(path))
        yield files


def require_rows(
    data: str,
    labels: Sequence[str] | None,
    parameters: Mapping[str, Any],
    limit: int | None,
    target: Any,
    *,
    columns: Mapping[str, str],
    classes: Mapping[str, str],
    reader: Reader,
) -> None:
    """Raise :class:`DataError` for a row that the study behind :func:`evaluate` with these ``parameters`` cannot use.

    Of the first rows only ``limit`` are read. The rest is as for :func:`explainlab.data.read_dataset`.
    """
    study = get_study(Evaluation.id)
    needs = study.requirements(parse(study, parameters))
    read_dataset(
        data,
        labels,
        limit if parameters["sample"] == "first" else None,
        columns=columns,
        classes=classes,
        reader=reader,
        marks=needs.extra_columns,
        needs_label=needs.needs_labels(str(target), columns, classes),
    )


def evaluation_parameters(
    methods: str | Sequence[str],
    metrics: str | Sequence[str],
    limit: int | None,
    sample: str,
    settings: Mapping[str, Any],
    attributions: Sequence[str],
) -> dict[str, Any]:
    """Return the parameters of the study behind :func:`evaluate`; without a ``limit``, it has the most rows allowed."""
    return {
        "methods": listed(methods),
        "metrics": listed(metrics),
        "settings": dict(settings),
        "attributions": list(attributions),
        "rows": MOST_ROWS if limit is None else limit,
        "sample": sample,
    }
