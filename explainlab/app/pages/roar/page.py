"""ROAR: mask what a measure calls important, train again, and see whether the model gets worse."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import get_study, read_result
from explainlab.analyses.roar.figures import (
    COLUMNS,
    STATUSES,
    MaskedTexts,
    all_models,
    costs,
    curves,
    faithfulness,
    masked_texts,
    set_charts,
    sparsity,
)
from explainlab.analyses.roar.published import beside_paper, setting
from explainlab.analyses.roar.result import NodeFacts, RoarData
from explainlab.analyses.roar.verdict import (
    METRICS,
    closing,
    estimate_words,
    is_random,
    judged,
    kind_name,
    labels_of,
    lines,
    measure_sentences,
    overview,
    ratio_words,
    series_name,
    weights_words,
)
from explainlab.analyses.three_answers.analysis import ThreeAnswers, about_grid
from explainlab.analyses.three_answers.parameters import FEWEST
from explainlab.analyses.three_answers.verdict import performance_words, rows
from explainlab.analyses.wording import capital, counted, duration
from explainlab.app import links, session
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart, draw_files, files_of
from explainlab.app.components import component, is_narrow
from explainlab.app.data_set import draw_mapping
from explainlab.app.frame import draw_title
from explainlab.app.glossary import explained
from explainlab.app.heatmap import payload
from explainlab.app.page import draw_words
from explainlab.app.pages.roar import ENTRY, form, grid
from explainlab.app.pages.roar.form import PAGE, RoarView, question
from explainlab.app.pages.roar.grid import GRID, ask_time, draw_time
from explainlab.app.place import Answer, PageState, resolved
from explainlab.app.progress import GO_ON, finished_so_far
from explainlab.app.sections import charts, draw_asked
from explainlab.app.sets import draw_way_back, section_of
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError, RequestError
from explainlab.request import Request
from explainlab.service import file_tasks
from explainlab.service.jobs import Job
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.made import require_training
from explainlab.settings import ASSETS

_WAITING = "Press **{button}** for the cells that wait. Models of theirs that are trained already stay."
_STALE = ":material/edit: The controls have changed: press **{button}** for a grid of these."


def draw() -> None:
    """Draw the page, from the controls to the answer."""
    service = get_service()
    PAGE.open_view(service)
    draw_title(ENTRY, service.notice)
    if not _may_train():
        _draw_example()
        return
    with PAGE.place_of_controls():
        form.draw_question(partial(GRID.press, service), PAGE.button, partial(ask_time, service))
        st.caption(grid.size_words())
        draw_time(service)
    draw_mapping(form.question, None)
    form.draw_further_cells()
    links.draw(_draw_grid(service))


def _may_train() -> bool:
    """Return True if models are made here; draw the reason if not."""
    try:
        require_training()
    except RequestError as error:
        st.info(plain(str(error)), icon=":material/lock:")
        return False
    return True


def _draw_grid(service: Service) -> str:
    """Draw the shown grid, its progress, or the example; return the link to it."""
    try:
        view = GRID.settle(service)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return ""
    if grid.is_stale(view):
        st.caption(_STALE.format(button=PAGE.button))
    st.divider()
    if len(view.cells) > 1:
        _draw_set(service, view)
        return PAGE.link(service, view)
    draw_way_back(PAGE, view)
    answer = grid.answer(service, view) or Answer()
    above = st.container()  # the answer comes before its warnings
    GRID.draw_state(service, [answer])
    if answer.result is not None:
        with above:
            _draw_result(answer.result, service)
    elif answer.job is not None and answer.running:
        draw_so_far(answer.job)
    elif not answer.problem:
        _draw_stopped(service, view, answer)
    return PAGE.link(service, view)


def _draw_set(service: Service, view: RoarView) -> None:
    """Draw the grids of several bases and data sets, and the finished part of the one in training."""
    answers = grid.answer_set(service, view)
    if any(answer == Answer() for answer in answers):
        st.caption(_WAITING.format(button=PAGE.button))
    section_of(PAGE, service, GRID, partial(set_charts, columns=1 if is_narrow() else COLUMNS)).draw(
        service, view.cells, answers
    )
    job = next((answer.job for answer in answers if answer.running), None)
    if job is not None:
        st.header("The grid that is trained now", anchor=False)
        draw_so_far(job)


def _draw_stopped(service: Service, view: RoarView, answer: Answer) -> None:
    """Draw the stored part of a grid that is not trained now, or the example."""
    partial_result: Any = service.partial_result(resolved(view.request()))
    if partial_result is not None:
        asked_above = answer.job is not None  # its row has a button
        _draw_paused(partial_result.body, None if asked_above else partial(GRID.press, service))
    elif answer.job is None:
        _draw_example()


def _draw_example() -> None:
    result = _draw_empty()
    if result is not None:
        _draw_result(result)


_HELP = {
    "curves": "Each point is the mean over seeds of a model that was trained anew on texts with this much masked. The "
    "further a line is below random words, the more of what the model needs the measure has found.",
    "faithfulness": "The area between a measure's curve and that of random words, as a share of the area between that "
    "of random words and the performance with all masked: 0 is no better than random words.",
    "sparsity": "How much of the sum of |scores| the highest ones hold, the mean over test texts and seeds.",
    "published": "A data set is known by its name, and means with 95% intervals over seeds are what is compared: the "
    "rows may differ.",
    "costs": "Training with validation and test, and the importance that each measure gave to all texts.",
    "texts": "Each measure masks a text by the models of the first seed. Moving the slider asks nobody.",
    "models": "A row a seed, a column a share masked. Those with nothing masked, and with all, belong to random words.",
}
_SPLITS = {"train": "Training", "validation": "Validation", "test": "Test"}
_MOST_REASONS = 5


def _draw_result(result: AnalysisResult[RoarData], service: Service | None = None) -> None:
    """Draw the whole answer, the words first; with a ``service`` other measures' orders can be requested."""
    body = result.body
    points = [*measure_sentences(body), *closing(body)]
    draw_words(overview(body), result, partial(lines, body), points)
    _draw_failures(body)
    for place, kind in zip(st.columns(len(body.recursive), gap="large"), body.recursive, strict=True):
        with place:
            chart = cached_for(result, curves, body, kind)
            draw_chart(chart, f"roar_{chart.name}", help=explained(_HELP["curves"], "seed", "interval", "leakage"))
    _draw_ends(body)
    st.divider()
    _draw_faithfulness(result)
    if service is not None:
        _draw_three(service, result)
    _draw_published(result)
    _draw_texts(result)
    st.divider()
    _draw_behind(result)


def _draw_failures(body: RoarData) -> None:
    """Draw why models failed, and how many need one that failed; nothing where none has."""
    failed = [node for node in body.nodes if node.status == "failed"]
    if not failed:
        return
    told = [f"* {plain(_where(body, node))}: {plain(node.reason)}" for node in failed[:_MOST_REASONS]]
    if len(failed) > _MOST_REASONS:
        told.append(f"* and {len(failed) - _MOST_REASONS:,} more")
    lost = sum(node.status == "not run" for node in body.nodes)
    after = f"; {counted(lost, 'model')} after that could not be trained" if lost else ""
    st.warning("\n".join([f"{counted(len(failed), 'model')} failed{after}.", "", *told]), icon=":material/error:")


def draw_models(body: RoarData, key: str, exports: bool = True) -> None:
    """Draw a small matrix for each measure, two beside each other, with what the signs mean."""
    st.caption(", ".join(f"{sign} {name}" for sign, name in STATUSES.values()))
    charts = cached_for(body, all_models, body)
    for pair in zip(charts[::2], [*charts[1::2], None], strict=False):
        for place, chart in zip(st.columns(2, gap="large"), pair, strict=True):
            if chart is None:
                continue
            with place:
                if exports:
                    draw_chart(chart, f"{key}_{chart.name}")
                else:
                    st.markdown(f"**{plain(chart.title)}**")
                    st.plotly_chart(chart.figure, key=f"{key}_{chart.name}", config=chart.config, alt=chart.alt)


def _where(body: RoarData, node: NodeFacts) -> str:
    series = series_name(body, node.measure, node.recursive)
    return f"{series}, {ratio_words(body, node.ratio)} masked, seed {node.seed}"


def _draw_ends(body: RoarData) -> None:
    """Draw the performance at both ends of all curves."""
    metric = METRICS[body.metric]
    st.markdown(
        f"{capital(metric)} of whole texts **{plain(estimate_words(body.performance))}**, with all masked "
        f"**{plain(estimate_words(body.lower_bound))}**."
    )


def _draw_faithfulness(result: AnalysisResult[RoarData]) -> None:
    """Draw the faithfulness over the whole area, and of the first ratios as a table."""
    body = result.body
    st.header("Faithfulness", anchor=False, help=explained(_HELP["faithfulness"], "faithful", "interval"))
    draw_chart(cached_for(result, faithfulness, body), "roar_faithfulness")
    labels = labels_of(body)
    rows = [
        {
            "Measure": labels[row.measure],
            **({"By": kind_name(row.recursive)} if len(body.recursive) > 1 else {}),
            "Masked up to": ratio_words(body, row.upto),
            "Faithfulness": row.mean,
            "From": row.low,
            "To": row.high,
            "Verdict": judged(row),
        }
        for row in body.faithfulness
    ]
    _draw_table(rows, ("Faithfulness", "From", "To"), "%.3f", "Faithfulness of each measure, with its interval.")
    _draw_formulas(body)


def _draw_published(result: AnalysisResult[RoarData]) -> None:
    """Draw the paper's numbers beside these, where data set and model are the paper's."""
    name = file_tasks.source_name(result.request.data or "", session.user())
    rows = beside_paper(result, name)
    if rows:
        st.header("Beside the paper", anchor=False, help=_HELP["published"])
        titles = {"number": "Number", "here": "Here", "paper": "Paper", "source": "Where"}
        listed = [{titles[field]: value for field, value in row._asdict().items()} for row in rows]
        st.dataframe(pd.DataFrame(listed), hide_index=True, height="content", alt="Numbers of the paper beside these.")
        st.caption(plain(setting(result, name)))


def _draw_formulas(body: RoarData) -> None:
    behind = st.expander("Formulas", icon=":material/functions:", key="roar_formulas", on_change="rerun")
    if not behind.open:
        return
    with behind:
        st.latex(r"\sum_i \tfrac12\,\Delta r_i\,(D_i + D_{i+1}) \;\Big/\; \sum_i \tfrac12\,\Delta r_i\,(L_i + L_{i+1})")
        st.markdown(
            f"rᵢ is the share masked, pᵢ the {METRICS[body.metric]} of the measure there, bᵢ that of random words with "
            "the same seed, and b₁₀₀ that with all masked; Dᵢ = bᵢ − pᵢ, Lᵢ = bᵢ − b₁₀₀ (Eq. 3 of Madsen et al. 2022). "
            "It is computed for each seed. The mean has a BCa 95% interval over seeds (9,999 resamples) from three on."
        )
        st.markdown(
            "**Verdict**: whether the interval of the area Σ ½ Δrᵢ (Dᵢ + Dᵢ₊₁) over seeds lies above 0 (faithful to a "
            "degree), below 0 (worse than random words), or holds 0. Then Recursive ROAR does not show that the "
            "measure is faithful; ROAR (Hooker et al. 2019) is inconclusive, as words that say the same may be left."
        )
        st.markdown(
            "**Leakage**: the performance rises from one share to the next by more than twice its standard error over "
            "seeds. More masked cannot help a model, unless which words are masked tells the class."
        )


def _draw_texts(result: AnalysisResult[RoarData]) -> None:
    """Draw the texts behind a slider."""
    if not result.body.texts:
        return
    st.divider()
    st.header("The texts", anchor=False, help=_HELP["texts"])
    texts = cached_for(result, masked_texts, result.body)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        first = f"The first {counted(len(texts.texts), 'test text')}, masked by the models of the first seed."
        st.markdown(first, width="stretch")
        with st.popover("Export", icon=":material/download:", key="roar_texts_export"):
            draw_files(files_of(texts), "roar_texts")
    with st.container(border=True):
        draw_masked_texts(texts, "roar_texts")


def _draw_behind(result: AnalysisResult[RoarData]) -> None:
    """Draw the sparsity of measures, the cost of models, the lengths of texts, and every model."""
    body = result.body
    st.header("What is behind it", anchor=False)
    if body.sparsity:
        for place, of in zip(st.columns(2, gap="large"), ("tokens", "percents"), strict=True):
            with place:
                draw_chart(cached_for(result, sparsity, body, of), f"roar_sparsity_{of}", help=_HELP["sparsity"])
    took, long = st.columns(2, gap="large")
    with took:
        if body.costs:
            draw_chart(cached_for(result, costs, body), "roar_costs", help=_HELP["costs"])
        if body.expected:
            before = duration(body.expected.training), duration(body.expected.importance)
            st.caption("Expected before: about {} of training, {} of importance.".format(*before))
    with long:
        st.markdown("**Texts and their content tokens**")
        rows = [
            {
                "Part": _SPLITS[own.split],
                "Texts": own.texts,
                "Tokens, mean": own.mean,
                "Standard deviation": own.deviation,
            }
            for own in body.lengths
        ]
        _draw_table(rows, ("Tokens, mean", "Standard deviation"), "%.1f", "How many texts and tokens each part has.")
    behind = st.expander("All models", icon=":material/grid_on:", key="roar_all_models", on_change="rerun")
    if behind.open:
        with behind:
            st.caption(plain(" ".join(filter(None, (_HELP["models"], weights_words(body))))))
            draw_models(body, "roar")


def _draw_table(rows: Sequence[dict[str, Any]], numbers: Sequence[str], written: str, alt: str) -> None:
    columns = dict.fromkeys(numbers, st.column_config.NumberColumn(format=written))
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=columns, alt=alt)


THREE = PageState("roar.three")
"""The comparison of the three answers, once requested."""
_THREE_HELP = (
    "Whether a measure finds what a model needs can be asked without a grid: mask its words, and ask the model itself, "
    "which may never have seen masks; or one that learned from masked texts as well. Do both order the measures as "
    "Recursive ROAR does?"
)
_ALIKE = (
    "Kendall's tau is 1 for the same order, 0 for orders that have nothing to do with each other, −1 for the opposite "
    "one. Two answers rank the measures alike if its 95% interval lies above 0. That says nothing of other measures or "
    "data, and few seeds say little of other seeds."
)
_TOO_FEW = (
    "The orders of {fewest} measures or more are compared, random words among them, where Recursive ROAR is one of the "
    "answers: train such a grid."
)


def _draw_three(service: Service, result: AnalysisResult[RoarData]) -> None:
    """Draw the section for a finished grid: its button and costs, or the answer in words, charts and a table."""
    st.divider()
    st.header("Three answers", anchor=False, help=explained(_THREE_HELP, "faithful", "masked-text", "seed"))
    body = result.body
    if True not in body.recursive or len(body.measures) < FEWEST:
        st.caption(_TOO_FEW.format(fewest=FEWEST))
        return
    asked = partial(about_grid, result.request)
    found = draw_asked(service, THREE, "Compare three answers", asked, _costs(body))
    if found is None:
        return
    for chart in cached_for(found, charts, found):
        draw_chart(chart, f"three_{chart.name}", help=explained(_ALIKE, "interval"))
    alt = "Every measure by each of the three answers."
    st.dataframe(pd.DataFrame(rows(found.body)), hide_index=True, height="content", alt=alt)
    st.caption(plain(f"{capital(performance_words(found.body))}."))
    with st.expander("Definition", icon=":material/functions:", key="roar_three_defined"):
        study = ThreeAnswers()
        st.markdown(f"**{plain(study.label)}**: {plain(study.definition)} ({plain(study.source)})")
        st.markdown(f"**{plain(found.body.erasure_label)}**: {plain(found.body.erasure_definition)}")


def _costs(body: RoarData) -> str:
    """Return the cost of the comparison beside the grid, in plain words."""
    seeds, texts = len(body.seeds), next(own.texts for own in body.lengths if own.split == "test")
    took = sum(node.seconds or 0.0 for node in body.nodes if node.ratio == 0)
    return (
        f"Trains {counted(seeds, 'model')} with masks, which takes about {duration(took)} at the grid's pace, and asks "
        f"{counted(len(body.measures), 'measure')} about {counted(texts, 'test text')} on {2 * seeds} models. What the "
        "grid has trained stays."
    )


_masked_texts = component("roar_texts", MaskedTexts.scripts(), MaskedTexts.styles)


def draw_masked_texts(texts: MaskedTexts, key: str) -> None:
    """Draw all ``texts`` behind a slider, filters and arrow keys that ask nobody."""
    _masked_texts(data=payload(texts), key=key)


FOLDER = ASSETS / "examples"
"""Records of results, as ``explainlab study roar ... --json`` prints them."""


class Example(NamedTuple):
    """A grid in a ``file`` of :data:`FOLDER`: the ``label`` of its choice, and what it is ``about``."""

    file: str
    label: str
    about: str


EXAMPLES = {
    "measures": Example(
        "roar.json",
        "Three measures",
        "Reviews of meals, made of patterns: whether three measures find the words of praise and blame.",
    ),
    "leak": Example(
        "leak.json",
        "A leak",
        "The thought experiment of Madsen et al. 2022 (appendix A) as data. In these sentences “today” stands in 80% "
        "of the positive ones and in 40% of the negative ones; nothing else tells them apart. Input × gradient with "
        "its sign, asked about each text's own class, puts the word first where it speaks for that class. So at 10% it "
        "is masked in positive sentences only, and the next model reads the class from that: performance rises where "
        "it should fall, and the rise is flagged. The size of the gradient has no sign: it puts the word first in most "
        "sentences of both classes.",
    ),
}
_EMPTY = (
    "No grid has been trained for these settings. ROAR masks the words that a measure calls important, trains a model "
    "anew on what is left, and measures how much worse it gets: if random words do as much harm, the measure has not "
    "shown where the evidence is. Press **Train the grid** above; it can be stopped at any time, and models that are "
    "trained stay."
)


def _draw_empty() -> AnalysisResult[RoarData] | None:
    """Say that there is no grid yet; the example to draw instead, with how to compute it again, if there is one."""
    st.info(_EMPTY, icon=":material/repeat:")
    there = {name: own.label for name, own in EXAMPLES.items() if (FOLDER / own.file).is_file()}
    if not there:
        return None
    st.header("An example", anchor=False)
    if question.now("example") not in there:
        question.set("example", next(iter(there)))
    question.select("What it shows", "example", there, radio=True)
    shown = EXAMPLES[question.now("example")]
    st.markdown(shown.about)
    st.caption("This grid was not trained here: it comes with ExplainLab.")
    result = example(FOLDER / shown.file)
    again = st.expander("The command that trains it again", icon=":material/terminal:", key="roar_example_command")
    again.code(command(result.request), language=None, wrap_lines=True)
    return result


@cache
def example(file: Path) -> AnalysisResult[RoarData]:
    """Return the result that ``file`` records."""
    return cast(AnalysisResult[RoarData], read_result(json.loads(file.read_text(encoding="utf-8"))))


def command(request: Request) -> str:
    """Return the command that answers ``request``, without parameters at their defaults."""
    words = ["python", "-m", "explainlab", "study", request.question, "--model", request.model]
    words += ["--data", request.data or ""] + (["--seed", str(request.seed)] if request.seed else [])
    for option, named in (("--column", request.columns), ("--label", request.classes)):
        words += [word for role, name in named.items() for word in (option, f"{role}={name}")]
    fields = get_study(request.question).Parameters.model_fields
    for name, value in request.parameters.items():
        if value != fields[name].get_default(call_default_factory=True):
            words += ["--set", f"{name}={_written(value)}"]
    return shlex.join(words)


def _written(value: Any) -> str:
    """Return a parameter as the command line writes it."""
    if isinstance(value, dict):
        return ",".join(f"{name}={one}" for name, one in value.items())
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


_EVERY = 3.0  # seconds
_PAUSE = "**Pause** stops after this batch. Models that are trained stay, also when the server stops; it goes on later."
_MEANS = "Means are over the seeds that are there, and what is told apart follows at the end."


def draw_so_far(job: Job) -> None:
    """Draw the finished part of the answer of ``job``, anew every few seconds; nothing is trained for it."""
    st.caption(_PAUSE)
    st.fragment(_draw_running, run_every=_EVERY)(job)


def _draw_paused(body: RoarData, go_on: Callable[[], None] | None) -> None:
    """Draw the trained part of a stopped grid; ``go_on`` trains the rest (None: a button above does)."""
    with st.container(horizontal=True, vertical_alignment="center"):
        left = sum(node.status in ("waiting", "running") for node in _distinct(body))
        goes_on = f"**{GO_ON}** trains only the {counted(left, 'model')} that {'is' if left == 1 else 'are'} left."
        st.info(f"**Paused: {_done(body)}.** {goes_on} {_MEANS}", icon=":material/pause_circle:")
        if go_on is not None:
            st.button(GO_ON, type="primary", icon=":material/play_arrow:", on_click=go_on, key="roar_go_on")
    _draw_known(body)


def _draw_running(job: Job) -> None:
    result = finished_so_far(job)
    if result is None:
        st.skeleton(height=320)
        return
    st.info(f"**Unfinished: {_done(result.body)} so far.** {_MEANS}", icon=":material/hourglass_top:")
    _draw_known(result.body)


def _done(body: RoarData) -> str:
    models = _distinct(body)
    return f"{sum(node.status == 'done' for node in models):,} of {counted(len(models), 'model')}"


def _distinct(body: RoarData) -> list[NodeFacts]:
    """Return the models: at the first ratio Recursive ROAR and ROAR share theirs."""
    both, first = len(body.recursive) > 1, body.ratios[1]
    shared = [both and not (node.recursive or is_random(body, node.measure)) for node in body.nodes]
    return [node for node, own in zip(body.nodes, shared, strict=True) if not (own and node.ratio == first)]


def _draw_known(body: RoarData) -> None:
    """Draw why models failed, the curves of the finished ones, and which these are."""
    _draw_failures(body)
    for place, kind in zip(st.columns(len(body.recursive), gap="large"), body.recursive, strict=True):
        chart = cached_for(body, curves, body, kind)
        place.markdown(f"**{plain(chart.title)}, unfinished**")
        place.plotly_chart(chart.figure, key=f"unfinished_{chart.name}", config=chart.config, alt=chart.alt)
    draw_models(body, "unfinished", exports=False)
