"""Which method? A table of all methods, family by family, in plain words."""

from __future__ import annotations

from itertools import groupby

import pandas as pd
import streamlit as st

from explainlab.app.glossary import link
from explainlab.app.text import plain
from explainlab.attribution.method import Method
from explainlab.attribution.registry import methods

WHICH = "Which method?"
FAMILIES = {
    "Gradients": "Follow the slope of the model at the text itself: fast.",
    "Paths": "Go step by step from a baseline to the text: slower and more careful.",
    "Perturbation": "Hide parts of the text and watch the prediction: easy to explain, and for nearly any model.",
    "Attention": "Show what the model looks at: fast, but looking at a word is not deciding by it.",
    "Decomposition": "Follow what each word gave to every vector inside an encoder.",
    "Others": "Take the mean of several methods, or ask a language model in words.",
    "Control": "What every method must beat.",
}
START = ":green-badge[start here]"


def draw_guide_button() -> None:
    """A button that opens the guide."""
    if st.button(WHICH, icon=":material/help_center:", width="stretch"):
        st.dialog(WHICH, width="large")(draw_guide)()


def draw_guide() -> None:
    """A table for each family of methods."""
    starts = " · ".join(link(method.id) for method in methods().values() if method.start)
    st.markdown(
        f"Start with {starts}: they tell for and against, and work with most models. Add others to see where they "
        "disagree. All scores explain what the *model* does, right or wrong."
    )
    for family, members in groupby(methods().values(), lambda method: method.family):
        st.markdown(f"**{plain(family)}.** {FAMILIES.get(family, '')}")
        st.table(pd.DataFrame([_row(method) for method in members]), hide_index=True)
    st.caption(
        "Takes as long as: so many passes through the model, with gradients, for a text of 20 tokens. Adds up: the "
        "scores are meant to add up to the change of the model's output; each map says whether they do."
    )


def _row(method: Method) -> dict[str, str]:
    return {
        "Method": f"{link(method.id)} {START}" if method.start else link(method.id),
        "What it does": plain(method.plain),
        "Good for": plain(method.good_for),
        "Takes as long as": method.speed(),
        "Adds up": "yes" if method.adds_up else "",
    }
