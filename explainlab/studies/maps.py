"""One method's map of one subject, as studies make many of them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from explainlab.attribution.explain import attribute
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import complete, get_method
from explainlab.attribution.subject import Subject
from explainlab.models.context import RunContext
from explainlab.request import Output, Request


def own_output(subject: Subject, method_id: str, settings: Mapping[str, Any]) -> Output:
    """A subject that explains the probability, as all do unless they are told, leaves each method its own output."""
    own = get_method(method_id).default_output(settings)
    return own if subject.output == "probability" else subject.output


def map_of(
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
            method=method_id,
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


def text_seed(subject: Subject) -> int:
    """The seed of a text: of the subject's seed and what the text says, whatever its place in the data."""
    said = f"{subject.encoding.text}\x00{subject.encoding.text_pair}"
    return int(np.random.SeedSequence([subject.seed, zlib.crc32(said.encode())]).generate_state(1)[0])
