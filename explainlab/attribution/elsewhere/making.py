"""Attributions of other libraries as ours, and ours as SHAP's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from explainlab.attribution.elsewhere.maps import read_map, spans_of
from explainlab.attribution.explain import versions_with
from explainlab.attribution.given import GivenFeature, GivenMap
from explainlab.attribution.records import Attribution
from explainlab.attribution.subject import Subject
from explainlab.errors import RequestError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.request import Output, Request, checked
from explainlab.result import Cost

if TYPE_CHECKING:
    import shap


def attribution_of(
    scores: Any,
    classifier: Classifier,
    text: str | None,
    *,
    tokens: Sequence[str] | None,
    target: str | int,
    method: str,
    output: Output,
    unit: str,
    signed: bool | None,
) -> Attribution:
    """See :meth:`explainlab.attribution.records.Attribution.from_scores`."""
    named = str(target)
    subject = None
    if text is not None:
        subject = _subject(classifier, text, named, output, unit)
    index = 0 if subject is None else subject.target.index
    found = read_map(scores, tokens, classifier.labels, index)
    if subject is None:
        if found.text is None:
            raise RequestError("These scores do not say of which text they are.", "Give it: text=...")
        subject = _subject(classifier, found.text, named, output, unit)
        found = read_map(scores, tokens, classifier.labels, subject.target.index)
    spans = spans_of(found.tokens, subject.encoding.text)
    given = GivenMap(
        text=subject.encoding.text,
        features=tuple(
            GivenFeature(start=span[0], end=span[1], score=score)
            for span, score in zip(spans, found.scores.tolist(), strict=True)
            if span is not None
        ),
    )
    name = method or found.method or "elsewhere"
    own = given.fitted(subject.units.features, name)
    return Attribution(
        request=_request(classifier, subject.encoding.text, name, named, output, unit),
        prediction=subject.prediction,
        target=subject.target,
        features=subject.units.features,
        scores=own,
        errors=None,
        signed=bool((own < 0).any()) if signed is None else signed,
        completeness=None,
        cost=Cost(0, 0, 0.0),
        cut=subject.encoding.cut,
        logit=subject.logit,
        notes=("Made elsewhere: its cost is not known.",),
        versions=versions_with(classifier),
    )


def explanation_of(attribution: Attribution) -> shap.Explanation:
    """See :meth:`explainlab.attribution.records.Attribution.to_shap`."""
    try:
        import shap
    except ModuleNotFoundError:
        raise UnsupportedError("This needs the library shap.", "Install it with pip install shap.") from None
    content = np.flatnonzero(attribution.content)
    text, scores = attribution.request.single_text, attribution.scores[content]
    features = [attribution.features[i] for i in content]
    parts = [text if feature.part == 0 else attribution.request.text_pair or "" for feature in features]
    ends = [after.start if after.part == own.part else None for own, after in pairwise(features)]
    data = [
        part[own.start : end] if end is None or end > own.start else own.text
        for own, part, end in zip(features, parts, [*ends, None], strict=True)
    ]
    explained = attribution.logit
    if attribution.request.output == "probability":
        explained = attribution.prediction.probabilities[attribution.target.label]
    if explained is None:
        raise UnsupportedError("This attribution does not say which logit it explains.", "Explain the text again.")
    base = explained - float(scores.sum())
    return shap.Explanation(values=scores, base_values=base, data=np.array(data, dtype=object))


def _subject(classifier: Classifier, text: str, target: str, output: Output, unit: Any) -> Subject:
    request = _request(classifier, text, "elsewhere", target, output, unit)
    encoding = classifier.encode(text)
    return Subject(classifier, encoding, target=request.target, output=request.output, unit=request.unit)


def _request(classifier: Classifier, text: str, method: str, target: str, output: Output, unit: str) -> Request:
    return checked(
        Request,
        model=classifier.id,
        text=text,
        question=method,
        target=target,
        output=output,
        unit=unit,
        dtype=str(classifier.dtype).removeprefix("torch."),
    )
