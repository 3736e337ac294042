"""Status: what runs and what waits, which models are loaded, and how much may be asked of this instance."""

import streamlit as st

from explainlab.app import status as status_page
from explainlab.app.frame import guard
from explainlab.service.service import service as get_service

guard()

st.title("Status", anchor=False)
st.caption("What runs and what waits, which models are loaded, and how much may be asked of this instance?")
status_page.draw_now(get_service())
status_page.draw_limits()
status_page.draw_versions()
