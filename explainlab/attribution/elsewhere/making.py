"""Attributions of other libraries as ours, and ours as SHAP's."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from explainlab.attribution.elsewhere.maps import ForeignMap, read_map, spans_of
from explainlab.attribution.explain import versions_with
from explainlab.attribution.given import GivenFeature, GivenMap
from explainlab.attribution.records import Attribution
from explainlab.attribution.subject import Subject
from explainlab.errors import RequestError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.request import Output, Request, Unit, validated
from explainlab.result import Cost
from explainlab.text.encoding import Encoding
from explainlab.text.units import Feature, Units, group

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
    unit: Unit,
    signed: bool | None,
) -> Attribution:
    """See :meth:`explainlab.attribution.records.Attribution.from_scores`."""
    named = str(target)
    if text is None:
        text = _text_of(read_map(scores, tokens, classifier.labels, 0), classifier, unit)
    subject = _subject(classifier, text, named, output, unit)
    found = read_map(scores, tokens, classifier.labels, subject.target.index)
    name = method or found.method or "elsewhere"
    own = _own_scores(found, subject.encoding, subject.units)
    if own is None:
        own = _searched(found, text).fitted(subject.units.features, name)
    return Attribution(
        request=_request(classifier, text, name, named, output, unit),
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
    request, scores = attribution.request, attribution.scores[attribution.content]
    data = _pieces(attribution.features, request.single_text, request.text_pair)
    explained = attribution.logit
    if attribution.request.output == "probability":
        explained = attribution.prediction.probabilities[attribution.target.label]
    if explained is None:
        raise UnsupportedError("This attribution does not say which logit it explains.", "Explain the text again.")
    base = explained - float(scores.sum())
    return shap.Explanation(values=scores, base_values=base, data=np.array(data, dtype=object))


def _text_of(found: ForeignMap, classifier: Classifier, unit: Unit) -> str:
    """Return the text of a map; where its pieces may spell several, the one that has these tokens.

    Raises :class:`RequestError` where that is not one.
    """
    texts = found.texts
    if not texts:
        raise RequestError("These scores do not say of which text they are.", "Give it: text=...")
    if len(texts) > 1:
        encodings = [classifier.encode(text) for text in texts]
        own = [_own_scores(found, encoding, group(encoding, unit)) is not None for encoding in encodings]
        texts = tuple(compress(texts, own))
    if len(texts) != 1:
        raise RequestError("Some pieces of these scores may repeat a character.", "Give their text: text=...")
    return texts[0]


def _own_scores(found: ForeignMap, encoding: Encoding, units: Units) -> np.ndarray | None:
    """Return float64 [n_features]: a map of the classifier's own tokens by ``units``; None where it is of others.

    Its tokens are known by their number and spelling: that of the tokenizer, of SHAP or of :func:`explanation_of`.
    A search finds neither those that share a character nor those without one.
    """
    if found.tokens == _pieces(units.features, encoding.text):
        return units.spread(found.scores)
    scores, content = np.zeros(len(encoding)), encoding.content
    spelled = tuple(compress(encoding.pieces, content))
    if found.tokens in (encoding.pieces, _segments(encoding)):
        scores[content] = found.scores[content]
    elif found.tokens in (spelled, _pieces(group(encoding, "token").features, encoding.text)):
        scores[content] = found.scores
    else:
        return None
    return units.sum_tokens(scores)


def _pieces(features: Sequence[Feature], text: str, text_pair: str | None = None) -> tuple[str, ...]:
    """Return a piece of the text for each content feature; the pieces follow each other, and spell the text whole.

    The last feature of those that share a character has it, the others have none.
    """
    pieces: list[str] = []
    for part, whole in enumerate((text, text_pair or "")):
        starts = [feature.start for feature in features if feature.part == part and not feature.special]
        cuts = [0, *np.maximum.accumulate(starts[1:]).tolist(), len(whole)] if starts else []
        pieces += [whole[start:end] for start, end in pairwise(cuts)]
    return tuple(pieces)


def _segments(encoding: Encoding) -> tuple[str, ...]:
    """Return the tokens as SHAP's masker of texts writes them: the characters of each up to the next, special ones too.

    Each of the tokens that share a character has it (``shap.maskers.Text.token_segments``).
    """
    starts, ends = encoding.offsets.T
    ends = np.maximum(ends, np.append(starts[1:], 0))
    return tuple(encoding.text[start:end] for start, end in zip(starts, ends, strict=True))


def _searched(found: ForeignMap, text: str) -> GivenMap:
    """Return the map with the spans of its tokens in ``text``, those left out that add no characters."""
    spans = zip(spans_of(found.tokens, text), found.scores.tolist(), strict=True)
    scored = [GivenFeature(start=span[0], end=span[1], score=score) for span, score in spans if span is not None]
    return GivenMap(text=text, features=tuple(scored))


def _subject(classifier: Classifier, text: str, target: str, output: Output, unit: Unit) -> Subject:
    request = _request(classifier, text, "elsewhere", target, output, unit)
    encoding = classifier.encode(text)
    return Subject(classifier, encoding, target=request.target, output=request.output, unit=request.unit)


def _request(classifier: Classifier, text: str, method: str, target: str, output: Output, unit: Unit) -> Request:
    return validated(
        Request,
        model=classifier.id,
        text=text,
        question=method,
        target=target,
        output=output,
        unit=unit,
        dtype=str(classifier.dtype).removeprefix("torch."),
    )
