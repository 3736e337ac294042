"""Three answers on the ROAR page: whether erasure on two models orders the measures as Recursive ROAR does."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.roar.result import RoarData
from explainlab.analyses.three_answers.analysis import ThreeAnswers, about_grid
from explainlab.analyses.three_answers.parameters import FEWEST
from explainlab.analyses.three_answers.verdict import performance_words, rows
from explainlab.analyses.wording import capital, counted, duration
from explainlab.app.chart import draw_chart
from explainlab.app.data.asked import charts, draw_asked
from explainlab.app.glossary import explained
from explainlab.app.once import once
from explainlab.app.place import Place
from explainlab.app.text import plain
from explainlab.service.service import Service

THREE = Place("roar.three")
"""The comparison of the three answers, once requested."""
_HELP = (
    "Whether a measure finds what a model needs can be asked without a grid: mask its words, and ask the model itself, "
    "which may never have seen masks; or one that learned from masked texts as well. Do both order the measures as "
    "Recursive ROAR does?"
)
_ALIKE = (
    "Kendall's tau is 1 for the same order, 0 for orders that have nothing to do with each other, −1 for the opposite "
    "one. Two answers rank the measures alike if its 95% interval lies above 0. That says nothing of other measures or "
    "data, and few seeds say little of other seeds."
)
_TOO_FEW = (
    "The orders of {fewest} measures or more are compared, random words among them, where Recursive ROAR is one of the "
    "answers: train such a grid."
)


def draw_three(service: Service, result: AnalysisResult[RoarData]) -> None:
    """The section for a finished grid: its button with what it takes, or the answer in words, charts and a table."""
    st.divider()
    st.header("Three answers", anchor=False, help=explained(_HELP, "faithful", "masked-text", "seed"))
    body = result.body
    if True not in body.recursive or len(body.measures) < FEWEST:
        st.caption(_TOO_FEW.format(fewest=FEWEST))
        return
    asked = partial(about_grid, result.request)
    found = draw_asked(service, THREE, "Compare three answers", asked, _costs(body))
    if found is None:
        return
    for chart in once(found, charts, found):
        draw_chart(chart, f"three_{chart.name}", help=explained(_ALIKE, "interval"))
    alt = "Every measure by each of the three answers."
    st.dataframe(pd.DataFrame(rows(found.body)), hide_index=True, height="content", alt=alt)
    st.caption(plain(f"{capital(performance_words(found.body))}."))
    with st.expander("Definition", icon=":material/functions:", key="roar_three_defined"):
        study = ThreeAnswers()
        st.markdown(f"**{plain(study.label)}**: {plain(study.definition)} ({plain(study.source)})")
        st.markdown(f"**{plain(found.body.erasure_label)}**: {plain(found.body.erasure_definition)}")


def _costs(body: RoarData) -> str:
    """What the comparison takes beside the grid, in plain words."""
    seeds, texts = len(body.seeds), next(own.texts for own in body.lengths if own.split == "test")
    took = sum(node.seconds or 0.0 for node in body.nodes if node.ratio == 0)
    return (
        f"Trains {counted(seeds, 'model')} with masks, which takes about {duration(took)} at the grid's pace, and asks "
        f"{counted(len(body.measures), 'measure')} about {counted(texts, 'test text')} on {2 * seeds} models. What the "
        "grid has trained stays."
    )
