"""Heatmaps as plain payloads: the original text split into scored tokens.

The page's component, the SVG and the HTML report draw the same :class:`Heatmap`. Its scale ends at the largest |score|
of the content features: special tokens are usually hidden, so their scores must not make the text pale. If they are
drawn and exceed the limit, they are clipped and marked as such.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
import regex
import scipy.stats
from pydantic import BaseModel, ConfigDict, Field

from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods, request_label
from explainlab.declared import parse
from explainlab.errors import RequestError
from explainlab.figures.palette import DEFAULT, PALETTES
from explainlab.models.reading_warnings import cut_words
from explainlab.request import digest
from explainlab.text.units import Feature, words

CLEAR = 0.1  # signs conflict where both scores are at least this share of their limits
LEAST_SHARE = 0.005  # the smallest share of the total |score| that a heatmap names for its special tokens
PLACEHOLDER = "◌"  # drawn for a token without visible characters
SPREAD = "bar under a token: spread over members (a full bar is {})"
_BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_JOINING = regex.compile(r"(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})")
_BLANKS = {" ": "·", "\u00a0": "·", "\t": "⇥", "\n": "⏎\n", "\r": "␍"}


class Record(BaseModel):
    """A frozen payload; numbers must be finite, as in JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class FrameToken(Record):
    """The fields of a drawn token that differ between frames, which draw the same text with other scores.

    ``share`` and ``rank`` are None for special tokens; ``strength`` is |score| / limit, at most 1; ``clipped``: it was
    more than 1; ``value`` and ``error_value`` are score and error as text.
    """

    score: float
    error: float | None
    value: str
    error_value: str | None
    share: float | None
    rank: int | None
    strength: float
    clipped: bool = False

    @classmethod
    def of(cls, token: FrameToken) -> FrameToken:
        """Return these fields of ``token``."""
        return cls(**token.model_dump(include=set(cls.model_fields)))


class Token(FrameToken):
    """A drawn feature.

    ``before``: the plain text between the previous feature and this one; ``shown``: the text to draw; ``name``: the
    same with invisible characters spelled out; ``joined``: it continues the word of the previous token; ``isolated``:
    it has characters that would change the text direction of its neighbours; ``part``: its paragraph (0 the text, 1
    the second text); ``prompt``: it belongs to a template around the text (such tokens are special too). ``conflict``:
    the meaning of its mark ≠, such as "KernelSHAP gives the opposite sign" (empty: no mark); ``spread_value``: how
    far the members of an ensemble differ in it, and ``band``, its share of the limit, at most 1 (None: no ensemble);
    ``top``: its place among the features of highest score that are marked, 1 for the highest (0: not marked);
    ``told``: pairs of name and value that the token's card shows instead of score, share and rank.
    """

    before: str
    shown: str
    name: str
    joined: bool
    isolated: bool
    pieces: list[str]
    ids: list[int]
    start: int
    end: int
    part: int
    special: bool
    prompt: bool
    conflict: str
    spread_value: str | None = None
    band: float | None = None
    top: int = 0
    told: list[tuple[str, str]] = Field(default_factory=list)


class Paragraph(Record):
    """The ends of a part: ``unread``, its beginning that the model did not read (empty: it did), ``tail``, the text
    after its last feature, and ``cut``, whether the model did not read that.
    """

    unread: str
    tail: str
    cut: bool


class Heatmap(Record):
    """A drawn attribution.

    ``key``: a digest of the features, equal for heatmaps of the same tokens; ``limit``: the score of full colour;
    ``limit_value``: the same as text; ``explained``: which output of the model the scores explain, in words (empty:
    none); ``shared``: other heatmaps use this limit too; ``cut`` says how much did not fit (empty: all did);
    ``special_share``: the special tokens' share of the total |score| (None if a total means nothing or it is about 0)
    and ``special_name``, their name; ``colors``: the hues by theme; ``mark``: the meaning of its marks ≠;
    ``scale_label``: the label of a scale without signs; ``spread_label``: the meaning of the bars under its tokens
    (empty: there are none); ``top_label``: which tokens are marked as the highest (empty: none are); ``contradiction``:
    says that the scores together speak against the predicted class (empty: they do not).
    """

    key: str
    method: str
    model: str
    target: str
    explained: str
    unit: str
    signed: bool
    limit: float
    limit_value: str
    shared: bool
    colors: dict[str, dict[str, str]]
    tokens: list[Token]
    paragraphs: list[Paragraph]
    cut: str
    special_share: float | None
    special_name: str
    file_name: str
    mark: str = ""
    scale_label: str = "magnitude only"
    spread_label: str = ""
    top_label: str = ""
    contradiction: str = ""

    @property
    def ranked(self) -> int:
        """The number of ranked tokens, which are the content features."""
        return sum(token.rank is not None for token in self.tokens)

    @property
    def has_conflicts(self) -> bool:
        """Return True if any token has a mark ≠."""
        return any(token.conflict for token in self.tokens)


class Agreement(Record):
    """The agreement of two attributions; ``first`` and ``second`` are their indices.

    ``rank_correlation`` is Spearman's over the content features (of |score| if either has no signs; None if either is
    constant); ``conflicts`` are the indices of features that both score clearly, with opposite signs (none where signs
    are not :func:`opposable`).
    """

    first: int
    second: int
    rank_correlation: float | None
    conflicts: list[int]


def heatmap(
    attribution: Attribution,
    palette: str = DEFAULT,
    scale: float | None = None,
    conflicts: Mapping[int, str] = MappingProxyType({}),
    mark: str = "",
    top_k: int = 0,
) -> Heatmap:
    """Return the heatmap of an attribution; ``scale`` is the score of full colour (None: the largest score).

    ``conflicts`` maps the index of each feature with a mark ≠ to the meaning of the mark; ``mark`` is the meaning for
    all of them (empty: that of the first). The ``top_k`` features of highest score are framed. Raises ``ValueError``
    for scores that are not finite.
    """
    if not np.isfinite(attribution.scores).all():
        raise ValueError("An attribution with scores that are not finite cannot be drawn.")
    top = limit([attribution]) if scale is None else float(scale)
    request = attribution.request
    marked = attribution.highest(top_k)
    paragraphs = _paragraphs(attribution)
    unread = [len(paragraph.unread) for paragraph in paragraphs]
    tokens = _tokens(attribution, top, conflicts, {index: place for place, index in enumerate(marked, 1)}, unread)
    return Heatmap(
        key=digest([[f.text, f.start, f.end, f.part, f.special] for f in attribution.features]),
        method=method_label(attribution),
        model=request.model,
        target=attribution.target.label,
        contradiction=_contradiction(attribution),
        explained=f"explains the {request.output} of {attribution.target.label}",
        unit=request.unit,
        signed=attribution.signed,
        limit=top,
        limit_value=number(top, signed=False),
        shared=scale is not None,
        colors={theme: asdict(getattr(PALETTES[palette], theme)) for theme in ("light", "dark")},
        tokens=tokens,
        paragraphs=paragraphs,
        cut=cut_words(attribution.cut) if attribution.cut else "",
        special_share=_special_share(attribution),
        special_name=_special_name(attribution),
        file_name=re.sub(r"[^A-Za-z0-9]+", "-", f"{request.question} {attribution.target.label}").strip("-").lower(),
        mark=mark or next(iter(conflicts.values()), ""),
        spread_label="" if attribution.spread is None else SPREAD.format(number(top, signed=False)),
        top_label=_top_label(len(marked), request.unit),
    )


def heatmaps(
    attributions: Sequence[Attribution], palette: str = DEFAULT, shared: bool = False, top_k: int = 0
) -> list[Heatmap]:
    """Return the heatmaps of several attributions; if all have the same features, clear conflicts of sign are marked.

    A feature of a map is marked where another map has the other sign, with the names of the methods that contradict.
    With ``shared``, heatmaps of the same output share a scale, those with signs and those without; otherwise each has
    its own. Each marks its ``top_k`` features of highest score.
    """
    kinds = [(a.signed, a.request.output) for a in attributions]
    scales = {kind: limit([a for a, own in zip(attributions, kinds, strict=True) if own == kind]) for kind in kinds}
    against: list[dict[int, list[str]]] = [{} for _ in attributions]
    for pair in agreement(attributions) if comparable(attributions) else []:
        for own, other in ((pair.first, pair.second), (pair.second, pair.first)):
            for index in pair.conflicts:
                against[own].setdefault(index, []).append(method_label(attributions[other]))
    return [
        heatmap(
            attribution,
            palette,
            scales[kind] if shared else None,
            {index: opposite(names) for index, names in of_map.items()},
            opposite([name for names in of_map.values() for name in names], "or"),
            top_k,
        )
        for attribution, kind, of_map in zip(attributions, kinds, against, strict=True)
    ]


def opposite(names: Sequence[str], word: str = "and") -> str:
    """Return ``A, B and C give the opposite sign``, each of ``names`` once; an empty text for none."""
    *most, last = dict.fromkeys(names) or [""]
    whole = f"{', '.join(most)} {word} {last}" if most else last
    return f"{whole} {'give' if most and word == 'and' else 'gives'} the opposite sign" if last else ""


def limit(attributions: Sequence[Attribution]) -> float:
    """Return the largest |score| of any content feature; 0 if there is none."""
    return max((float(np.abs(_content_scores(a)).max(initial=0.0)) for a in attributions), default=0.0)


def comparable(attributions: Sequence[Attribution]) -> bool:
    """Return True if all attributions score the same features."""
    return len({a.features for a in attributions}) <= 1


def opposable(first: Attribution, second: Attribution) -> bool:
    """Return True if opposite signs of the two contradict: both have signs, and both explain the same class."""
    return first.signed and second.signed and first.target.label == second.target.label


def agreement(attributions: Sequence[Attribution]) -> list[Agreement]:
    """Return the agreement of every pair; raises :class:`RequestError` unless all have the same features."""
    if not comparable(attributions):
        raise RequestError(
            "These attributions score different features.", "Compare maps of the same text, unit and tokenizer."
        )
    return [
        Agreement(first=i, second=j, rank_correlation=_correlation(a, b), conflicts=_conflicts(a, b))
        for (i, a), (j, b) in combinations(enumerate(attributions), 2)
    ]


def number(value: float | None, signed: bool = True) -> str:
    """Return ``value`` with three significant figures and a true minus (``signed``: also a plus); a dash for None."""
    if value is None:
        return "–"
    size = abs(value)
    if size == 0:
        return "0"
    if 1e-4 <= size < 1e6:
        digits = max(0, 2 - math.floor(math.log10(float(f"{size:.2e}"))))
        figure = f"{float(f'{size:.2e}'):.{digits}f}"
    else:
        mantissa, exponent = f"{size:.2e}".split("e")
        figure = f"{mantissa}e{int(exponent)}".replace("-", "−")
    return ("−" if value < 0 else "+" if signed else "") + figure


def spelled(text: str) -> str:
    """Return ``text`` with control, format and line-breaking characters as ``U+200B`` escapes, and a lone space named.

    A character that joins pictures to one, as in a family, is visible and stays.
    """
    if text and text.strip(" ") == "":
        return "space" if text == " " else f"{len(text)} spaces"
    invisible = {"Cc", "Cf", "Zl", "Zp"}
    joining = {found.start() for found in _JOINING.finditer(text)}
    hidden = [unicodedata.category(c) in invisible and i not in joining for i, c in enumerate(text)]
    return "".join(f"U+{ord(c):04X}" if hide else c for c, hide in zip(text, hidden, strict=True))


def method_label(attribution: Attribution) -> str:
    """Return the label of its method: see :func:`explainlab.attribution.registry.request_label`."""
    return request_label(attribution.request)


def sum_words(attribution: Attribution) -> str:
    """Return the sum of the scores, and the promised sum where it differs; empty if the method promises none."""
    sums = attribution.completeness
    if sums is None:
        return ""
    total, expected = number(sums.sum), number(sums.expected)
    if total == expected:
        return f"sum {total}, as it should be"
    return f"sum {total}, should be {expected}" + (f" (off by {sums.off})" if sums.off else "")


def settings(attribution: Attribution) -> dict[str, Any]:
    """Return the parameters that affected the scores; all of them if this version does not know the method."""
    given, method = attribution.request.parameters, methods().get(attribution.request.question)
    idle = method.ineffective_parameters(parse(method, given)) if method else frozenset()
    return {name: value for name, value in given.items() if value != "" and name not in idle}


def _contradiction(attribution: Attribution) -> str:
    """Return the sentence about scores that together speak against the class that the model predicts."""
    if not attribution.contradicts:
        return ""
    label, total = attribution.prediction.label, number(float(attribution.scores.sum()), signed=True)
    chance = f"{100 * attribution.prediction.probabilities[label]:.1f}%"
    return f"Together the scores speak against {label}, which the model predicts with {chance}: their sum is {total}."


def _top_label(count: int, unit: str) -> str:
    return f"Framed and bold: the {count} {unit}{'' if count == 1 else 's'} of highest score." if count else ""


def _tokens(
    attribution: Attribution,
    top: float,
    conflicts: Mapping[int, str],
    marked: Mapping[int, int],
    unread: Sequence[int],
) -> list[Token]:
    """Return the drawn features; ``unread`` are the characters of each part before the first that the model read."""
    shares, ranks, texts = attribution.shares, attribution.ranks, _texts(attribution)
    word_starts = [{start for start, _ in words(text)} for text in texts]
    cursors = list(unread)
    part = 0
    tokens: list[Token] = []
    for i, feature in enumerate(attribution.features):
        # A special token belongs to the paragraph before it, whatever part the tokenizer assigns.
        part = part if feature.special else feature.part
        before, text = ("", feature.text) if feature.special else _slices(feature, texts[part], cursors[part])
        joins = not feature.special and attribution.request.unit == "token" and 0 < feature.start == cursors[part]
        score = float(attribution.scores[i])
        error = None if attribution.errors is None else float(attribution.errors[i])
        tokens.append(
            Token(
                before=before,
                shown=text if feature.special else _shown(text),
                name=spelled(feature.text) or "(nothing)",
                joined=joins and feature.start not in word_starts[part],
                isolated=bool(_BIDI_CONTROLS.search(feature.text)),
                pieces=[spelled(piece) for piece in feature.pieces],
                ids=[int(i) for i in feature.ids],
                start=feature.start,
                end=feature.end,
                part=part,
                special=feature.special,
                prompt=feature.prompt,
                score=score,
                error=error,
                value=number(score if attribution.signed else abs(score), attribution.signed),
                error_value=None if error is None else number(abs(error), signed=False),
                share=None if feature.special else float(shares[i]),
                rank=None if feature.special else int(ranks[i]),
                strength=min(1.0, abs(score) / top) if top else 0.0,
                clipped=abs(score) > top,
                conflict=conflicts.get(i, ""),
                top=marked.get(i, 0),
                **_band(attribution, i, top),
            )
        )
        if not feature.special:
            cursors[part] = max(cursors[part], feature.end)
    return tokens


def _band(attribution: Attribution, i: int, top: float) -> dict[str, Any]:
    """Return the drawn spread of feature ``i``; nothing for special tokens, which no ensemble scores."""
    if attribution.spread is None or attribution.features[i].special:
        return {}
    spread = float(attribution.spread[i])
    return {"spread_value": number(spread, signed=False), "band": min(1.0, spread / top) if top else 0.0}


def _slices(feature: Feature, text: str, cursor: int) -> tuple[str, str]:
    """Return the text before a feature, and its own text after ``cursor`` (tokens may share a character's bytes)."""
    return text[cursor : feature.start], text[max(cursor, feature.start) : feature.end]


def _shown(text: str) -> str:
    if not text.strip():
        return "".join(_BLANKS.get(c, "·") for c in text) or PLACEHOLDER
    if all(unicodedata.category(c) in {"Cc", "Cf", "Mn"} for c in text):
        return PLACEHOLDER
    return text.replace("\n", "⏎\n")


def _texts(attribution: Attribution) -> list[str]:
    text, pair = attribution.request.single_text, attribution.request.text_pair
    return [text] if pair is None else [text, pair]


def _paragraphs(attribution: Attribution) -> list[Paragraph]:
    paragraphs = []
    for part, text in enumerate(_texts(attribution)):
        spans = [(f.start, f.end) for f in attribution.features if f.part == part and not f.special]
        start, end = min(spans, default=(0, 0))[0], max((end for _, end in spans), default=0)
        cut = attribution.truncated and bool(text[end:].strip())
        unread = text[:start] if attribution.truncated and not cut and text[:start].strip() else ""
        paragraphs.append(Paragraph(unread=unread, tail=text[end:], cut=cut))
    return paragraphs


def _content_scores(attribution: Attribution) -> np.ndarray:
    scores: np.ndarray = attribution.scores[attribution.content]
    return scores


def _special_share(attribution: Attribution) -> float | None:
    """Return the special tokens' share of all |scores|; None if it is below 0.5%."""
    sizes = np.abs(attribution.scores)
    share = float(sizes[~attribution.content].sum() / max(sizes.sum(), np.finfo(float).tiny))
    return share if share >= LEAST_SHARE else None


def _special_name(attribution: Attribution) -> str:
    special = [feature for feature in attribution.features if feature.special]
    names = ["the prompt"] * any(f.prompt for f in special) + ["special tokens"] * any(not f.prompt for f in special)
    return " and ".join(names).capitalize()


def _correlation(a: Attribution, b: Attribution) -> float | None:
    x, y = _content_scores(a), _content_scores(b)
    if not (a.signed and b.signed):
        x, y = np.abs(x), np.abs(y)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(scipy.stats.spearmanr(x, y).statistic)


def _conflicts(a: Attribution, b: Attribution) -> list[int]:
    if not opposable(a, b):
        return []
    clear = [np.abs(m.scores) >= max(CLEAR * limit([m]), np.finfo(float).tiny) for m in (a, b)]
    opposite = np.sign(a.scores) * np.sign(b.scores) < 0
    return np.flatnonzero(clear[0] & clear[1] & opposite & a.content).tolist()
