"""Maps of other libraries as attributions, and ours as SHAP's explanations: SHAP, Captum, inseq and ferret.

None of these libraries is imported to read a map: an object is recognised by its attributes.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from explainlab.attribution.explain import versions_with
from explainlab.attribution.given import GivenFeature, GivenMap
from explainlab.attribution.records import Attribution
from explainlab.attribution.subject import Subject
from explainlab.errors import DataError, RequestError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.request import Output, Request, Unit, validated
from explainlab.result import Cost
from explainlab.text.encoding import Encoding
from explainlab.text.units import Feature, Units, group

if TYPE_CHECKING:
    import shap


_MARKS = ("##", "Ġ", "▁", "</w>", "Ċ")
"""Marks of tokenizers at the ends of their pieces."""


@dataclass(frozen=True)
class ForeignMap:
    """``scores`` float64 [n] of ``tokens``, which follow each other in one of ``texts`` (empty: unknown).

    ``method``: the method's name in the other library; empty if unknown.
    """

    tokens: tuple[str, ...]
    scores: np.ndarray
    texts: tuple[str, ...] = ()
    method: str = ""


def read_map(scores: Any, tokens: Sequence[str] | None, classes: Sequence[str], target: int) -> ForeignMap:
    """Read the map in ``scores``, for the class with index ``target`` of ``classes``.

    Scores are one of these:

    * a ``shap.Explanation`` of one text; of several outputs the column named like the class, else the one at its index;
    * a ``ferret`` explanation: text, tokens, scores;
    * a file of ``inseq``: a path to its JSON, or its content as a mapping. The map is the first generated token's;
    * numbers with ``tokens``: a list, an array or a tensor [n], [1, n] or, as Captum gives for embeddings, [1, n, d];
      the last dimension is then summed.

    Raises :class:`RequestError` for another form, another number of tokens, and numbers that are not finite, and
    :class:`DataError` for a file that is not inseq's.
    """
    if isinstance(scores, str | Path):
        scores = _json(Path(scores))
    if isinstance(scores, Mapping):
        return _inseq(scores)
    if hasattr(scores, "values") and hasattr(scores, "base_values"):
        return _checked(_shap(scores, classes, target))
    if hasattr(scores, "scores") and hasattr(scores, "tokens"):
        method = str(getattr(scores, "explainer", "") or "ferret")
        texts = (scores.text,) if scores.text else ()
        return _checked(ForeignMap(tuple(scores.tokens), _numbers(scores.scores), texts, method))
    if tokens is None:
        raise RequestError("These scores do not say what they are of.", "Give their tokens: tokens=[...].")
    return _checked(ForeignMap(tuple(map(str, tokens)), _numbers(scores)))


def spans_of(tokens: Sequence[str], text: str) -> list[tuple[int, int] | None]:
    """Return the half-open span of each of ``tokens`` in ``text``, one after another; None where it adds no characters.

    Marks of tokenizers, case and accents are overlooked, as uncased tokenizers drop them; a token of accents alone is
    where the one before it is. A token in brackets, as ``[CLS]`` and ``<s>``, that is not in the text at its place is a
    special one. Raises :class:`RequestError` for any other that is not there.
    """
    folded, places = _folded(text)
    spans: list[tuple[int, int] | None] = []
    at = 0
    for number, token in enumerate(tokens):
        bare = _bare(token)
        wanted = _folded(bare)[0].strip()
        if not wanted:
            blank = text[places[at] :][: len(bare)] if at < len(places) else ""
            if bare.isspace() and blank.isspace():
                spans.append((places[at], places[at] + len(blank)))
                at += len(blank)
            else:
                spans.append(spans[-1] if spans and bare.strip() else None)
            continue
        while at < len(folded) and folded[at].isspace():
            at += 1
        if folded.startswith(wanted, at):
            spans.append((places[at], places[at + len(wanted) - 1] + 1))
            at += len(wanted)
        elif _is_special(token):
            spans.append(None)
        else:
            here = text[places[at] :] if at < len(places) else ""
            raise RequestError(
                f"Token {number} of the scores, {token!r}, is not what the text goes on with: {here[:30]!r}.",
                "Give the scores of this very text, with all its tokens in their order.",
            )
    return spans


def _shap(explanation: Any, classes: Sequence[str], target: int) -> ForeignMap:
    values, data = np.asarray(explanation.values), explanation.data
    if isinstance(data, str) or values.dtype == object or (len(values) == 1 and not isinstance(data[0], str)):
        values, data = np.asarray(values[0]), data[0]  # a batch of one text
    if values.ndim == 2:
        names = [str(name) for name in _listed(explanation.output_names)]
        column = names.index(classes[target]) if classes[target] in names else target
        if not column < values.shape[1]:
            raise RequestError(
                f"The explanation has {values.shape[1]} outputs, none of them '{classes[target]}'.",
                "Give the column of one class: explanation[..., i].",
            )
        values = values[:, column]
    pieces = tuple(map(str, data))
    return ForeignMap(pieces, _numbers(values), _spelled(pieces), "SHAP")


def _spelled(pieces: Sequence[str]) -> tuple[str, ...]:
    """Return the texts that ``pieces`` may spell: SHAP repeats a character for each of the tokens that share it."""
    texts = ("".join(pieces), _once(pieces, blanks=False), _once(pieces, blanks=True))
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _once(pieces: Sequence[str], blanks: bool) -> str:
    """Join ``pieces`` without each one that the next repeats at its start; pieces of ``blanks`` are dropped or stay."""
    text = ""
    for piece, after in pairwise((*pieces, "")):
        own = piece.lstrip() or (piece if blanks else "")
        text += piece.removesuffix(own) if after.startswith(own) else piece
    return text


def _listed(names: Any) -> list[Any]:
    if names is None or isinstance(names, str):
        return [names] if names else []
    return list(names)


def _inseq(record: Mapping[str, Any]) -> ForeignMap:
    """Return the first generated token's map of the first sequence; of an encoder-decoder over the source."""
    try:
        record = _plain(record)
        sequence = _plain(record["sequence_attributions"][0])
        info = _plain(record.get("info") or {})
        of_source = sequence.get("source_attributions")
        own = of_source if of_source is not None else sequence["target_attributions"]
        values = np.array(_plain(own), dtype=np.float64)
        tokens = [_plain(token)["token"] for token in sequence["source" if of_source is not None else "target"]]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise DataError(
            f"This is not what inseq saves: {type(error).__name__}, {error}.", "Save it with out.save('map.json')."
        ) from None
    if values.ndim == 3:
        values = np.linalg.norm(values, axis=-1)  # inseq's reduction of an embedding's parts to a token
    first = values[:, 0] if values.ndim == 2 else values
    if of_source is None:
        tokens = tokens[: int(info.get("attr_pos_start") or np.isfinite(first).sum())]
    return _checked(
        ForeignMap(tuple(map(str, tokens)), first[: len(tokens)], (), str(info.get("attribution_method") or "inseq"))
    )


def _plain(value: Any) -> Any:
    """Unwrap a record or an array of inseq."""
    if isinstance(value, Mapping) and "attributes" in value:
        return value["attributes"]
    return value["__ndarray__"] if isinstance(value, Mapping) and "__ndarray__" in value else value


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read: {error}.", "Give a JSON file that inseq has saved.") from None


def _numbers(scores: Any) -> np.ndarray:
    """Return float64 [n] from a list, an array or a tensor [n], [1, n] or [1, n, d]."""
    if hasattr(scores, "detach"):
        scores = scores.detach().cpu().double().numpy()
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise RequestError(
            f"A {type(scores).__name__} holds no map that is known here.",
            "Give numbers with their tokens, a shap.Explanation, ferret's explanation or inseq's JSON.",
        ) from None
    if values.ndim == 3 or (values.ndim == 2 and values.shape[0] > 1):
        values = values.sum(axis=-1)
    values = values[0] if values.ndim == 2 and values.shape[0] == 1 else values
    if values.ndim != 1:
        raise RequestError(f"Scores of the shape {values.shape} are no map.", "Give one score a token: [n].")
    return values


def _checked(found: ForeignMap) -> ForeignMap:
    if len(found.tokens) != len(found.scores):
        raise RequestError(
            f"There are {len(found.scores)} scores for {len(found.tokens)} tokens.", "Give one score a token."
        )
    if not np.isfinite(found.scores).all():
        raise RequestError("Some scores are not finite numbers.", "Give finite ones.")
    return found


def _bare(token: str) -> str:
    for mark in _MARKS:
        token = token.replace(mark, "", 1) if token.strip(mark) else token
    return token


def _folded(text: str) -> tuple[str, list[int]]:
    """Return ``text`` without case and accents, and the place of each of its characters in ``text``."""
    letters, places = [], []
    for place, letter in enumerate(text):
        for own in unicodedata.normalize("NFKD", letter).casefold():
            if not unicodedata.combining(own):
                letters.append(own)
                places.append(place)
    return "".join(letters), places


def _is_special(token: str) -> bool:
    token = token.strip()
    return (token[:1], token[-1:]) in {("[", "]"), ("<", ">")}


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
    """Make an attribution of foreign scores: see :meth:`explainlab.attribution.records.Attribution.from_scores`."""
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
    """Make SHAP's explanation: see :meth:`explainlab.attribution.records.Attribution.to_shap`."""
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
    """Return the text of a map; if its pieces may spell several texts, the one with these tokens.

    Raises :class:`RequestError` unless there is exactly one.
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
    """Return float64 [n_features]: a map of the classifier's own tokens by ``units``; None for other tokens.

    Its tokens are recognised by their number and spelling: the tokenizer's, SHAP's or that of :func:`explanation_of`. A
    search finds neither tokens that share a character nor tokens without one.
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
    """Return the map with the spans of its tokens in ``text``, without tokens that add no characters."""
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
