"""A page with the texts of ROAR, hostile ones, from a body made by hand."""

import streamlit as st

from explainlab.analyses.roar.figures import masked_texts
from explainlab.app.pages.roar.page import draw_masked_texts
from tests.analyses.roar.bodies import roar_body

st.set_page_config(page_title="ROAR", layout="wide")
st.title("ROAR")
draw_masked_texts(masked_texts(roar_body(labels=["<b>negative</b>", "positive"])), "texts")
