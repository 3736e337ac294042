"""A page with the charts of the integration studies and the step morph, from bodies made by hand."""

import streamlit as st

from explainlab.analyses.integration import figures as integration
from explainlab.analyses.integration.figures import step_morph
from explainlab.analyses.path_gradients.figures import gradient_curves, path_maps, token_strip
from explainlab.app.chart import draw_chart
from explainlab.app.heatmap import token_heatmap
from explainlab.app.pages.integration.page import draw_step_morph as draw_morph
from explainlab.request import Request
from tests.analyses.bodies import WORDS, data_body, integration_body, path_body

st.set_page_config(page_title="Integration", layout="wide")
st.title("Integration")
st.session_state["runs"] = st.session_state.get("runs", 0) + 1
st.text(f"run {st.session_state['runs']}")
request = Request(model="tiny", text=" ".join(WORDS), question="integrated_gradients")
body, paths, data = integration_body(), path_body(), data_body()
draw_chart(integration.error_curve(body, 0.05), "curve")
feature = draw_morph(step_morph(request, body, "right", 0.05), "morph")
st.text(f"picked: {feature}")
_, maps = path_maps(request, paths)
for i, (column, drawn) in enumerate(zip(st.columns(2), maps, strict=True)):
    with column:
        token_heatmap(drawn, f"map_{i}")
draw_chart(gradient_curves(paths, "probability", feature), "gradient")
theme = st.context.theme.type or "light"
draw_chart(token_strip(paths, 270, theme=theme), "strip")
draw_chart(integration.error_boxes(data, "right", 0.05), "boxes", lambda picked: st.session_state.update(row=picked[0]))
st.text(f"row: {st.session_state.get('row')}")
draw_chart(integration.ideal_histogram(data, "right", 0.05), "ideal")
draw_chart(integration.mean_by_rule(data, 0.05), "rules")
draw_chart(integration.within_limit(data), "within")
