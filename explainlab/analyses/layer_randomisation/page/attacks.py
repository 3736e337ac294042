"""Attacks on the Sanity page, of embeddings and of words: asked by a button, told in words, charts and maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.layer_randomisation.page.controls import draw_attacked, draw_reworded
from explainlab.analyses.layer_randomisation.page.main import ATTACK, SUBSTITUTION
from explainlab.analyses.layer_randomisation.page.view import SanityView
from explainlab.analyses.registry import get_analysis
from explainlab.app import session
from explainlab.app.chart import draw_chart
from explainlab.app.data.asked import charts, draw_asked
from explainlab.app.heatmap import token_heatmap
from explainlab.app.once import once
from explainlab.app.place import Place
from explainlab.app.question import card_of
from explainlab.app.text import plain
from explainlab.figures.declared import Map
from explainlab.request import Request
from explainlab.service.service import Service

Texts = tuple[str, str | None]
"""A text, and the second one of a pair."""
_ATTACK_HELP = (
    "Word embeddings are moved a little, in the direction that drives the map away, while the predicted class stays. "
    "Constrained: its probability stays too. Of a map that can be fooled so, do not rely on the top words."
)
_WORDS_HELP = (
    "A few words give way to near ones, so that everybody can read what was changed, while the predicted class stays. "
    "Constrained: its probability stays too, nearly."
)


def draw_attacks(service: Service, view: SanityView, row: Texts) -> None:
    """Embeddings moved: what is attacked, and the answer or the button; below it the texts of ``row``."""
    st.header("Attacks", anchor=False, help=_ATTACK_HELP)
    draw_attacked(card_of(view.model))
    _draw(service, ATTACK, "Attack", view.attack_request, lambda: view.row_attack(*row))


def draw_substitution(service: Service, view: SanityView, row: Texts) -> None:
    """Words replaced: the same."""
    st.header("Attacks by words", anchor=False, help=_WORDS_HELP)
    draw_reworded()
    _draw(service, SUBSTITUTION, "Replace words", view.substitution_request, lambda: view.row_substitution(*row))


def _draw(
    service: Service, place: Place, button: str, make: Callable[[], Request], make_row: Callable[[], Request]
) -> None:
    """The answer to the request of ``make``, asked by a ``button``; of its texts the one of ``make_row`` with maps."""
    result = draw_asked(service, place, button, make)
    if result is None:
        return
    for chart in once(result, charts, result):
        draw_chart(chart, f"sanity_{chart.name}")
    text = service.find(make_row(), session.user())
    if isinstance(text, AnalysisResult):
        _draw_maps(text, place.name)


def _maps(result: AnalysisResult[Any]) -> list[Map]:
    return [*figures_of(result).maps.values()]


def _draw_maps(result: AnalysisResult[Any], key: str) -> None:
    """The maps of one text before the attacks and after each, two beside each other."""
    st.markdown(f"**The open text**: {plain(get_analysis(result.request.question).report(result).headline)}")
    columns = st.columns(2, gap="large")
    for place, drawn in enumerate(once(result, _maps, result)):
        with columns[place % 2], st.container(border=True):
            st.markdown(f"**{plain(drawn.title)}**")
            token_heatmap(drawn.drawn, f"{key}_map_{place}")
