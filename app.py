"""ExplainLab's frame: page settings, sign-in and navigation. Run with `streamlit run app.py`."""

from explainlab.ui.navigation import framed, navigation
from explainlab.ui.sign_in import draw_account, gate

page = navigation()
gate()
draw_account()
with framed():
    page.run()
