"""The page of words: what each word on the pages means; methods and metrics as they declare themselves."""

from __future__ import annotations

from itertools import groupby

import streamlit as st

from explainlab.app.entries import PageEntry
from explainlab.app.frame import draw_title, name_tab
from explainlab.app.glossary import FAMILIES, START, TERMS, anchor
from explainlab.app.text import plain
from explainlab.attribution.method import Method
from explainlab.attribution.registry import methods
from explainlab.metrics.metric import AnyMetric
from explainlab.metrics.registry import metrics

ENTRY = PageEntry(
    title="Words",
    icon=":material/menu_book:",
    url="words",
    help="What do token, logit, baseline and the others mean, and which method does what?",
    order=110,
)


def draw() -> None:
    """Draw the page."""
    name_tab(ENTRY.title)
    draw_title(ENTRY)
    contents = {**{heading: _place(heading) for heading in TERMS}, "Metrics": "metrics", "Methods": "methods"}
    st.markdown(" · ".join(f"[{heading}](#{place})" for heading, place in contents.items()))
    for heading, terms in TERMS.items():
        st.header(heading, anchor=_place(heading))
        for term in terms:
            st.subheader(term.title, anchor=term.id)
            st.markdown(term.text)
    st.header("Metrics", anchor="metrics")
    st.caption(
        "A metric tests a map: it removes or keeps what the map ranks highest and asks the model again, it has the map "
        "made again for texts that are nearly the same, or it compares the map with a rationale."
    )
    for metric in metrics().values():
        _draw_metric(metric)
    st.header("Methods", anchor="methods")
    st.caption("A method makes a map. Speeds are for a text of 20 tokens.")
    for family, members in groupby(methods().values(), lambda method: method.family):
        st.markdown(f"**{plain(family)}.** {FAMILIES.get(family, '')}")
        for method in members:
            _draw_method(method)


def _place(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _draw_metric(metric: AnyMetric) -> None:
    st.subheader(plain(metric.label), anchor=anchor(metric.id))
    st.markdown(plain(metric.plain))
    st.caption(f"{plain(metric.definition(metric.Parameters()))} Source: {plain(metric.source)}.")


def _draw_method(method: Method) -> None:
    st.subheader(f"{plain(method.label)} {START if method.recommended else ''}", anchor=anchor(method.id))
    good = f" **Good for:** {plain(method.good_for)}" if method.good_for else ""
    st.markdown(f"{plain(method.plain)}{good}")
    facts = [
        f"takes as long as {method.speed()}",
        "meant to add up" if method.adds_up else "no promise about the sum",
        "for and against" if method.signed else "no sign",
    ]
    st.caption(f"{' · '.join(facts)} · {plain(method.definition)} · {plain(method.source)}")
