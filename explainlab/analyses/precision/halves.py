"""Texts read and explained by the same model in another number format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from explainlab.analyses.attributions import attributions_of
from explainlab.analyses.parameters import Outputs
from explainlab.attribution.passes import read_label_shares, read_originals
from explainlab.attribution.records import Attribution
from explainlab.attribution.subject import Subject
from explainlab.errors import ModelError, RequestError, UnsupportedError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import ignore
from explainlab.models.devices import free_cached
from explainlab.models.loading import in_dtype
from explainlab.request import Dtype

Chosen = tuple[str, Mapping[str, Any]]
"""A method's id and its parameters."""


@dataclass(frozen=True, eq=False)
class InFormat:
    """The results of the model in ``dtype`` for texts: ``logits`` float64 [classes], None where they are not finite.

    ``maps`` are by text and method; the reason takes the place of a missing one. ``rounded``: the weights differ from
    those in float32.
    """

    dtype: Dtype
    rounded: bool
    logits: list[np.ndarray | None]
    maps: list[list[Attribution | str]]


def read_in(subjects: Sequence[Subject], methods: Sequence[Chosen], dtype: Dtype, outputs: Outputs) -> InFormat:
    """Run the model of ``subjects`` in ``dtype``, for the class that each explains and with the same draws.

    The cost is added to the subjects, which share a batcher. The maps are remembered as the answers to the requests in
    their own number format. The weights are loaded for this call and freed afterwards. Raises as
    :func:`explainlab.models.loading.in_dtype`.
    """
    found = _read_in(subjects, methods, dtype, outputs)
    free_cached()
    return found


def _read_in(subjects: Sequence[Subject], methods: Sequence[Chosen], dtype: Dtype, outputs: Outputs) -> InFormat:
    loaded, batcher = subjects[0].classifier, subjects[0].batcher
    batcher.check_cancelled()
    classifier = in_dtype(loaded, dtype)
    unheard = replace(batcher.context.progress, predicted=ignore)  # the float32 run has reported the predictions
    own = batcher.beside(classifier, replace(batcher.context, progress=unheard))
    twins = [_twin(subject, classifier, own) for subject in subjects]
    readable = _read(twins)
    finite = [i for i, known in enumerate(readable) if known]
    explained = {i: _explaining(subjects[i], twins[i]) for i in finite}
    problem = f"In {dtype} the logits are no finite numbers."
    maps: list[list[Attribution | str]] = [[problem] * len(methods) for _ in subjects]
    for place, method in enumerate(methods):
        with own.span(place, place + 1, len(methods)):
            for i, made in zip(finite, _maps([explained[i] for i in finite], method, outputs), strict=True):
                maps[i][place] = made
    for i, subject in enumerate(subjects):
        twin = explained.get(i, twins[i])
        subject.forward += twin.forward
        subject.backward += twin.backward
    batcher.paused, batcher.halvings = own.paused, own.halvings
    logits = [twin.original if known else None for twin, known in zip(twins, readable, strict=True)]
    return InFormat(dtype, _rounded(loaded, classifier), logits, maps)


def _rounded(loaded: Classifier, other: Classifier) -> bool:
    pairs = zip(loaded.model.network.parameters(), other.model.network.parameters(), strict=True)
    return any(not torch.equal(own, rounded.to(own)) for own, rounded in pairs)


def _twin(subject: Subject, classifier: Classifier, batcher: Batcher) -> Subject:
    """Return the text of ``subject`` bound to ``classifier``, with the same seed."""
    return Subject(
        classifier,
        subject.encoding,
        target="predicted" if subject.explains_prediction else subject.target.label,
        output=subject.output,
        unit=subject.unit,
        seed=subject.seed,
        batcher=batcher,
        units=subject.units,
    )


def _explaining(subject: Subject, twin: Subject) -> Subject:
    """Return ``twin``, or a copy of it for the class of ``subject`` if it would explain another class."""
    if twin.target.index == subject.target.index:
        return twin
    other = Subject(
        twin.classifier,
        twin.encoding,
        target=subject.target.label,
        output=twin.output,
        unit=twin.unit,
        seed=twin.seed,
        batcher=twin.batcher,
        text=twin.text,
        units=twin.units,
    )
    other.forward = twin.forward
    return other


def _read(twins: Sequence[Subject]) -> list[bool]:
    """Return for every text whether its logits are finite; after a failure each text is read alone."""
    try:
        read_label_shares(twins)
        read_originals(twins)
    except ModelError:
        if len(twins) == 1:
            return [False]
        return [known for twin in twins for known in _read([twin])]
    return [True] * len(twins)


def _maps(twins: Sequence[Subject], method: Chosen, outputs: Outputs) -> list[Attribution | str]:
    """Return the maps of one method; after a failure each text runs alone, and its problem replaces its map."""
    if not twins:
        return []
    try:
        return [made for (made,) in attributions_of(twins, [method], outputs=outputs)]
    except (ModelError, RequestError, UnsupportedError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "not implemented" not in str(error):
            raise
        if len(twins) == 1:
            return [getattr(error, "problem", str(error))]
        return [own for twin in twins for own in _maps([twin], method, outputs)]
