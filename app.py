"""ExplainLab's frame: page settings and navigation. Run with `streamlit run app.py`."""

import streamlit as st

from explainlab.settings import ASSETS
from explainlab.ui.navigation import framed, navigation

st.set_page_config(page_title="ExplainLab", page_icon=str(ASSETS / "icon.svg"), layout="wide")
page = navigation()
with framed():
    page.run()
