"""The heatmap at every step count, with a slider."""

from __future__ import annotations

from explainlab.analyses.integration.step_morph import StepMorph
from explainlab.app.components import component
from explainlab.app.heatmap import OnPick, draw_tokens, payload

_step_morph = component("step_morph", ["tokens", "step_morph"], ["token_heatmap", "step_morph"])


def step_morph(morph: StepMorph, key: str, on_pick: OnPick | None = None) -> int | None:
    """Draw all frames of ``morph`` behind a slider that asks nobody; picks are as in a ``token_heatmap``."""
    return draw_tokens(_step_morph, {**payload(morph)}, morph.heatmap, key, on_pick)
