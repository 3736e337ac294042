"""Attacks on the Sanity page: asked by a button, told in words and charts, with the maps of the open text."""

from __future__ import annotations

import streamlit as st

from explainlab.analyses.attack.figures import FIGURES as ATTACKED
from explainlab.analyses.attack.result import AttackData, AttackText
from explainlab.analyses.attack.verdict import text_verdict
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.layer_randomisation.page.asked import draw_asked
from explainlab.analyses.layer_randomisation.page.controls import draw_attacked
from explainlab.analyses.layer_randomisation.page.main import ATTACK
from explainlab.analyses.layer_randomisation.page.view import SanityView
from explainlab.app import session
from explainlab.app.chart import draw_chart
from explainlab.app.heatmap import token_heatmap
from explainlab.app.once import once
from explainlab.app.question import card_of
from explainlab.app.text import plain
from explainlab.figures.chart import Chart
from explainlab.figures.declared import Map
from explainlab.service.service import Service

_HELP = (
    "Word embeddings are moved a little, in the direction that drives the map away, while the predicted class stays. "
    "Constrained: its probability stays too. Of a map that can be fooled so, do not rely on the top words."
)


def draw_attacks(service: Service, view: SanityView, row: tuple[str, str | None]) -> None:
    """What is attacked, and the answer or the button; below it the text and second text of ``row``."""
    st.header("Attacks", anchor=False, help=_HELP)
    draw_attacked(card_of(view.model))
    result = draw_asked(service, ATTACK, "Attack", view.attack_request)
    if result is None:
        return
    for chart in once(result, _charts, result):
        draw_chart(chart, f"sanity_{chart.name}")
    text = service.find(view.row_attack(*row), session.user())
    if isinstance(text, AnalysisResult):
        _draw_maps(text)


def _charts(result: AnalysisResult[AttackData]) -> list[Chart]:
    return [*ATTACKED.draw(result).charts.values()]


def _maps(result: AnalysisResult[AttackText]) -> list[Map]:
    return [*ATTACKED.draw(result).maps.values()]


def _draw_maps(result: AnalysisResult[AttackText]) -> None:
    """The maps of one text before the attacks and after each."""
    st.markdown(f"**The open text**: {plain(text_verdict(result.body))}")
    columns = st.columns(2, gap="large")
    for place, drawn in enumerate(once(result, _maps, result)):
        with columns[place % 2], st.container(border=True):
            st.markdown(f"**{plain(drawn.title)}**")
            token_heatmap(drawn.drawn, f"sanity_attack_map_{place}")
