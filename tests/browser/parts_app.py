"""Pages with single parts of the app, drawn from what is made by hand; the first is at the root."""

from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent

NAMES = ("heatmap", "integration", "roar", "sanity")
st.navigation([st.Page(HERE / f"{name}_app.py", url_path=name) for name in NAMES]).run()
