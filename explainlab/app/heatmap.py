"""Scored tokens on a page that users can pick, and the facts of an attribution beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from explainlab.app.cached import cached_for
from explainlab.app.components import component
from explainlab.app.text import plain
from explainlab.attribution.records import Attribution
from explainlab.figures.heatmap import Heatmap, Record, settings, sum_words
from explainlab.figures.svg import draw_svg

_token_heatmap = component("token_heatmap", scripts=["tokens", "token_heatmap"])

OnPick = Callable[[int | None], None]


def token_heatmap(heatmap: Heatmap, key: str, on_pick: OnPick | None = None) -> int | None:
    """Draw ``heatmap``, with a picture of it to save. Returns the index of the picked feature, if any.

    A pick stays when the same features are drawn again (other method, palette or scale) and ends with another text.
    ``on_pick`` is called with the pick before the page runs again.
    """
    data = {**payload(heatmap), "svg": cached_for(heatmap, draw_svg, heatmap)}
    return draw_tokens(_token_heatmap, data, heatmap, key, on_pick)


def payload(figure: Record) -> dict[str, Any]:
    """Return the data that a component draws: plain JSON, made once. Do not change it."""
    return cached_for(figure, _dumped, figure)


def _dumped(figure: Record) -> dict[str, Any]:
    return figure.model_dump(mode="json")


def draw_tokens(
    drawing: Callable[..., Any], data: dict[str, Any], heatmap: Heatmap, key: str, on_pick: OnPick | None
) -> int | None:
    """Draw ``data`` with a component whose tokens are those of ``heatmap``; picks are as in :func:`token_heatmap`."""

    def changed() -> None:
        if on_pick is not None:
            on_pick(_picked(heatmap, st.session_state.get(key)))

    data["picked"] = _picked(heatmap, st.session_state.get(key))
    return _picked(heatmap, drawing(data=data, key=key, on_picked_change=changed))


def _picked(heatmap: Heatmap, state: Any) -> int | None:
    """Return the index of the picked feature, if it belongs to this heatmap."""
    picked = getattr(state, "picked", None)
    if not picked or picked["key"] != heatmap.key or not 0 <= picked["index"] < len(heatmap.tokens):
        return None
    return int(picked["index"])


AGREEMENT = (
    "Rank correlation: Spearman's ρ of the scores, or of |score| where a map has no sign; empty where "
    "a map is constant. Sign conflicts: features to which both maps give at least 10% of their "
    "largest score, with opposite signs."
)


def facts(result: Attribution) -> list[str]:
    """Return completeness, cost, settings and notes, one Markdown text each."""
    texts = [plain(sum_words(result))] if result.completeness else []
    cost = result.cost
    backward = f" + {cost.backward} backward" if cost.backward else ""
    passes = f"{cost.forward} forward{backward} pass{'es' if cost.forward > 1 else ''}"
    texts.append(f"{passes}, {cost.seconds:.2f} s")
    chosen = [f"{name.replace('_', ' ')} {value}" for name, value in settings(result).items()]
    texts += [plain(line) for line in (*chosen, *result.notes)]
    return texts
