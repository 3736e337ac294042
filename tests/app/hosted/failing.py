"""A hosted app whose only page fails in every way that could put a text into the log: see `failing_page.py`."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from explainlab.app.asgi import tell_error, warm

app = st.App(Path(__file__).parent / "failing_page.py", lifespan=warm, on_script_error=tell_error)
