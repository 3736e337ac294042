"""Maps of edited versions of an evaluation's texts, for the metrics of stability."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

from explainlab.analyses.attributions import output_of, text_seed
from explainlab.analyses.parameters import Outputs
from explainlab.attribution import passes
from explainlab.attribution.explain import outcomes_of
from explainlab.attribution.registry import complete_method, get_method
from explainlab.attribution.subject import Subject
from explainlab.errors import TextError
from explainlab.metrics.distinct import DistinctInputs
from explainlab.metrics.metric import Reexplainer, Text, Version
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import MemoryCache, NoCache, RunContext, ignore
from explainlab.models.networks.wrapped import FurtherWords, around
from explainlab.request import digest
from explainlab.text.encoding import Encoding
from explainlab.text.units import Units

TOGETHER = 2**17
"""Moved tokens that are explained together: some hundred megabytes of embeddings."""
Methods = Sequence[tuple[str, Mapping[str, Any]]]
"""Ids of methods, each with its parameters."""


class Repeater(Reexplainer):
    """A maker of maps for versions of the texts of ``subjects``, by ``methods``, as in :func:`attributions_of`.

    The methods made the first of each text's C attributions, in their order; only these can be repeated. ``explains``
    [C]: the place of the method whose output each explains (None: the subjects' output). All passes count with the
    subjects. Nothing is stored.
    """

    def __init__(
        self, subjects: Sequence[Subject], methods: Methods, outputs: Outputs, explains: Sequence[int | None]
    ) -> None:
        self._subjects, self._methods, self._outputs = subjects, methods, outputs
        own = [output_of(subjects[0].output, name, settings, outputs) for name, settings in methods]
        self._explains = [subjects[0].output if place is None else own[place] for place in explains]

    @property
    def classifier(self) -> Classifier:
        return self._subjects[0].classifier

    @property
    def seeds(self) -> Sequence[int]:
        return [text_seed(subject) for subject in self._subjects]

    def explained(self, stays: Sequence[np.ndarray]) -> list[np.ndarray]:
        passes.read_originals(self._subjects)
        inputs, numbers = DistinctInputs(self.classifier), []
        for subject, own in zip(self._subjects, stays, strict=True):
            inputs.add_original(subject.encoding, subject.original)
            whole = np.concatenate([own, np.ones((len(own), 1), dtype=bool)], axis=1)  # padding stays
            tokens = whole[:, subject.units.membership]
            numbers.append(inputs.add(subject.encoding, tokens, "mask", False))
        logits = inputs.logits(self._subjects[0].batcher)
        values = []
        for subject, own in zip(self._subjects, numbers, strict=True):
            rows, target = logits[own], subject.target.index
            both = {"logit": rows[:, target], "probability": softmax(rows, axis=-1)[:, target]}
            values.append(np.stack([both[output] for output in self._explains]))
        return values

    def moved(self, shifts: Sequence[np.ndarray]) -> list[list[np.ndarray | None]]:
        passes.fix_targets(self._subjects)
        maps: list[list[np.ndarray | None]] = []
        for part in _parts([own.shape[0] * own.shape[1] for own in shifts]):
            with self._subjects[0].batcher.span(part.start, part.stop, len(shifts)):
                maps += self._moved(self._subjects[part], shifts[part])
        return maps

    def edited(self, texts: Sequence[Sequence[Text]]) -> list[list[Version]]:
        passes.read_originals(self._subjects)
        batcher = self._subjects[0].batcher
        batcher = batcher.beside(self.classifier, aside(batcher.context))
        versions = [
            [version for text in own if (version := _edited(subject, text, batcher)) is not None]
            for subject, own in zip(self._subjects, texts, strict=True)
        ]
        passes.read_originals([version for own in versions for version in own])
        kept = [
            [version for version in own if version.prediction.index == subject.prediction.index]
            for subject, own in zip(self._subjects, versions, strict=True)
        ]
        flat = [version for own in kept for version in own]
        maps = iter(self._maps(flat, [text_seed(version) for version in flat]))
        for subject, own in zip(self._subjects, versions, strict=True):
            _count(subject, own)
        return [[Version(version.encoding, version.units, next(maps)) for version in own] for own in kept]

    def _moved(self, subjects: Sequence[Subject], shifts: Sequence[np.ndarray]) -> list[list[np.ndarray | None]]:
        """Answer :meth:`moved` for some of the subjects: every moved token is a further word of the model."""
        vectors, ids = [], []
        for subject, own in zip(subjects, shifts, strict=True):
            content = np.flatnonzero(subject.encoding.content)
            added = torch.from_numpy(own[:, content]).to(subject.embeddings)
            vectors.append((subject.embeddings[content] + added).flatten(0, 1))
            ids.append(np.tile(subject.encoding.ids[content], len(own)))
        model = FurtherWords(self.classifier.model, torch.cat(vectors), torch.from_numpy(np.concatenate(ids)))
        bits = hashlib.sha256(b"".join(own.tobytes() for own in [*ids, *shifts])).hexdigest()
        classifier = around(self.classifier, model, digest([self.classifier.digest, bits]))
        batcher = subjects[0].batcher
        batcher, words = batcher.beside(classifier, aside(batcher.context)), count(model.first)
        points = [
            [_of_words(subject, words, batcher) for _ in own] for subject, own in zip(subjects, shifts, strict=True)
        ]
        seeds = [
            _seed(seed, i) for seed, own in zip(map(text_seed, subjects), points, strict=True) for i in range(len(own))
        ]
        maps = iter(self._maps([point for own in points for point in own], seeds))
        together = []
        for subject, versions in zip(subjects, points, strict=True):
            rows = [next(maps) for _ in versions]
            _count(subject, versions)
            together.append([_stacked(column) for column in zip(*rows, strict=True)])
        return together

    def _maps(self, subjects: Sequence[Subject], seeds: Sequence[int]) -> list[list[np.ndarray | None]]:
        """Return the maps [C] of each of the ``subjects``, by the methods that can explain it."""
        maps: list[list[np.ndarray | None]] = [[None] * len(self._explains) for _ in subjects]
        if not subjects:
            return maps
        batcher, architecture = subjects[0].batcher, subjects[0].classifier.architecture
        for place, (name, settings) in enumerate(self._methods):
            method = complete_method(name, settings)
            if method.unsupported(architecture):
                continue
            data = getattr(method.parameters, "baseline_data", "")
            output = output_of(subjects[0].output, name, settings, self._outputs)
            runs = [
                subject.again(output=output, seed=seed, baseline_data=data)
                for subject, seed in zip(subjects, seeds, strict=True)
            ]
            with batcher.span(place, place + 1, len(self._methods)):
                outcomes = outcomes_of(runs, get_method(name), method.parameters)
            for subject, row, run, outcome in zip(subjects, maps, runs, outcomes, strict=True):
                row[place] = outcome.scores
                subject.forward += run.forward
                subject.backward += run.backward
        return maps


def aside(context: RunContext) -> RunContext:
    """Return the context of a run beside ``context``, which forgets its results and reports no prediction."""
    heard = replace(context.progress, predicted=ignore)
    return replace(context, progress=heard, cache=MemoryCache(context.cache), results=NoCache())


def _version(subject: Subject, encoding: Encoding, batcher: Batcher, units: Units | None = None) -> Subject:
    """Return the subject of a version of a text, with the same class explained and with its own count of passes."""
    return Subject(
        batcher.classifier,
        encoding,
        target=subject.target.label,
        output=subject.output,
        unit=subject.unit,
        seed=subject.seed,
        batcher=batcher,
        units=units,
    )


def _of_words(subject: Subject, words: Iterator[int], batcher: Batcher) -> Subject:
    """Return the subject whose text is made of the next of the further ``words``; special tokens stay."""
    ids = subject.encoding.ids.copy()
    ids[subject.encoding.content] = [next(words) for _ in range(int(subject.encoding.content.sum()))]
    return _version(subject, replace(subject.encoding, ids=ids), batcher, subject.units)


def _edited(subject: Subject, text: Text, batcher: Batcher) -> Subject | None:
    """Return the subject of an edited text; None for one that the model cannot read."""
    try:
        return _version(subject, batcher.classifier.encode(*text), batcher)
    except TextError:
        return None


def _count(subject: Subject, versions: Sequence[Subject]) -> None:
    """Add the passes of the ``versions`` of a text to its ``subject``."""
    subject.forward += sum(version.forward for version in versions)
    subject.backward += sum(version.backward for version in versions)


def _seed(seed: int, number: int) -> int:
    """Return the seed of a version of a text whose seed is ``seed``."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def _stacked(maps: Sequence[np.ndarray | None]) -> np.ndarray | None:
    known = [own for own in maps if own is not None]
    return np.stack(known) if known else None


def _parts(tokens: Sequence[int]) -> Iterator[slice]:
    """Yield slices of texts that together have at most :data:`TOGETHER` ``tokens``, or one text each."""
    start, total = 0, 0
    for i, own in enumerate(tokens):
        if i > start and total + own > TOGETHER:
            yield slice(start, i)
            start, total = i, 0
        total += own
    if tokens:
        yield slice(start, len(tokens))
