"""The way from a data set to ground truth: words are planted; a model learns them, is checked, and is compared.

Every step is a stored request; pressing the button of a stopped chain again continues it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.figures import overlap_by_share
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.parameters import metric_requests
from explainlab.analyses.planted.analysis import checks_of
from explainlab.analyses.planted.result import PlantedData, reasons, verdict
from explainlab.analyses.training.result import MadeModel, TrainingData
from explainlab.analyses.wording import counted
from explainlab.app import links, session
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart
from explainlab.app.components import bring_into_view
from explainlab.app.data_set import draw_reading, is_there
from explainlab.app.glossary import explained
from explainlab.app.pages.benchmark.chain import HELD_OUT, Chain
from explainlab.app.pages.benchmark.form import PAGE, TRUTH_METRICS, BenchmarkView, known_view, question
from explainlab.app.place import Answer, PageState
from explainlab.app.question import card_of, supported_methods
from explainlab.app.text import plain
from explainlab.errors import Cancelled, ExplainLabError, RequestError
from explainlab.figures.chart import Chart
from explainlab.metrics.metric import PlausibilityMetric
from explainlab.metrics.registry import get_metric, parse_metric
from explainlab.request import Request, validated
from explainlab.service import file_tasks
from explainlab.service.file_tasks import FileTask
from explainlab.service.service import Service
from explainlab.service.store.made import require_training
from explainlab.service.uploads import PlantedUploads

TRUTH = PageState("benchmark.truth")
SECTION = "benchmark_truth_section"
_TO_OPEN = "benchmark.truth_to_open"  # in the session while the benchmark of a pressed chain is to be opened
_WHY = (
    "People's marks say where people look, not what the model goes by. To know that, a word is put into each text, "
    "labels are drawn anew that only the word tells, and a small model learns them. A good map of this model marks "
    "the word."
)


@dataclass(frozen=True)
class Begun:
    """The view of the section once ``chain``, without its files, was begun in this session."""

    chain: Chain

    def requests(self) -> list[Request]:
        """Return no requests: each step makes its own when the one before it is done."""
        return []


@dataclass(frozen=True)
class Lane:
    """The progress of the model of one ``share``: each step has an answer once the step before it is done."""

    share: float
    training: Answer = field(default_factory=Answer)
    checks: Answer = field(default_factory=Answer)
    benchmark: Answer = field(default_factory=Answer)
    view: BenchmarkView | None = None

    @property
    def made(self) -> MadeModel | None:
        """The model."""
        training: AnalysisResult[TrainingData] | None = self.training.result
        return None if training is None else training.body.models[0].model

    @property
    def known(self) -> PlantedData | None:
        """The answer of the checks."""
        return None if self.checks.result is None else self.checks.result.body


def follow(service: Service) -> list[Lane]:
    """Return the progress of the chain of the page; continue a chain that was begun, and open the first benchmark.

    Call it before the controls are drawn: it sets them.
    """
    chain: Chain | None = question.now("truth")
    if chain is None:
        return []
    lanes: list[Lane] = []
    with suppress(ExplainLabError):  # told in the section
        if not chain.files and _begun(chain):
            chain = _with_files(chain)
        places = range(min(len(chain.files), len(chain.shares)))
        lanes = [_lane(service, chain, place) for place in places]
    ready = next((lane.view for lane in lanes if lane.view is not None), None)
    if ready is not None and st.session_state.pop(_TO_OPEN, False):
        PAGE.ask(service, ready)
        PAGE.seed(ready, force=True)
        bring_into_view("benchmark_controls")
    return lanes


def draw_truth(service: Service, view: BenchmarkView, lanes: Sequence[Lane]) -> None:
    """Draw the section: the words to plant, the button, and the progress."""
    st.divider()
    with st.container(key=SECTION):
        st.header("Is there a truth to compare with?", anchor=False, help=explained("", "rationale"))
        st.caption(_WHY)
        try:
            require_training()
        except ExplainLabError as error:
            st.info(plain(str(error)), icon=":material/info:")
            return
        _draw_controls()
        try:
            _draw_button(service, view)
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")
        _draw_progress(service, view, lanes)


# ---- the steps


def _begun(chain: Chain) -> bool:
    """Return True if ``chain`` was begun in this session, or was found running."""
    return bool(TRUTH.view == Begun(chain.plan))


def _plantings(chain: Chain) -> list[FileTask[PlantedUploads]]:
    """Return the plantings; raises :class:`ExplainLabError` for a data set that cannot be read."""
    user = session.user()
    return [file_tasks.planted(chain.source, chain.columns, each, chain.seed, user) for each in chain.plantings()]


def _with_files(chain: Chain) -> Chain:
    """Return ``chain`` with its files, once they are planted; raises as :func:`_plantings`."""
    asked = _plantings(chain)
    if not all(map(is_there, asked)):
        return chain
    planted = [task.answer() for task in asked]
    files = tuple((each.learn, each.held_out) for each in planted)
    chain = chain.model_copy(update={"files": files, "learned": planted[0].rows})
    question.set("truth", chain)
    return chain


def _lane(service: Service, chain: Chain, place: int) -> Lane:
    share = chain.shares[place]
    training = _answer(service, chain, chain.training(place))
    lane = Lane(share, training)
    if lane.made is None:
        return lane
    card = card_of(lane.made.id)
    view = known_view(chain, place, lane.made.id, supported_methods(card))
    checks = _answer(service, chain, checks_of(view.request()))
    if checks.result is None or not checks.result.body.known:
        return Lane(share, training, checks)
    return Lane(share, training, checks, _answer(service, chain, view.request()), view)


def _answer(service: Service, chain: Chain, request: Request) -> Answer:
    """Return the stored result or the running job; if neither exists and ``chain`` was begun, submit the request."""
    if not _begun(chain):
        answer = TRUTH.answer_if_requested(service, request) or Answer()
        if not answer.running:
            return answer
        TRUTH.ask(service, Begun(chain.plan))
    return TRUTH.answer(service, request)


def _draw_button(service: Service, view: BenchmarkView) -> None:
    """Draw the button that begins the chain; raises as :func:`draft`."""
    chain = draft(view)
    label = "Plant, train and compare"
    st.button(label, icon=":material/potted_plant:", on_click=session.guarded(_press), args=(service, view))
    name = plain(file_tasks.source_name(chain.source, session.user()))
    st.caption(f"From {name}; {HELD_OUT:.0%} of its rows are held out, for the checks and the benchmark.")


def _press(service: Service, view: BenchmarkView) -> None:
    """Begin, or go on (a callback)."""
    chain = draft(view)
    for task in _plantings(chain):  # the files may have been deleted
        file_tasks.file_reader.forget(task)
    question.set("truth", chain)
    st.session_state[_TO_OPEN] = True
    session.act()
    TRUTH.ask(service, Begun(chain))


# ---- how far it is


def _draw_progress(service: Service, view: BenchmarkView, lanes: Sequence[Lane]) -> None:
    chain: Chain | None = question.now("truth")
    if chain is None:
        return
    if _begun(chain):
        _draw_planting(chain)
    elif chain.files:
        st.markdown(f":material/check: **1 Planted**: {counted(chain.learned, 'row')} to learn from")
    for lane in lanes:
        with st.container(border=len(lanes) > 1):
            if len(lanes) > 1:
                st.markdown(f"**A word in {lane.share:.0%} of the texts**")
            _draw_lane(lane)
    steps = [step for lane in lanes for step in (lane.training, lane.checks)]
    steps += [lane.benchmark for lane in lanes if lane.view is None or lane.view.request() != view.request()]
    TRUTH.draw_state(service, [step for step in steps if step.result is None])
    _draw_shares(lanes)


def _draw_planting(chain: Chain) -> None:
    """Draw the planted words, the progress of planting, or the reason why it is impossible."""
    try:
        asked = _plantings(chain)
        if waiting := [task for task in asked if not task.ended]:
            for task in waiting:
                draw_reading(task)
            return
        planted = [task.answer() for task in asked]
        rows = f"{counted(planted[0].rows, 'row')} to learn from, {planted[0].held_out_rows:,} held out"
        st.markdown(f":material/check: **1 Planted**: {rows}")
        for warning in dict.fromkeys(each.warning for each in planted if each.warning):
            st.warning(plain(warning), icon=":material/warning:")
        if not chain.files:  # they ended while the page was drawn
            links.rerun()
    except Cancelled:
        st.info("The planting was cancelled.", icon=":material/cancel:")
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")


def _draw_lane(lane: Lane) -> None:
    """Draw the finished steps of one model, and its present one."""
    if lane.made is None:
        st.markdown(":material/arrow_forward: **2 Train**: a model learns the words")
        return
    accuracy = lane.training.result.body.models[0].accuracy
    right = "" if accuracy is None else f", right on {accuracy.mean:.1%} of its validation rows"
    epochs = counted(len(lane.made.epochs), "epoch")
    st.markdown(f":material/check: **2 Trained**: {plain(lane.made.id)} in {epochs}{right}")
    if lane.known is None:
        st.markdown(":material/arrow_forward: **3 Check**: does the model go by the words, and by nothing else?")
        return
    if not lane.known.known:
        words = " ".join([verdict(lane.known), *reasons(lane.known)])
        st.warning(f"**3 Check failed**: {plain(words)} No ground truth is shown.", icon=":material/rule:")
        return
    st.markdown(f":material/check: **3 Checked**: {plain(verdict(lane.known))}")
    if lane.benchmark.result is None:
        st.markdown(":material/arrow_forward: **4 Compare**: maps of the rows held out")
    else:
        st.markdown(f":material/check: **4 Compared**: {counted(lane.benchmark.result.body.n, 'text')}")
        _draw_opener(lane)


def _draw_opener(lane: Lane) -> None:
    """Draw a button that opens the benchmark of ``lane``, unless the page shows it."""
    view = lane.view
    if view is not None and (question.now("model"), question.now("data")) != (view.model, view.source):
        st.button(
            "Open the benchmark",
            key=f"benchmark_truth_open_{view.model}",
            icon=":material/leaderboard:",
            on_click=PAGE.seed,
            args=(view, True),
        )


def _draw_shares(lanes: Sequence[Lane]) -> None:
    """Draw the overlap with the truth against the share, of all benchmarks with a result."""
    there = [lane for lane in lanes if lane.benchmark.result is not None]
    if len(there) < 2:
        return
    first, *_ = results = [lane.benchmark.result for lane in there]
    chart = cached_for(first, _chart, tuple(lane.share for lane in there), tuple(results))
    draw_chart(chart, "benchmark_overlap_by_share", help=explained("", "rationale"))


def _chart(shares: Sequence[float], results: Sequence[AnalysisResult[EvaluationData]]) -> Chart:
    bodies = [result.body for result in results]
    return overlap_by_share(shares, bodies, parse_metric(TRUTH_METRICS[0]).name)


_POSITIONS = {"end": "End", "start": "Start", "random": "Anywhere"}
_ARCHITECTURES = {
    "bert": "BERT",
    "gpt2": "GPT-2",
    "t5_encoder": "T5 encoder",
    "bilstm_attention": "BiLSTM with attention",
}
_WORDS_HELP = "One for each class, which it names; with commas between. Rare words mislead least."
_SHARE_HELP = (
    "The share of the texts that get a word. Several, with commas, make a model each, and a chart of how well the maps "
    "find a feature that is weaker: 1, 0.75, 0.5."
)
_SETTINGS_HELP = "Anything not set here is as for the embedded models, with enough epochs to learn a word."


def _draw_controls() -> None:
    """Draw the controls of the words, their places, the number of texts, and the model."""
    words, position, share = st.columns([3, 2, 2], vertical_alignment="bottom")
    architecture, training = st.columns([2, 5], vertical_alignment="bottom")
    with words:
        _draw_text("Words", "truth_words", _WORDS_HELP)
    with position:
        question.select("Position", "truth_position", _POSITIONS, "Where in the text the word is put.")
    with share:
        _draw_text("Share", "truth_shares", _SHARE_HELP)
    with architecture:
        question.select("Architecture", "truth_architecture", _ARCHITECTURES, "Of the model that learns the words.")
    with training:
        _draw_text("Settings of training", "truth_settings", _SETTINGS_HELP, "epochs=3, layers=2, width=128")


def draft(view: BenchmarkView) -> Chain:
    """Return the chain that the controls describe; raises :class:`RequestError` for an invalid one.

    It begins with the data set of ``view``. If an earlier chain planted that file, it begins with that chain's source.
    """
    source, columns = view.source, view.columns
    before: Chain | None = question.now("truth")
    if before is not None and any(source in files for files in before.files):
        source, columns = before.source, before.columns
    if not source:
        raise RequestError("No data set is chosen.", "Choose the texts that get the words above.")
    chain = validated(
        Chain,
        source=source,
        columns=columns,
        words=_listed("truth_words"),
        position=question.now("truth_position"),
        shares=tuple(filter(None, _listed("truth_shares"))),
        architecture=question.now("truth_architecture"),
        settings=question.now("truth_settings"),
        seed=view.seed,
        methods=view.methods,
        metrics=_perturbing(view.metrics),
        rows=view.rows,
        sample=view.sample,
    )
    chain.plantings()
    chain.training_settings()
    return chain


def _listed(name: str) -> tuple[str, ...]:
    """Return the words of a control, between its commas."""
    return tuple(dict.fromkeys(part.strip() for part in question.now(name).split(",")))


def _draw_text(label: str, name: str, help_text: str, placeholder: str = "") -> None:
    st.text_input(label, question.now(name), key=question.key(name), help=help_text, placeholder=placeholder)


def _perturbing(names: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics among ``names`` that need no rationale."""
    asked = metric_requests(names)
    return tuple(metric.name for metric in asked if not isinstance(get_metric(metric.metric), PlausibilityMetric))
