"""ExplainLab's frame: page settings, sign-in and navigation. Run with `streamlit run app.py`."""

from explainlab.app.frame import framed, navigation
from explainlab.app.sign_in import draw_account, gate

page = navigation()
gate()
draw_account()
with framed():
    page.run()
