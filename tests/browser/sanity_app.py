"""A page with the unit morph of a text with hostile words, from a body made by hand."""

import streamlit as st

from explainlab.analyses.layer_randomisation.figures import unit_morph
from explainlab.app.pages.sanity.page import draw_unit_morph as draw_morph
from explainlab.request import Request
from tests.analyses.bodies import WORDS, randomisation_body

st.set_page_config(page_title="Sanity", layout="wide")
st.title("Sanity")
draw_morph(unit_morph(Request(model="tiny", text=" ".join(WORDS), question="gradient"), randomisation_body()), "morph")
