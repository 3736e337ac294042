"""One method's map of one subject, as studies make many of them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from explainlab.attribution.explain import attribute
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import complete, get_method
from explainlab.attribution.subject import Subject
from explainlab.models.context import Relay, RunContext
from explainlab.request import Output, Request


def own_output(subject: Subject, method_id: str, settings: Mapping[str, Any]) -> Output:
    """A subject that explains the probability, as all do unless they are told, leaves each method its own output."""
    own = get_method(method_id).default_output(settings)
    return own if subject.output == "probability" else subject.output


def attribution_of(
    subject: Subject,
    method_id: str,
    settings: Mapping[str, Any],
    output: Output,
    seed: int,
    context: RunContext | None = None,
) -> Attribution:
    """What the method with these ``settings`` says of the subject's text and target; its cost is the subject's too."""
    encoding = subject.encoding
    request = complete(
        Request(
            model=subject.classifier.id,
            text=encoding.text,
            text_pair=encoding.text_pair,
            question=method_id,
            parameters=dict(settings),
            target=subject.target.label,
            output=output,
            unit=subject.unit,
            seed=seed,
        )
    )
    found = attribute(subject.classifier, encoding, get_method(method_id), request, context or subject.context)
    subject.forward += found.cost.forward
    subject.backward += found.cost.backward
    return found


def attributions_of(
    subjects: Sequence[Subject], methods: Sequence[tuple[str, Mapping[str, Any]]]
) -> tuple[list[list[Attribution]], Share]:
    """The map of every subject by every method, an id with its parameters, and what is left of the progress: one part.

    Maps come from the text's own seed (:func:`text_seed`) and explain each method's own output. Raises
    :class:`explainlab.errors.UnsupportedError`, before anything is run, for a method that cannot be.
    """
    for name, _ in methods:
        get_method(name).require(subjects[0].classifier)
    each, parts = len(methods), len(subjects) * len(methods) + 1

    def made(subject: Subject, name: str, settings: Mapping[str, Any], part: int) -> Attribution:
        output = own_output(subject, name, settings)
        return attribution_of(subject, name, settings, output, text_seed(subject), Share(subject.context, part, parts))

    maps = [
        [made(subject, name, settings, i * each + j) for j, (name, settings) in enumerate(methods)]
        for i, subject in enumerate(subjects)
    ]
    return maps, Share(subjects[0].context, parts - 1, parts)


def text_seed(subject: Subject) -> int:
    """The seed of a text: of the subject's seed and what the text says, whatever its place in the data."""
    said = f"{subject.encoding.text}\x00{subject.encoding.text_pair}"
    return int(np.random.SeedSequence([subject.seed, zlib.crc32(said.encode())]).generate_state(1)[0])


class Share(Relay):
    """Tells the progress of one of ``parts`` equal parts of a piece of work."""

    SCALE = 1_000

    def __init__(self, context: RunContext, part: int, parts: int) -> None:
        super().__init__(context)
        self._part, self._parts = part, parts

    def report(self, done: int, total: int, phase: str) -> None:
        reached = self._part * self.SCALE + self.SCALE * done // max(1, total)
        self._context.report(reached, self._parts * self.SCALE, phase)
