"""ExplainLab's frame: page settings and navigation. Run with `streamlit run app.py`."""

from explainlab.ui.navigation import framed, navigation

page = navigation()
with framed():
    page.run()
