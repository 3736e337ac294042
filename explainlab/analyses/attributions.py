"""Attributions of many texts by many methods, as analyses of data sets make them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from explainlab.analyses.base import method_passes
from explainlab.analyses.parameters import Outputs
from explainlab.analyses.registry import request_key
from explainlab.attribution.explain import attribute_subjects, dtype_of, request_for
from explainlab.attribution.method import Method, TextSize
from explainlab.attribution.passes import fix_targets
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import (
    MethodSpec,
    complete_method,
    get_method,
    methods,
    parse_spec,
)
from explainlab.attribution.subject import Subject
from explainlab.declared import parse
from explainlab.models.batching import HALVED
from explainlab.models.classifier import Classifier
from explainlab.models.context import Body, Cache
from explainlab.request import CompleteRequest, Output, Request, digest


def attributions_of(
    subjects: Sequence[Subject],
    methods: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    outputs: Outputs = "own",
    seeds: Sequence[int] | None = None,
) -> list[list[Attribution]]:
    """Return the attributions of every subject by every method, an id with its parameters: a list for each subject.

    Each list is in method order. The texts of a method run together; a text's prediction is computed once for all
    methods. The explained output is that of :func:`output_of`; ``seeds`` has one for each subject (default:
    :func:`text_seed`). The context remembers every attribution as the answer to its own request, so no analysis or page
    computes it again. The subjects count all costs, also of remembered attributions. Raises
    :class:`explainlab.errors.UnsupportedError` before anything runs if the model does not support a method.
    """
    for name, settings in methods:
        get_method(name).require(subjects[0].classifier, parse(get_method(name), settings))
    batcher, classifier, context = subjects[0].batcher, subjects[0].classifier, subjects[0].context
    seeds = seeds or [text_seed(subject) for subject in subjects]
    requests = [
        [
            request_for(subject, name, settings, output_of(subject.output, name, settings, outputs), seed)
            for subject, seed in zip(subjects, seeds, strict=True)
        ]
        for name, settings in methods
    ]
    keys = [[request_key(request, classifier.digest, context.reader) for request in column] for column in requests]
    cache = context.results
    if dtype_of(classifier) is None:  # then a stored attribution answers no request
        keys = [[digest([key, str(classifier.dtype)]) for key in column] for column in keys]
        cache = context.cache
    records = cache.get_many({key for column in keys for key in column})
    columns = []
    for i, (name, settings) in enumerate(methods):
        with batcher.span(i, i + 1, len(methods)):
            columns.append(_of_method(subjects, name, settings, requests[i], keys[i], records, cache))
    return [list(row) for row in zip(*columns, strict=True)]


def _of_method(
    subjects: Sequence[Subject],
    name: str,
    settings: Mapping[str, Any],
    requests: Sequence[CompleteRequest],
    keys: Sequence[str],
    records: Mapping[str, Body],
    cache: Cache,
) -> list[Attribution]:
    """Return the attributions that answer ``requests``: those in ``records``, and others, computed and kept now."""
    known = {key: Attribution.from_json(records[key]) for key in dict.fromkeys(keys) if key in records}
    missing = {
        key: (subject, request)
        for key, subject, request in zip(keys, subjects, requests, strict=True)
        if key not in known
    }
    subjects[0].context.progress.skip(
        sum(_work(subject, name, settings) for subject, key in zip(subjects, keys, strict=True) if key in known)
    )
    if missing:
        computed = dict(zip(missing, _computed(get_method(name), *zip(*missing.values(), strict=True)), strict=True))
        known |= computed
        cache.put_many({key: attribution.to_json() for key, attribution in computed.items()})
    for subject, key in zip(subjects, keys, strict=True):
        subject.forward += known[key].cost.forward
        subject.backward += known[key].cost.backward
    return [known[key] for key in keys]


def _computed(method: Method, subjects: Sequence[Subject], requests: Sequence[CompleteRequest]) -> list[Attribution]:
    fix_targets(subjects)
    data = requests[0].parameters.get("baseline_data", "")
    runs = [
        subject.again(output=request.output, seed=request.seed, baseline_data=data)
        for subject, request in zip(subjects, requests, strict=True)
    ]
    return attribute_subjects(runs, method, requests)


def _work(subject: Subject, name: str, settings: Mapping[str, Any]) -> float:
    """Return the expected work of the attribution."""
    tokens = len(subject.encoding)
    method, depth = complete_method(name, settings), subject.classifier.model.depth
    return tokens * method_passes(method, TextSize(tokens, tokens), depth).work


def supported(
    asked: Sequence[MethodSpec], default: Sequence[str], classifier: Classifier
) -> tuple[list[MethodSpec], list[str]]:
    """Return the methods ``asked`` for that can run, and the reasons why other ``default`` ones cannot.

    Raises :class:`UnsupportedError` if a method that is no default cannot run, or if none of the default ones can.
    """
    kind = classifier.architecture
    able = [own for own in asked if not own.unsupported(kind)]
    if not able or list(asked) != [parse_spec(name) for name in default]:
        for own in asked:
            get_method(own.method).require(classifier, own.parameters)
    return able, [reason for own in asked if (reason := own.unsupported(kind))]


def own_warnings(subject: Subject, warnings: Iterable[str]) -> list[str]:
    """Return the ``warnings`` of a method, each once, without those of its text and batches, which any result has."""
    return [warning for warning in dict.fromkeys(warnings) if warning not in (*subject.reading_warnings, HALVED)]


def output_of(output: Output, method_id: str, settings: Mapping[str, Any], outputs: Outputs) -> Output:
    """Return ``output``; where that is the probability and ``outputs`` are own, the method's own output."""
    if outputs == "all" or output == "logit" or method_id not in methods():
        return output
    return get_method(method_id).default_output(settings)


def method_request(study: Request, method_id: str, settings: Mapping[str, Any]) -> Request:
    """Return the request of a method's attribution in the result of ``study``, with the output explained there."""
    output = output_of(study.output, method_id, settings, study.parameters.get("outputs", "own"))
    return study.model_copy(update={"question": method_id, "parameters": dict(settings), "output": output})


def text_seed(subject: Subject) -> int:
    """Return the seed of a text, from the subject's seed and the text itself, whatever its place in the data."""
    texts = f"{subject.encoding.text}\x00{subject.encoding.text_pair}"
    return int(np.random.SeedSequence([subject.seed, zlib.crc32(texts.encode())]).generate_state(1)[0])
