"""Integration: how many steps does this text need, and what do too few do to its map?"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.integration import figures as integration
from explainlab.analyses.integration.figures import StepMorph
from explainlab.analyses.integration.result import IntegrationErrorData, IntegrationErrorText
from explainlab.analyses.path_gradients import figures as path_gradients
from explainlab.analyses.path_gradients.result import PathGradientsText
from explainlab.app import links
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart, draw_files, files_of, theme
from explainlab.app.components import component
from explainlab.app.data_set import OpenText, draw_opener, draw_texts, row_opener
from explainlab.app.frame import draw_title
from explainlab.app.glossary import explained
from explainlab.app.heatmap import OnPick, draw_tokens, payload, token_heatmap
from explainlab.app.page import draw_headline, draw_open_in, draw_predicted
from explainlab.app.pages.integration import ENTRY, form
from explainlab.app.pages.integration.form import PAGE, IntegrationView, question
from explainlab.app.text import plain
from explainlab.attribution.path import Rule
from explainlab.figures.chart import STYLES, percent
from explainlab.figures.heatmap import number, spelled
from explainlab.request import Request
from explainlab.service.service import service as get_service


def draw() -> None:
    """Draw the page, from the controls to the answers."""
    service = get_service()
    PAGE.open_view(service)

    draw_title(ENTRY, service.notice)
    with PAGE.place_of_controls():
        card = form.draw_text_controls(partial(PAGE.ask_text, service), PAGE.button)
    view = PAGE.settle(service)
    errors, path = (PAGE.answer(service, request) for request in view.text_requests())
    link = PAGE.link(service, view)

    st.divider()
    PAGE.draw_early([errors, path])
    above = st.container()  # the answer comes before its warnings
    PAGE.draw_state(service, [errors, path])
    if errors.result is not None:
        with above:
            draw_headline(errors.result)
        _draw_errors(errors.result)
        draw_morph(view, errors.result)
    if path.result is not None:
        _draw_path(view, path.result)
    if errors.running or path.running:
        st.skeleton(height=160)
    draw_open_in(service, view.shared_inputs(), PAGE.name)

    PAGE.draw_data(
        service,
        view,
        "The same question for many texts: do they all need as many steps?",
        card,
        partial(draw_data, view.rule, partial(PAGE.open_text, service)),
    )
    links.draw(link)


ERROR_HELP = (
    "|Σφ − (F(x) − F(x′))| / |F(x) − F(x′)|: how far the scores' sum misses the change of the output that they promise "
    "to add up to, as a share of that change (equation 3 of Makino et al.)."
)
IDEAL_HELP = "The first step count of the list at which the approximation error is 5% or less."
DOUBLING_HELP = (
    "What the paper advises: the right Riemann sum at 1, 2, 4 … steps until its error is 5% or less, or 1,024 steps "
    "are reached. The total counts every step count tried."
)
ADAPTIVE_HELP = (
    "New points go where the output moves, and no point is evaluated twice. It stops when the sum and "
    "every score are close enough, which is stricter than 5%."
)
NOTES = f"""
**Approximation error.** {plain(ERROR_HELP)}

**Ideal step.** {IDEAL_HELP} A longer list can find a smaller one, and the error may rise again behind it.

**Doubling.** {DOUBLING_HELP}

**Adaptive.** {ADAPTIVE_HELP}

**Equation 4 of the paper** sums k = 0 … n with a weight of 1/n each. These are n + 1 weights that add up to (n + 1)/n,
more than one, so even a constant gradient would be overestimated. Here the right sum takes k = 1 … n, the left one
k = 0 … n − 1, and the trapezoid rule both ends with half a weight: the weights of every rule add up to one.
"""


def _draw_errors(result: AnalysisResult[IntegrationErrorText]) -> None:
    """Draw the prediction, the change to be explained, and the error of every rule at every step count."""
    body = result.body
    prediction, target = body.prediction, body.target
    columns = st.columns([2, 2, 2, 2], gap="medium", vertical_alignment="center")
    shown: Any = {"delta_color": "off", "delta_arrow": "off"}
    with columns[0]:
        draw_predicted(prediction)
    columns[1].metric(
        f"Change of F({plain(target.label)})",
        number(body.expected),
        f"from {number(body.start, signed=False)} to {number(body.end, signed=False)}",
        help=explained(
            "F(x) − F(x′), from the baseline to the text: what the scores must add up to.", "baseline", "completeness"
        ),
        **shown,
    )
    last = body.adaptive.trace[-1]
    columns[2].metric(
        "Adaptive",
        f"{last.evaluations:,}",
        f"evaluations, error {percent(last.approximation_error)}",
        help=ADAPTIVE_HELP,
        **shown,
    )
    doubling = body.doubling
    if doubling is not None:
        end = f"evaluations up to {doubling.steps:,} steps" if doubling.steps else "evaluations, never close enough"
        columns[3].metric(
            "Doubling", f"{doubling.evaluations:,}", end, help=explained(DOUBLING_HELP, "integration-rule"), **shown
        )
    if body.cancels:
        _draw_cancelling(body)
    else:
        chart, table = st.columns([5, 2], gap="large")
        with chart:
            draw_chart(
                cached_for(result, integration.error_curve, body, result.request.parameters["tolerance"]),
                "integration_error_curve",
                help=explained(ERROR_HELP, "completeness"),
            )
        with table:
            _draw_ideal(body)
    with st.expander("What is computed", icon=":material/functions:"):
        st.markdown(NOTES)


def draw_morph(view: IntegrationView, result: AnalysisResult[IntegrationErrorText]) -> None:
    """Draw the heatmap of the chosen rule at every step count."""
    tolerance = result.request.parameters["tolerance"]
    morph = cached_for(
        result, integration.step_morph, _map_request(view), result.body, view.rule, tolerance, view.palette
    )
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.header(
            f"The map at every step count, {morph.rule}",
            anchor=False,
            help="Move the slider through the step counts. All maps share one scale.",
            width="stretch",
        )
        with st.popover("Export", icon=":material/download:", key="integration_morph_export"):
            draw_files(files_of(morph), "integration_morph")
    with st.container(border=True):
        draw_step_morph(morph, "integration_morph", _pick)


def _draw_path(view: IntegrationView, result: AnalysisResult[PathGradientsText]) -> None:
    """Draw two heatmaps side by side, the gradient along the path, and where each score comes from."""
    body = result.body
    attributions, heatmaps = cached_for(result, path_gradients.path_maps, _map_request(view), body, view.palette)
    st.header("Two step counts side by side", anchor=False)
    apart = f"more than {100 * path_gradients.DIFFERS:g}% of the scale"
    st.caption(f"≠ marks scores that differ by {apart}. Pick a token to see its gradient below.")
    columns = st.columns(len(body.paths), gap="medium")
    sides = zip(columns, attributions, heatmaps, body.paths, strict=True)
    for i, (column, attribution, drawn, path) in enumerate(sides):
        with column, st.container(border=True):
            error = attribution.completeness.approximation_error if attribution.completeness is not None else None
            words = "" if error is None else f": error {percent(error)}"
            st.markdown(f"**{path.steps:,} steps{plain(words)}**")
            token_heatmap(drawn, f"integration_map_{i}", _pick)
    st.header("The gradient along the path", anchor=False)
    feature = _draw_feature(body)
    draw_chart(cached_for(result, path_gradients.gradient_curves, body, view.output, feature), "integration_gradient")
    steps = max(path.steps for path in body.paths)
    draw_chart(cached_for(result, path_gradients.token_strip, body, steps, view.palette, theme()), "integration_strip")


def _map_request(view: IntegrationView) -> Request:
    shared = view.model_dump(include={"model", "text", "text_pair", "target", "output", "unit", "seed", "dtype"})
    return Request(**shared, question="integrated_gradients")


def _draw_cancelling(body: IntegrationErrorText) -> None:
    st.caption(
        "The scores cancel out. An error relative to so small a change would mean nothing, so the "
        "sums are shown instead."
    )
    rows = [
        {
            "Rule": STYLES[row.rule].label,
            "Steps": row.steps,
            "Sum of the scores": sum(row.scores),
            "Should be": body.expected,
            "Off by": abs(sum(row.scores) - body.expected),
        }
        for row in body.rows
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True)


def _draw_ideal(body: IntegrationErrorText) -> None:
    st.markdown("**Ideal steps**", help=explained(IDEAL_HELP, "completeness"))
    rows = [{"Rule": STYLES[rule].label, "Steps": steps} for rule, steps in body.ideal_steps.items()]
    st.dataframe(pd.DataFrame(rows).astype({"Steps": "Int64"}), hide_index=True)
    if any(row["Steps"] is None for row in rows):
        st.caption("None: not within 5% at any step count of the list.")


def _draw_feature(body: PathGradientsText) -> int | None:
    """Return the feature whose gradient is drawn; None for the whole text."""
    names = {i: spelled(f.text) or "(nothing)" for i, f in enumerate(body.features)}
    key = question.key("feature")
    if st.session_state.get(key) not in names:
        st.session_state[key] = None
    return st.selectbox(
        "Gradient of",
        list(names),
        index=None,
        key=key,
        format_func=lambda i: f"{i}: {names[i]}",
        placeholder="The whole text (pick a token here or in a map)",
        width=420,
    )


def _pick(index: int | None) -> None:
    question.set("feature", index)


def draw_data(rule: Rule, open_text: OpenText, result: AnalysisResult[IntegrationErrorData]) -> None:
    """Draw the answer and every chart of the data set; ``open_text`` is called with a text to be shown above."""
    draw_headline(result)
    body, tolerance = result.body, result.request.parameters["tolerance"]
    rules = list(body.summary.mean)
    rule = rule if rule in rules else rules[0]
    open_row = row_opener(body.texts, open_text)
    boxes, histogram = st.columns([3, 2], gap="large")
    with boxes:
        chart = cached_for(result, integration.error_boxes, body, rule, tolerance)
        draw_chart(chart, "integration_boxes", lambda data: open_row(data[0]), ERROR_HELP)
    with histogram:
        chart = cached_for(result, integration.ideal_histogram, body, rule, tolerance)
        draw_chart(chart, "integration_ideal", help=explained(IDEAL_HELP, "completeness"))
    means, within = st.columns([3, 2], gap="large")
    with means:
        draw_chart(cached_for(result, integration.mean_by_rule, body, tolerance), "integration_means")
    with within:
        draw_chart(cached_for(result, integration.within_limit, body), "integration_within")
    draw_opener(question, body.texts, open_row, "Choose a row, or press a point in the box plot")
    draw_texts("integration_table", lambda: _text_rows(body, rule), result.skipped)


def _text_rows(body: IntegrationErrorData, rule: Rule) -> list[dict[str, Any]]:
    return [
        {
            "Row": text.row,
            "Text": text.text,
            "Label": text.label,
            "Change of F": text.expected,
            f"Ideal step, {STYLES[rule].label}": text.ideal_steps.get(rule),
            "Adaptive evaluations": text.adaptive.evaluations,
            "Adaptive error": text.adaptive.approximation_error,
            "Cancels": text.cancels,
        }
        for text in body.texts
    ]


_step_morph = component("step_morph", StepMorph.scripts(), StepMorph.styles)


def draw_step_morph(morph: StepMorph, key: str, on_pick: OnPick | None = None) -> int | None:
    """Draw all frames of ``morph`` behind a slider that asks nobody; picks are as in a ``token_heatmap``."""
    return draw_tokens(_step_morph, {**payload(morph)}, morph.heatmap, key, on_pick)
