"""One text's maps while unit after unit of the model becomes random: all that the unit morph draws, in one payload.

Every method has its map on the model itself and on every random model of the first draw: the page moves between them
without another request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pandas as pd

from explainlab.analyses.layer_randomisation.figures import attribution_of
from explainlab.analyses.layer_randomisation.result import Mode, OriginalMap, RandomisationText
from explainlab.analyses.layer_randomisation.states import MODES
from explainlab.analyses.layer_randomisation.verdict import verdict
from explainlab.figures.export import component_file, inert, render
from explainlab.figures.heatmap import FrameToken, Heatmap, Record, heatmap, number
from explainlab.figures.palette import DEFAULT
from explainlab.request import Request


class DrawnMap(Record):
    """A map: the fields of :class:`explainlab.figures.heatmap.Heatmap` that change with the scores."""

    limit_value: str
    special_share: float | None
    tokens: list[FrameToken]

    @classmethod
    def of(cls, drawn: Heatmap) -> DrawnMap:
        """Return the drawn map of the heatmap ``drawn``."""
        tokens = [FrameToken.of(token) for token in drawn.tokens]
        return cls(limit_value=drawn.limit_value, special_share=drawn.special_share, tokens=tokens)


class UnitFrame(Record):
    """The ``map`` on a random model (None: it gave none), and in ``words`` its similarity to the model's own map."""

    words: str
    map: DrawnMap | None


class MorphedMethod(Record):
    """A method with its options (``name``): its map on the model itself, and by mode a frame for every unit."""

    name: str
    label: str
    signed: bool
    explained: str
    original: DrawnMap
    frames: dict[Mode, list[UnitFrame]]


class UnitMorph(Record):
    """All maps of a text; ``units`` are top first, ``verdict`` is the answer in words, ``name`` names the files.

    Every map has its own scale, since random models have outputs of any size; the figure states the scale.
    """

    name: ClassVar = "layer-randomisation"

    heatmap: Heatmap
    units: list[str]
    methods: list[MorphedMethod]
    verdict: str

    def to_csv(self) -> str:
        """Return one row for every token of every map, in full precision."""
        table: str = pd.DataFrame(self._rows()).to_csv(index=False, lineterminator="\r\n")
        return table

    def to_json(self) -> str:
        """Return the record itself."""
        return self.model_dump_json(indent=2)

    def to_html(self) -> str:
        """Return a standalone page with the slider; it needs no network."""
        script = "\n".join(component_file(name) for name in ("tokens.js", "unit_morph.js"))
        styles = ["token_heatmap", "step_morph", "steering", "unit_morph"]
        payload = self.model_dump(mode="json")
        return render("unit_morph.html.j2", styles, morph=self, payload=payload, script=script)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for method in self.methods:
            yield from self._tokens(method, None, None, method.original)
            for mode, frames in method.frames.items():
                for unit, frame in zip(self.units, frames, strict=True):
                    if frame.map is not None:
                        yield from self._tokens(method, mode, unit, frame.map)

    def _tokens(
        self, method: MorphedMethod, mode: Mode | None, unit: str | None, drawn: DrawnMap
    ) -> Iterator[dict[str, Any]]:
        for token, now in zip(self.heatmap.tokens, drawn.tokens, strict=True):
            place = {"start": token.start, "end": token.end, "special": token.special}
            asked = {"method": inert(method.name), "mode": mode, "unit": unit}
            yield {**asked, "text": inert(token.name), **place, "score": now.score}


def unit_morph(request: Request, body: RandomisationText, palette: str = DEFAULT) -> UnitMorph:
    """Build the morph of a text's ``body``; ``request`` is that of the study."""
    drawn = [heatmap(attribution_of(request, body, own, own.scores), palette) for own in body.methods]
    return UnitMorph(
        heatmap=drawn[0],
        units=body.units,
        methods=[_method(request, body, own, first) for own, first in zip(body.methods, drawn, strict=True)],
        verdict=verdict(body),
    )


def _method(request: Request, body: RandomisationText, own: OriginalMap, drawn: Heatmap) -> MorphedMethod:
    maps = {(random.mode, random.unit): random.scores for random in body.maps if random.method == own.method}
    frames: dict[Mode, list[UnitFrame]] = {}
    for mode in MODES:
        if not any(row.mode == mode for row in body.rows):
            continue
        frames[mode] = []
        for unit in body.units:
            scores = maps.get((mode, unit))
            shown = None if scores is None else DrawnMap.of(heatmap(attribution_of(request, body, own, scores)))
            frames[mode].append(UnitFrame(words=_words(body, own.method, mode, unit), map=shown))
    return MorphedMethod(
        name=own.method,
        label=own.label,
        signed=drawn.signed,
        explained=drawn.explained,
        original=DrawnMap.of(drawn),
        frames=frames,
    )


def _words(body: RandomisationText, method: str, mode: Mode, unit: str) -> str:
    """Describe the similarity of the first draw's map to the map of the model itself."""
    first = {
        row.absolute: row.draws[0] for row in body.rows if (row.method, row.mode, row.unit) == (method, mode, unit)
    }
    if first[False] is None and first[True] is None:
        return "no rank correlation: all scores of a map are equal"
    return f"ρ {number(first[False])}, of |scores| {number(first[True])}"
