"""Can I trust this map? Under each map, on request and from the store: how it does against random maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import complete
from explainlab.analyses.trust.analysis import Trust
from explainlab.app import session
from explainlab.app.progress import draw_jobs
from explainlab.app.session import Pressed
from explainlab.app.text import plain
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods
from explainlab.errors import ExplainLabError
from explainlab.figures.heatmap import number, spelled
from explainlab.request import Request, Unit
from explainlab.service.jobs import Job
from explainlab.service.service import Service

Body = dict[str, Any]

ASK = "Can I trust this map?"
_ASK_HELP = (
    "Its highest-ranked part is removed, and kept alone, and the model is asked again; so it is for 100 random maps of "
    "the same text. A map that tells what the model reads does better than they do."
)
_VERDICTS = (
    (0.95, ":material/verified:", "well beyond chance"),
    (0.75, ":material/trending_up:", "somewhat better than chance"),
    (0.05, ":material/drag_handle:", "no better than a random map"),
    (0.0, ":material/trending_down:", "worse than a random map"),
)
_VERDICTS_HELP = (
    "Well beyond chance: better than at least 95 of them; somewhat better than chance: than 75; worse than a random "
    "map: than fewer than 5. Ties count half."
)


def question(request: Request) -> Request:
    """The complete study that holds the map of ``request``, which is complete as well, against random maps."""
    shared = request.model_dump(exclude={"method", "parameters"})
    parameters = {"method": request.question, "settings": request.parameters}
    return complete(Request(question=Trust.id, **shared, parameters=parameters))


def give_up_others(service: Service, requests: Sequence[Request]) -> None:
    """Forget the buttons pressed under maps other than those of ``requests``, and give up their jobs."""
    shown = [Pressed((question(request),)) for request in requests]
    for method_id in methods():
        pressed = session.asked(_place(method_id))
        if pressed not in (None, Pressed(), *shown):
            session.ask(service, _place(method_id), Pressed())


def draw_trust(service: Service, result: Attribution) -> None:
    """The answer if there is one, the job that works on it once the button was pressed, and else the button."""
    asked, place = question(result.request), _place(result.request.question)
    try:
        found = _answer(service, asked, place)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    if isinstance(found, AnalysisResult):
        _draw_answer(found, result)
    elif found is not None:
        draw_jobs(service, [found], place)
    else:
        st.button(
            ASK,
            key=f"trust_{result.request.question}",
            type="tertiary",
            icon=":material/help_center:",
            help=_ASK_HELP,
            on_click=session.ask,
            args=(service, place, Pressed((asked,))),
        )


def _place(method_id: str) -> str:
    """The name under which the session remembers what the button of a method's map has asked."""
    return f"explain.trust.{method_id}"


def _answer(service: Service, asked: Request, place: str) -> AnalysisResult | Job | None:
    found = service.find(asked, session.user())
    if found is not None or session.asked(place) != Pressed((asked,)):
        return found
    session.submit_once(service, place, asked)
    job = service.job(asked, session.user())
    return job.result if job is not None and job.result is not None else job


def _draw_answer(found: AnalysisResult, result: Attribution) -> None:
    body, method_id = found.body, result.request.question
    st.markdown(f"**{ASK}**", help=f"{_ASK_HELP}\n\n{_VERDICTS_HELP}")
    for warning in found.warnings:
        if warning not in result.warnings:
            st.warning(plain(warning), icon=":material/warning:")
    if any(one["counted"] for one in body["metrics"]):
        for one in body["metrics"]:
            st.markdown(told(one, body, found.request.unit))
            st.caption(usual(one), help=plain(one["definition"]))
    else:
        labels, definitions = zip(*((one["label"], one["definition"]) for one in body["metrics"]), strict=True)
        st.markdown(
            too_short(body, found.request.unit, " and ".join(labels)), help="\n\n".join(map(plain, definitions))
        )
    behind = st.expander(
        "Texts behind these numbers", icon=":material/manage_search:", key=f"trust_texts_{method_id}", on_change="rerun"
    )
    if behind.open:
        behind.table(_behind(body), hide_index=True)
        behind.caption("Each text as the model reads it, special tokens included.")


def told(one: Body, body: Body, unit: Unit) -> str:
    """One metric of a map in Markdown: what was done, what followed, and how many random maps do worse."""
    (step,) = one["steps"]
    icon, verdict = next((icon, words) for least, icon, words in _VERDICTS if one["beaten"] >= least)
    removes, counted, label = one["higher_is_better"], one["counted"], body["target"]["label"]
    deed = "Remove" if removes else "Keep only"
    these = f"{'this' if counted == 1 else 'these'} {_count(counted, unit)}"
    change = _change(body["prediction"]["probabilities"][label], step["probability"])
    maps = body["random_maps"]
    return (
        f"{icon} **{deed} its top {step['level']}%: {verdict}.** "
        f"{'Without' if removes else 'With only'} {these} the probability of {plain(label)} {change}. "
        f"{plain(one['label'])} {number(one['value'])}: better than {maps * one['beaten']:g} of {maps} random maps."
    )


def usual(one: Body) -> str:
    """In Markdown: what random maps reach by one metric, and which way is better."""
    median, low, high = (number(one[name]) for name in ("median", "low", "high"))
    better = "more" if one["higher_is_better"] else "less"
    return f"Random: median {median}, 5–95% {low} to {high}; {better} is better."


def too_short(body: Body, unit: Unit, labels: str) -> str:
    """In Markdown: that k% of the text is not one feature, so that nothing can be told."""
    level = body["metrics"][0]["steps"][0]["level"]
    features = _count(sum(not feature["special"] for feature in body["features"]), unit)
    return (
        f":material/short_text: **This text is too short to tell.** {level}% of its {features} is not one whole "
        f"{unit}, so nothing is removed or kept: {plain(labels)} are 0 for every map, this one and random ones alike."
    )


def _count(n: int, unit: str) -> str:
    return f"{n} {unit}{'' if n == 1 else 's'}"


def _change(before: float, after: float) -> str:
    first, second = f"{100 * before:.1f}%", f"{100 * after:.1f}%"
    if first == second:
        return f"stays at {first}"
    return f"{'falls' if after < before else 'rises'} from {first} to {second}"


def _behind(body: Body) -> pd.DataFrame:
    """A column a metric: what was selected and removed, what the model read, and what it said."""
    features = _count(sum(not feature["special"] for feature in body["features"]), "feature")
    rows = ["Selected", "Removed", "What is left", f"Probability of {plain(body['target']['label'])}"]
    columns = {
        plain(one["label"]): [
            f"{step['level']}%: {one['counted']} of {features}",
            plain(" · ".join(spelled(text) for text in step["removed"])) or "nothing",
            plain(step["text"]),
            f"{step['probability']:.4f}",
        ]
        for one in body["metrics"]
        for step in one["steps"]
    }
    return pd.DataFrame({"By": rows, **columns})
