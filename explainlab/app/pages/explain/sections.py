"""Sections of the Explain page that ask more about a map: whether it beats chance, and predictions on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.intermediate_predictions.analysis import apart_words
from explainlab.analyses.intermediate_predictions.figures import beliefs, masked_curves
from explainlab.analyses.intermediate_predictions.masked import mean_apart
from explainlab.analyses.intermediate_predictions.result import IntermediatePredictionsText
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.trust.analysis import Trust
from explainlab.analyses.trust.result import Comparison, TrustText
from explainlab.analyses.trust.verdict import BETTER, BEYOND, WORSE
from explainlab.analyses.wording import counted
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart
from explainlab.app.glossary import explained
from explainlab.app.heatmap import token_heatmap
from explainlab.app.pages.explain.form import BELIEFS, question, trust_request
from explainlab.app.place import Answer, PageState, Requests
from explainlab.app.question import card_of
from explainlab.app.sections import beliefs_request, draw_masked_line, no_beliefs
from explainlab.app.text import plain
from explainlab.attribution.records import Attribution
from explainlab.figures.heatmap import number, spelled
from explainlab.metrics.evaluate import RANDOM_MAPS
from explainlab.models.prompting import PREFIX as COMPLETION
from explainlab.request import Request, Unit
from explainlab.service.service import Service

_TRUST_PLACE = "explain.trust."
ASK_TRUST = "Can I trust this map?"
_ASK_HELP = (
    "The part that the map ranks highest is removed, then kept alone, and the model is asked again "
    f"each time. The same is done with {RANDOM_MAPS} random maps of the text. A map that shows what the model "
    "relies on does better than they do."
)
_VERDICTS = (
    (BEYOND, ":material/verified:", "well beyond chance"),
    (BETTER, ":material/trending_up:", "somewhat better than chance"),
    (WORSE, ":material/drag_handle:", "no better than a random map"),
    (0.0, ":material/trending_down:", "worse than a random map"),
)
_VERDICTS_HELP = (
    f"Well beyond chance: better than at least {BEYOND:.0%} of the random maps. Somewhat better than chance: "
    f"than at least {BETTER:.0%}. Worse than a random map: than fewer than {WORSE:.0%}. Ties count half."
)


def forget_trust(service: Service, requests: Sequence[Request]) -> None:
    """Forget the buttons pressed under heatmaps other than those of ``requests``, and give up their jobs."""
    shown = [trust_request(request) for request in requests]
    for key in [key for key in map(str, st.session_state) if key.startswith(_TRUST_PLACE) and key.endswith(".place")]:
        PageState(key.removesuffix(".place")).keep(service, shown)


def keys_of(results: Sequence[Attribution]) -> list[str]:
    """Return a key for the parts of the page about each of ``results``: its method's id, numbered if that recurs."""
    ids = [result.request.question for result in results]
    counts = [ids[:i].count(name) for i, name in enumerate(ids)]
    return [f"{name}_{count + 1}" if count else name for name, count in zip(ids, counts, strict=True)]


def comparisons(service: Service, results: Sequence[Attribution], ask: bool = True) -> list[Answer | None]:
    """Return the comparison of every attribution; request it if it takes fewer passes than the attribution did.

    None while a button waits for a press. Without ``ask`` only stored and earlier requested comparisons are shown.
    """
    places = map(_place, keys_of(results))
    compared = [(place, trust_request(result.request)) for place, result in zip(places, results, strict=True)]
    for result, (place, request) in zip(results, compared, strict=True):
        if ask and _is_cheap(result) and (place.view is None or request not in place.view.requests()):
            place.ask(service, Requests((request,)), record=False)  # nobody pressed a button
    return [place.answer_if_requested(service, request) for place, request in compared]


def judge_all(service: Service, results: Mapping[str, Attribution]) -> None:
    """Ask for the comparison of all ``results``, by their keys (a callback)."""
    for key, result in results.items():
        _place(key).ask(service, Requests((trust_request(result.request),)))


def draw_trust(service: Service, key: str, result: Attribution, answer: Answer | None) -> None:
    """Draw the ``answer`` of :func:`comparisons`, its job, or its button; ``key`` is that of ``result``."""
    if answer is None:
        st.button(
            ASK_TRUST,
            key=f"trust_{key}",
            type="tertiary",
            icon=":material/help_center:",
            help=_ASK_HELP,
            on_click=judge_all,
            args=(service, {key: result}),
        )
    elif answer.result is None:
        _place(key).draw_state(service, [answer])
    else:
        _draw_answer(answer.result, key, result)
        draw_masked_line(service, result.request, list(result.prediction.probabilities), f"trust_{key}")


def _is_cheap(result: Attribution) -> bool:
    """Return True if the comparison, two passes for each attribution in it, takes fewer than the attribution did."""
    return result.cost.forward + result.cost.backward > 2 * (RANDOM_MAPS + 1)


def trust_words(answer: Answer | None) -> str:
    """Return the ``answer`` of :func:`comparisons` in a sentence, in plain text; empty if it has no result."""
    if answer is None or answer.result is None:
        return ""
    return f"{ASK_TRUST} {get_analysis(Trust.id).report(answer.result).headline}"


def _place(key: str) -> PageState:
    """Return the place of the button under a heatmap, and of its answer."""
    return PageState(f"{_TRUST_PLACE}{key}")


def _metric_help(metric: Comparison) -> str:
    return explained(plain(metric.definition), metric.metric)


def _draw_answer(trust: AnalysisResult[TrustText], key: str, result: Attribution) -> None:
    body, unit = trust.body, trust.request.unit
    st.markdown(
        f"**{ASK_TRUST}**",
        help=explained(f"{_ASK_HELP}\n\n{_VERDICTS_HELP}", "random-map", "comprehensiveness", "sufficiency"),
    )
    for warning in trust.warnings:
        if warning not in result.warnings:
            st.warning(plain(warning), icon=":material/warning:")
    if any(metric.counted for metric in body.metrics):
        for metric in body.metrics:
            st.markdown(_finding(metric, body, unit))
            st.caption(_random_values(metric), help=_metric_help(metric))
    else:
        st.markdown(_too_short(body, unit), help="\n\n".join(map(_metric_help, body.metrics)))
    behind = st.expander(
        "Texts behind these numbers",
        icon=":material/manage_search:",
        key=f"trust_texts_{key}",
        on_change="rerun",
    )
    if behind.open:
        behind.table(_behind(body), hide_index=True)
        behind.caption("Texts are shown as the model reads them, with special tokens.")


def _finding(metric: Comparison, body: TrustText, unit: Unit) -> str:
    """Return in Markdown: the edit, the change of the prediction, and the share of random maps that do worse."""
    (step,) = metric.steps
    icon, verdict = next((icon, words) for least, icon, words in _VERDICTS if metric.beaten >= least)
    removes, label, total = metric.higher_is_better, body.target.label, body.random_maps
    features = f"{'this' if metric.counted == 1 else 'these'} {counted(metric.counted, unit)}"
    change = _change(body.prediction.probabilities[label], step.probability)
    return (
        f"{icon} **{'Remove' if removes else 'Keep only'} its top {step.level}%: {verdict}.** "
        f"{'Without' if removes else 'With only'} {features} the probability of {plain(label)} {change}. "
        f"{plain(metric.label)} {number(metric.value)}: better than {total * metric.beaten:g} of {total} random maps."
    )


def _random_values(metric: Comparison) -> str:
    """Return, in Markdown, the values of random attributions by ``metric``, and which way is better."""
    median, low, high = (number(value) for value in (metric.median, metric.low, metric.high))
    better = "more" if metric.higher_is_better else "less"
    return f"Random: median {median}, 5–95% {low} to {high}; {better} is better."


def _too_short(body: TrustText, unit: Unit) -> str:
    """Return, in Markdown, why there is no answer: k% of the text is less than one feature."""
    level, labels = body.metrics[0].steps[0].level, " and ".join(metric.label for metric in body.metrics)
    features = counted(sum(not feature.special for feature in body.features), unit)
    return (
        f":material/short_text: **This text is too short to tell.** {level}% of its {features} is not one whole "
        f"{unit}, so nothing is removed or kept: {plain(labels)} are 0 for every map, this one and random ones alike."
    )


def _change(before: float, after: float) -> str:
    first, second = f"{100 * before:.1f}%", f"{100 * after:.1f}%"
    if first == second:
        return f"stays at {first}"
    return f"{'falls' if after < before else 'rises'} from {first} to {second}"


def _behind(body: TrustText) -> pd.DataFrame:
    """Return a column for each metric: the selected and removed parts, the text that was read, and the probability."""
    features = counted(sum(not feature.special for feature in body.features), "feature")
    rows = ["Selected", "Removed", "What is left", f"Probability of {plain(body.target.label)}"]
    columns = {
        plain(metric.label): [
            f"{step.level}%: {metric.counted} of {features}",
            plain(" · ".join(spelled(text) for text in step.removed)) or "nothing",
            plain(step.text),
            f"{step.probability:.4f}",
        ]
        for metric in body.metrics
        for step in metric.steps
    }
    return pd.DataFrame({"By": rows, **columns})


ASK_BELIEFS = "What the model believed on the way"
_MASKED = "Compare with the text whose rest is masked"
_MASKED_HELP = (
    "A prediction on the way stands for that of the whole text with everything after it masked, which progressive "
    "inference relies on. Here both are compared; it takes a pass for each feature."
)
_BELIEFS_PLACE = PageState("explain.beliefs")


def forget_beliefs(service: Service, requests: Sequence[Request]) -> None:
    """Forget the request for a text other than that of ``requests``, and give up its job."""
    _BELIEFS_PLACE.keep(
        service, [beliefs_request(request, masked) for request in requests[:1] for masked in (False, True)]
    )


def draw_beliefs(service: Service, request: Request, palette: str) -> None:
    """Draw a folded heading; unfolded, the stored answer about the text of ``request``, or its job.

    A model that is no causal decoder gets a sentence why there is none; a model that is not here gets nothing.
    """
    card = card_of(request.model)
    if card is None:
        return
    why = no_beliefs(card)
    if why:
        st.caption(f":material/footprint: {ASK_BELIEFS}: {why}")
        return
    folded = st.expander(ASK_BELIEFS, icon=":material/footprint:", key=question.key(BELIEFS), on_change="rerun")
    if folded.open:
        with folded:
            _draw_open(service, request, palette)


def _draw_open(service: Service, request: Request, palette: str) -> None:
    masked = st.toggle(_MASKED, key=question.key("masked"), help=_MASKED_HELP)
    (answer,) = _BELIEFS_PLACE.answer_all(service, [beliefs_request(request, masked)])
    if answer.result is None:
        _BELIEFS_PLACE.draw_state(service, [answer])
    else:
        _draw_answered_beliefs(answer.result, request, palette)


def _draw_answered_beliefs(result: AnalysisResult[IntermediatePredictionsText], request: Request, palette: str) -> None:
    speaks = request.model.startswith(COMPLETION)
    meaning = "how likely each label word would be next, among the label words" if speaks else "the prediction"
    st.caption(
        f"A decoder reads from left to right, so it can be asked after every {request.unit} as if the text ended "
        f"there. Shown is {meaning}. Point at a {request.unit}, or use the arrow keys, to see every class."
    )
    for warning in result.warnings:
        st.warning(plain(warning), icon=":material/warning:")
    drawn = cached_for(result, beliefs, request, result.body, palette)
    token_heatmap(drawn, key="beliefs_map")
    apart = apart_words(mean_apart(result.body.positions))
    if apart:
        st.markdown(plain(apart.strip()))
        draw_chart(cached_for(result, masked_curves, result.body), "beliefs_masked_chart", help=_MASKED_HELP)
