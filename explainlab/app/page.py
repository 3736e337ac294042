"""The base of the pages of analyses: the view that a link, a button or the controls set, its link, and its cost.

A view may also come from another page: the question of a session goes with its reader, but computes nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import get_analysis
from explainlab.analyses.wording import counted
from explainlab.app import links, session
from explainlab.app.components import bring_into_view, follow_press, is_narrow, watch_narrow
from explainlab.app.controls import Form
from explainlab.app.cost_estimates import draw_cost_estimate
from explainlab.app.data_set import draw_mapping
from explainlab.app.entries import PageEntry, analysis_pages, entries
from explainlab.app.frame import name_tab
from explainlab.app.place import Answer, PageState, require_valid, resolved
from explainlab.app.question import Question
from explainlab.app.sets import draw_further, draw_way_back, section_of
from explainlab.app.text import plain
from explainlab.app.view import AnalysisView, SharedInputs
from explainlab.errors import ExplainLabError, RequestError
from explainlab.models.classifier import Prediction
from explainlab.models.loading import ModelCard
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.store.made import shown_model

_SAMPLE_HELP = "Random rows are drawn in proportion to the labels; the same seed draws the same rows."
_STALE = ":material/edit: The controls have changed: press **{button}** to update the results."
_WAITS = "These settings come from another page: press **{button}** to compute here."


def draw_headline(result: Result) -> None:
    """Draw the result in words, above all figures, the numbers behind them, and which rows it is about."""
    analysis = get_analysis(result.request.question)
    report = analysis.report(result)
    draw_words(report.headline, result, lambda: report.lines)


def draw_words(words: str, result: Result, lines: Callable[[], Sequence[str]], points: Sequence[str] = ()) -> None:
    """Draw the answer ``words`` of ``result``, its model, its ``points``, and which rows of a data set were studied.

    Unfolded, the ``lines`` of numbers that support the answer.
    """
    st.markdown(f"**{plain(words)}**")
    if result.request.model:
        st.caption(f"Model: {plain(shown_model(result.request.model, session.user().id))}")
    if points:
        st.markdown("\n".join(f"* {plain(point)}" for point in points))
    key = f"numbers_{result.request.question}_{'text' if result.request.data is None else 'data'}"
    behind = st.expander("The numbers behind this", icon=":material/calculate:", key=key, on_change="rerun")
    if behind.open:
        behind.code("\n".join(lines()), language=None)
    if isinstance(result, AnalysisResult) and result.sample_words:
        st.caption(f"Rows drawn: {result.sample_words}.", help=_SAMPLE_HELP)


def draw_facts(result: AnalysisResult[Any], amount: str) -> None:
    """Draw the prediction for a text, the class explained, the ``amount`` of what was computed, and what it cost."""
    prediction, cost = result.body.prediction, result.cost
    facts = [
        f"Prediction **{plain(prediction.label)}**, {100 * prediction.probabilities[prediction.label]:.1f}%",
        f"explained: **{plain(result.body.target.label)}**",
        amount,
        f"{cost.forward:,} forward + {cost.backward:,} backward passes, {cost.seconds:.2f} s",
    ]
    st.markdown(" · ".join(facts))


def draw_predicted(prediction: Prediction) -> None:
    """Draw the predicted class with its probability."""
    share = f"{100 * prediction.probabilities[prediction.label]:.1f}%"
    st.metric("Prediction", plain(prediction.label), share, delta_color="off", delta_arrow="off")


def views_elsewhere(text: SharedInputs, here: str) -> Mapping[PageEntry, AnalysisView]:
    """Return the views that show ``text`` on the pages of single texts, but for the page ``here``."""
    others = {entry: page for entry, page in analysis_pages().items() if page.name != here}
    views = {entry: page.view or page.first() for entry, page in others.items() if "text" in page.record.model_fields}
    return {entry: _with_data(view.with_shared_inputs(text), None) for entry, view in views.items()}


def draw_open_in(service: Service, text: SharedInputs, here: str) -> None:
    """Draw buttons that ask about a text of the page ``here`` on the other pages."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Open in", width="content")
        for entry, view in views_elsewhere(text, here).items():
            if st.button(entry.title, icon=entry.icon, key=f"{here}_open_{entry.title}"):
                links.open_page(service, entry.path, view)


@dataclass(frozen=True)
class AnalysisPage(PageState):
    """A page: its form, its first view, and its button's text.

    ``shows`` gives the view for the answer to a complete request (None: not on this page).
    """

    form: Form[Any]
    first: Callable[[], Any]
    button: str
    shows: Callable[[Request], AnalysisView | None]

    @property
    def question(self) -> Question:
        """The controls of the page."""
        return self.form.question

    @property
    def record(self) -> type[AnalysisView]:
        """The type of its views."""
        record: type[AnalysisView] = self.form.record
        return record

    @property
    def drawn(self) -> Sequence[str]:
        """The fields of its views that change no request."""
        return self.form.redrawn

    def seed(self, view: AnalysisView, force: bool = False) -> None:
        """Set the controls to ``view``; those that already hold a value keep it unless ``force``."""
        self.form.seed(view, force)

    def draft(self) -> Any:
        """Return the view that the controls describe now; raises :class:`RequestError` for an invalid one."""
        return self.form.draft()

    def open_view(self, service: Service) -> None:
        """Set the controls to the view of a link just opened, else to the view last shown, else to the first.

        A reader who arrives from another page without a link finds that page's question in the controls.
        The browser alone checks limits and choices: invalid controls are reported and set back.
        """
        arriving = session.arriving(self.name)
        view = links.follow(service, self, self.record, self.first())
        if view is not None:
            self.ask(service, view, record=False)
            self.seed(view, force=True)
            self._fold(st.query_params["r"] != links.FIRST)
        elif arriving is not None and "r" not in st.query_params:
            with suppress(ExplainLabError):  # a question that this page cannot ask stays where it was
                self._prefill((self.view or self.first()).with_shared_inputs(arriving))
        opened = st.query_params["r"] if view is not None else links.FIRST if self.view is None else ""
        if self.view is None:
            self.ask(service, self.first(), record=False)
        self.seed(self.view)
        try:
            draft = self.draft()
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")
            self.seed(self.view, force=True)
        else:
            if opened:
                links.arrive(self, (self.view, _with_data(draft, _data_of(self.view))), opened)

    def place_of_controls(self, line: str = "") -> DeltaGenerator:
        """Return the expander for the controls; it is folded for an opened link and in a window as narrow as a phone's.

        It is unfolded while the view waits for a press. ``line`` is its label in plain text (empty: view and data set).
        The browser alone knows whether the user has unfolded it. With ``on_change``, Streamlit takes an expander with
        another label or state for another one, and drops the focus and the text that the user is typing.
        """
        folded = st.session_state.get(self._folded, is_narrow() and not self.waiting)
        folds = st.session_state.get(self._folds, 0)
        with st.container(gap=None, key=self._controls):  # the first two draw nothing
            follow_press(self.name)
            watch_narrow(self.name, partial(self._fold, not self.waiting))
            line = line or " · ".join(filter(None, (self.view.line(), _source_name(self.view))))
            return st.expander(plain(line), not folded, key=f"{self.name}_folded_{folds}")

    def draw_data_question(self, run: Callable[[], None]) -> ModelCard | None:
        """Draw model, data set and all other controls of a page about whole data sets; a button calls ``run``."""
        with st.container(horizontal=True, vertical_alignment="bottom"):
            card = self.question.draw_model_of_data()
            self.form.draw("model", card)
        self.form.columns("data", card=card)
        self.form.draw("methods", card)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            self.form.draw("main", card, run)
            st.button(self.button, type="primary", icon=":material/play_arrow:", on_click=run, width="content")
        return card

    def ask_text(self, service: Service) -> None:
        """Make the requests of the controls (a callback); the data set stays while its results fit the setting."""
        draft = self._draft()
        if draft is not None:
            self.fold_where_narrow()
            self.ask(service, _with_data(draft, _data_of(self.view) if draft.same_setting(self.view) else None))

    def ask_data(self, service: Service) -> None:
        """Request the data set as well (a callback)."""
        draft = self._draft(with_data=True)
        if draft is not None and draft.data.source:
            self.ask(service, draft)

    def open_text(self, service: Service, text: str, pair: str | None = None) -> None:
        """Put a text of the data set into the section above and request it (a callback)."""
        self.question.set("text", text)
        self.question.set("pair_on", pair is not None)
        self.question.set("pair", pair or "")
        self.ask_text(service)
        bring_into_view(self._controls)

    def settle(self, service: Service) -> Any:
        """Return the view to show: that of the controls if its results are stored, else the last one.

        The tab is titled by it.
        """
        view = self._settled(service)
        self.entitle(view)
        return view

    def entitle(self, view: AnalysisView) -> None:
        """Title the tab by ``view``."""
        title = {entry.url: entry.title for entry in entries()}.get(self.name, self.name)
        name_tab(title, _source_name(view) or view.begin())

    def fold_where_narrow(self) -> None:
        """Fold the controls in a window as narrow as a phone's, where the answer is far below them."""
        if is_narrow():
            self._fold(True)

    def _settled(self, service: Service) -> Any:
        before = self.view
        try:
            draft = self.draft()
            requests = draft.text_requests()
            same = requests == before.text_requests()
            ready = same or _all_stored(service, requests)
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")
            return before
        session.remember_inputs(self.name, draft.shared_inputs(), self.first().shared_inputs())
        if self.waiting:
            return self._settle_waiting(service, draft, requests)
        if not ready:
            st.caption(_STALE.format(button=self.button))
            draw_cost_estimate(service, lambda: requests)
        view = draft if ready else before.model_copy(update={name: getattr(draft, name) for name in self.drawn})
        view = _with_data(view, self._data(service, view, draft))
        if (same or not ready) and view.data_requests() == before.data_requests():
            self.redraw(view)
        else:
            self.ask(service, view, record=self._memory.record)
        return view

    def link(self, service: Service, view: Any) -> str:
        """Return the full link to ``view``: see :func:`explainlab.app.links.share`; empty while that waits."""
        return "" if self.waiting else links.share(service, self, view)

    def answers_in(self, section: PageState, service: Service, requests: Sequence[Request]) -> list[Answer]:
        """Return the answers to ``requests`` in a ``section`` of this page; stored ones alone while the page waits."""
        if not self.waiting:
            return section.answer_all(service, requests)
        section.keep(service, requests)
        return [section.answer_if_requested(service, request) or Answer() for request in requests]

    def draw_data(
        self,
        service: Service,
        view: Any,
        help: str,
        card: ModelCard | None,
        draw: Callable[[Any], None],
    ) -> None:
        """Draw the section about a data set for the model of ``card``: its controls, cost and result, with ``draw``."""
        st.divider()
        st.header("A data set", anchor=False, help=help)
        run = partial(self.ask_data, service)
        *lines, last = (row for row in ("data", "more_data") if self.form.row(row))
        for row in lines:
            self.form.columns(row, card=card, run=run)
        (button,) = self.form.columns(last, 3, card=card, run=run)
        button.button("Study the data set", icon=":material/dataset:", on_click=run, width="stretch")
        draw_mapping(self.question, None)
        draw_further(self.question, None)
        self._draw_cost(service)
        requests = view.data_requests()
        if len(requests) > 1:
            answers = self.answer_set(service, requests)
            section_of(self, service).draw(service, view.cells, answers)
        elif requests:
            draw_way_back(self, view)
            study = self.answer(service, requests[0])
            self.draw_state(service, [study])
            if study.result is not None:
                draw(study.result)

    def draw_early(self, answers: Sequence[Answer]) -> None:
        """Draw the prediction as soon as a job has made it, while none of ``answers`` is there."""
        made = [answer.job.prediction for answer in answers if answer.job is not None]
        prediction = next((prediction for prediction in made if prediction is not None), None)
        if prediction is not None and all(answer.result is None for answer in answers):
            draw_predicted(prediction)

    def _draw_cost(self, service: Service) -> None:
        """Draw the cost of the study of the data set, or the reason why only the text can be studied."""
        try:
            view = self.draft()
            require_valid(view.text_requests())
        except ExplainLabError:  # told above
            return
        try:
            if not view.data.source:
                raise RequestError(
                    "No data set is chosen.", "Choose the embedded examples, or type the path of a file."
                )
            requests = view.data_requests()
            require_valid(requests)
        except ExplainLabError as error:
            st.caption(plain(str(error)))
            return
        st.caption(f"All other settings are those above.{cells_words(view)}")
        draw_cost_estimate(service, lambda: requests)

    def _settle_waiting(self, service: Service, draft: Any, requests: Sequence[Request]) -> Any:
        """Return the view of the controls before its ``requests`` are made; show its stored results."""
        if not _all_stored(service, requests):
            st.info(_WAITS.format(button=self.button), icon=":material/play_arrow:")
            draw_cost_estimate(service, lambda: requests)
        view = _with_data(draft, self._data(service, draft, draft))
        self.prefill(view, requests)
        return view

    def _prefill(self, view: AnalysisView) -> None:
        """Show the question of another page, unless this page asks it already; the data set stays as above."""
        if view == self.view:
            return
        kept = self.view is not None and view.same_setting(self.view)
        self.prefill(_with_data(view, _data_of(view) if kept else None), view.text_requests())
        self.seed(self.view, force=True)
        self._fold(False)

    def _fold(self, folded: bool) -> None:
        """Fold the controls or unfold them, also when the page is next drawn after another one."""
        st.session_state[self._folded] = folded
        st.session_state[self._folds] = st.session_state.get(self._folds, 0) + 1

    @property
    def _folded(self) -> str:
        """The key of the session's record whether the controls are folded at first."""
        return f"{self.name}.folded"

    @property
    def _folds(self) -> str:
        """The key of the session's count of foldings by the page: each gives the browser a new expander."""
        return f"{self.name}.folds"

    @property
    def _controls(self) -> str:
        """The key of the container of the controls."""
        return f"{self.name}_controls"

    def _data(self, service: Service, view: Any, draft: Any) -> Any:
        """Return the data set of ``view``: the one chosen now if its result is stored, else the one before."""
        if _data_of(draft) is None:
            return None
        if draft.data.source and view.same_setting(draft):
            asked = self.view.data_requests()
            if (asked and draft.data_requests() == asked) or _stored(service, draft.data_requests()):
                return draft.data
        return _data_of(self.view) if view.same_setting(self.view) else None

    def _draft(self, with_data: bool = False) -> Any:
        """Return the view of the controls; None if they are invalid: the next run of the page says so.

        Streamlit forgets controls that the last run did not draw: they are as in the last view.
        """
        self.seed(self.view)
        try:
            draft = self.draft()
            require_valid(draft.requests() if with_data else draft.text_requests())
            return draft
        except ExplainLabError:
            return None


def cells_words(view: AnalysisView) -> str:
    """Return the note that the cost is for each of several cells; it is empty for one."""
    several = counted(len(view.cells), "cell")
    return "" if len(view.cells) < 2 else f" All this for each of **{several}**: every model on every data set."


def _source_name(view: AnalysisView) -> str:
    """Return the name of the data set, of a view that is about no single text; else nothing."""
    return file_tasks.source_name(view.whole_data, session.user()) if view.whole_data else ""


def _data_of(view: AnalysisView) -> Any:
    """Return the choices of its section about a data set; None without choices or without such a section."""
    return getattr(view, "data", None)


def _with_data(view: Any, data: Any) -> Any:
    return view if _data_of(view) is data else view.model_copy(update={"data": data})


def _all_stored(service: Service, requests: Sequence[Request]) -> bool:
    """Return True if there are ``requests``, and all have stored results."""
    return bool(requests) and all(service.has(resolved(request)) for request in requests)


def _stored(service: Service, requests: Sequence[Request]) -> bool:
    """Return True if all results of data sets are stored; an invalid request is reported below its controls."""
    try:
        return _all_stored(service, requests)
    except ExplainLabError:
        return False


@dataclass(frozen=True)
class Pressed(PageState):
    """The state of answers that only a press of the button of ``page`` computes. Its view is the last one requested."""

    page_of: AnalysisPage

    def press(self, service: Service) -> None:
        """Ask what the controls describe (a callback); the next run of the page says what is wrong with it."""
        with suppress(ExplainLabError):
            view = self.page_of.draft()
            view.requests()  # raises for an invalid request
            self.page_of.fold_where_narrow()
            self.page_of.ask(service, view)
            self.ask(service, view)

    def settle(self, service: Service) -> Any:
        """Return the view to show: that of the controls, or the last one requested if the controls have no answers yet.

        Raises :class:`ExplainLabError` for controls that describe none.
        """
        page = self.page_of
        view = draft = page.draft()
        requests = draft.requests()
        session.remember_inputs(page.name, draft.shared_inputs(), page.first().shared_inputs())
        asked = self.view.requests() if self.view else []
        there = all(service.has(resolved(request)) for request in requests)
        if asked and list(asked) != list(requests) and not there:
            shown = self.view if isinstance(self.view, AnalysisView) else page.shows(asked[0])
            if shown is not None:
                view = shown.model_copy(update={name: getattr(draft, name) for name in page.drawn})
        page.redraw(view)
        page.entitle(view)
        return view
