"""Test texts as each measure masks them: all that the slider over the ratios draws, in one payload.

The page goes through texts and ratios without another request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pandas as pd

from explainlab.analyses.roar.result import MaskedBy, RoarData, RoarText
from explainlab.analyses.roar.verdict import is_random, ratio_words, series_name
from explainlab.figures.export import component_file, inert, render
from explainlab.figures.heatmap import Record


class Piece(Record):
    """A piece of a text; ``token`` is its place among the tokens that may be masked, None between them."""

    text: str
    token: int | None


class DrawnMask(Record):
    """The mask of a text by one measure.

    ``at``: for each token the first place in the ratios where it is masked. ``predicted`` is the class (an index
    into the labels) and ``probability`` that of the text's own class, at each ratio; None where they are not known.
    """

    at: list[int]
    predicted: list[int | None]
    probability: list[float | None]


class DrawnText(Record):
    """A text of the test file by its ``row``, in ``pieces`` that make it whole, with a mask for each measure."""

    row: int
    pieces: list[Piece]
    pair: str | None
    label: int
    masks: list[DrawnMask]


class MaskedTexts(Record):
    """The texts with their masks; ``ratios`` and ``measures`` are the words for these, in order."""

    name: ClassVar = "roar-texts"

    ratios: list[str]
    labels: list[str]
    measures: list[str]
    texts: list[DrawnText]

    def to_csv(self) -> str:
        """Return one row for every text, measure and ratio: the masked text, and the model's prediction."""
        table: str = pd.DataFrame(self._rows()).to_csv(index=False, lineterminator="\r\n")
        return table

    def to_json(self) -> str:
        """Return the record itself."""
        return self.model_dump_json(indent=2)

    def to_html(self) -> str:
        """Return a standalone page with the slider; it needs no network."""
        script = "\n".join(component_file(name) for name in ("tokens.js", "masked_texts.js"))
        styles, payload = ["step_morph", "steering", "masked_texts"], self.model_dump(mode="json")
        return render("masked_texts.html.j2", styles, payload=payload, script=script)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for text in self.texts:
            for measure, mask in zip(self.measures, text.masks, strict=True):
                for place, ratio in enumerate(self.ratios):
                    predicted = mask.predicted[place]
                    yield {
                        "row": text.row,
                        "label": inert(self.labels[text.label]),
                        "measure": inert(measure),
                        "masked": ratio,
                        "predicted": None if predicted is None else inert(self.labels[predicted]),
                        "probability": mask.probability[place],
                        "text": inert(_masked(text, mask, place)),
                    }


def masked_texts(body: RoarData) -> MaskedTexts:
    """Return the texts of ``body``, random words last; a measure names its kind where the grid has both."""
    kinds = [(mask.measure, mask.recursive) for mask in body.texts[0].masked] if body.texts else []
    kinds.sort(key=lambda kind: is_random(body, kind[0]))
    return MaskedTexts(
        ratios=[ratio_words(body, ratio) for ratio in body.ratios],
        labels=body.labels,
        measures=[series_name(body, *kind) for kind in kinds],
        texts=[_text(body, text, kinds) for text in body.texts],
    )


def _text(body: RoarData, text: RoarText, kinds: list[tuple[str, bool]]) -> DrawnText:
    masks = {(mask.measure, mask.recursive): mask for mask in text.masked}
    return DrawnText(
        row=text.row,
        pieces=_pieces(text),
        pair=text.text_pair,
        label=text.label,
        masks=[_mask(masks[kind], len(body.ratios) - 1) for kind in kinds],
    )


def _mask(mask: MaskedBy, last: int) -> DrawnMask:
    """Return ``mask`` as it is drawn; at the ``last`` ratio all tokens are masked."""
    at = [last if place is None else place for place in mask.at]
    return DrawnMask(at=at, predicted=mask.predicted, probability=mask.probability)


def _pieces(text: RoarText) -> list[Piece]:
    """Split ``text`` into tokens and the text between; a token that begins within another keeps only the rest."""
    pieces, end = [], 0
    for place, token in sorted(enumerate(text.tokens), key=lambda each: each[1].start):
        if token.start > end:
            pieces.append(Piece(text=text.text[end : token.start], token=None))
        pieces.append(Piece(text=text.text[max(end, token.start) : token.end], token=place))
        end = max(end, token.end)
    rest = text.text[end:]
    return [*pieces, Piece(text=rest, token=None)] if rest else pieces


def _masked(text: DrawnText, mask: DrawnMask, place: int) -> str:
    """Return ``text`` with a sign for each token that is masked at the ratio in this ``place``."""
    return "".join(
        "[MASK]" if piece.token is not None and mask.at[piece.token] <= place else piece.text for piece in text.pieces
    )
