"""The map of the model beside that of a random one, with a slider over the units."""

from __future__ import annotations

from explainlab.analyses.layer_randomisation.unit_morph import UnitMorph
from explainlab.app.components import component
from explainlab.app.heatmap import payload

_unit_morph = component(
    "unit_morph", ["tokens", "unit_morph"], ["token_heatmap", "step_morph", "steering", "unit_morph"]
)


def unit_morph(morph: UnitMorph, key: str) -> None:
    """Draw all maps of ``morph`` behind a slider that asks nobody."""
    _unit_morph(data=payload(morph), key=key)
