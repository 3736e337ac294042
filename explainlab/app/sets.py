"""Studies of several models and data sets: the further ones, the cells with their answers, and one opened alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.sets.charts import by_model, weights_words
from explainlab.analyses.sets.records import SetCell, SetModel, StudySet
from explainlab.analyses.sets.table import (
    number_rows,
    set_cells,
    set_csv,
    set_frame,
    set_html,
    set_json,
    set_latex,
    set_table,
)
from explainlab.analyses.sets.verdict import none_done, overview, points
from explainlab.app import links, session
from explainlab.app.cached import cached_for
from explainlab.app.chart import File, draw_cells, draw_chart, draw_files, theme
from explainlab.app.components import bring_into_view, is_narrow
from explainlab.app.data_set import ROLES, draw_mapping, draw_upload
from explainlab.app.glossary import explained
from explainlab.app.place import Answer, PageState
from explainlab.app.progress import draw_jobs
from explainlab.app.question import Question, card_of
from explainlab.app.text import plain
from explainlab.data import EXAMPLES
from explainlab.data.hub import PREFIX as HUB
from explainlab.errors import ExplainLabError, ModelError
from explainlab.figures.chart import Chart
from explainlab.models.loading import model_name
from explainlab.models.stored.places import but_for_seed, embedded_models
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.store.made import own_names, resolve_model_alias, shown_model

if TYPE_CHECKING:
    from explainlab.app.page import AnalysisPage


@dataclass(frozen=True)
class Known:
    """Choices that need no typing: data ``sources``, and ``models`` (id: name) beside the embedded ones."""

    models: Mapping[str, str] = field(default_factory=dict)
    sources: Sequence[str] = tuple(EXAMPLES)


_USUAL = Known()


def draw_further(
    question: Question,
    classes: Sequence[str] | None,
    roles: Mapping[str, str] = ROLES,
    known: Known = _USUAL,
    draw_more: Callable[[str], None] | None = None,
    needs_label: bool = True,
) -> None:
    """Draw any number of models and data sets beside the first ones.

    ``classes``, ``roles`` and ``needs_label`` are as for the first.

    ``draw_more`` draws further controls of a further data set.
    """
    models, sources = question.now("models"), question.now("sources")
    every = (1 + len(models)) * (1 + len(sources))
    label = "Further models and data sets" + (f": {every} cells" if every > 1 else "")
    with st.expander(label, icon=":material/grid_view:", key=question.key("further")):
        own = own_names(session.user().id)
        names = {**known.models, **{model: model_name(model) for model in embedded_models()}, **own}
        typed = "Embedded models and those that you have made; or type a directory or a hub id."
        _draw_list(
            question, "Further models", "models", list(names), lambda model: names.get(model, model_name(model)), typed
        )
        typed = "Embedded examples, or type the path of a file; its columns can be picked below."
        _draw_list(question, "Further data sets", "sources", known.sources, _name, typed)

        def add(source: str) -> None:
            question.set("sources", [*(known for known in question.now("sources") if known != source), source])

        draw_upload(Question(question.key("further")), add, "Upload a further file")
        for source in sources:
            if source not in known.sources and not source.startswith(HUB):
                draw_mapping(question.further(source), classes, roles, _name(source), needs_label)
            if draw_more is not None:
                draw_more(source)


def _draw_list(
    question: Question, label: str, name: str, known: Sequence[str], called_as: Callable[[str], str], typed: str
) -> None:
    st.multiselect(
        label,
        list(dict.fromkeys([*known, *question.now(name)])),
        question.now(name),
        key=question.key(name),
        accept_new_options=True,
        format_func=called_as,
        placeholder="None",
        help=f"{typed} Every model is studied on every data set.",
    )


def _name(source: str) -> str:
    return file_tasks.source_name(source, session.user())


S = TypeVar("S", bound=StudySet)
T = TypeVar("T")


def result_of(answer: Answer) -> AnalysisResult[Any] | None:
    """Return the result that an answer has."""
    result: AnalysisResult[Any] | None = answer.result
    return result


def set_of(
    kind: Callable[[tuple[SetCell, ...]], S],
    cells: Sequence[tuple[str, str]],
    answers: Sequence[Answer],
    read: Callable[[Answer], AnalysisResult[Any] | None] = result_of,
) -> S:
    """Return a set of this ``kind``: its ``cells`` are a model and a data set each; ``read`` reads their answers."""
    ids = list(dict.fromkeys(model for model, _ in cells))
    names = {model: shown_model(model, session.user().id) for model in ids}
    counts = Counter(names.values())
    models = {model: _model(model, name if counts[name] == 1 else model) for model, name in names.items()}
    sources = _names(list(dict.fromkeys(source for _, source in cells)))
    return kind(
        tuple(
            SetCell(models[model], source, sources[source], read(answer), answer.problem)
            for (model, source), answer in zip(cells, answers, strict=True)
        )
    )


def drawn(studies: S, make: Callable[..., T], *arguments: Any) -> T:
    """Return ``make(studies, *arguments)``, made once for them: see :func:`explainlab.app.cached.cached_for`."""
    cells = tuple((cell.model, cell.data, cell.data_name, cell.reason, bool(cell.result)) for cell in studies.cells)
    results = tuple(cell.result for cell in studies.done)
    made: T = cached_for(results[0], _made, type(studies), make, cells, results, *arguments)
    return made


def _made(
    kind: type[StudySet], make: Callable[..., T], cells: Sequence[Any], results: Sequence[Any], *arguments: Any
) -> T:
    known = iter(results)
    whole = (
        SetCell(model, data, name, next(known) if done else None, reason) for model, data, name, reason, done in cells
    )
    return make(kind(tuple(whole)), *arguments)


def _model(model_id: str, name: str) -> SetModel:
    """Return the facts of a model that readers call ``name``."""
    card, alike = card_of(model_id), model_id
    with suppress(ModelError):  # deleted: its cell says so
        alike = but_for_seed(resolve_model_alias(model_id, session.user().id))
    return SetModel(model_id, name, card.architecture.family if card else "", card.weights if card else 0, alike)


def _names(sources: Sequence[str]) -> dict[str, str]:
    """Return readers' names of data sets; the folder or a number separates equal ones."""
    names = {source: file_tasks.source_name(source, session.user()) for source in sources}
    counts = Counter(names.values())
    return {
        source: name if counts[name] == 1 else "/".join(source.split("/")[-2:]) if "/" in source else f"{name} ({i})"
        for i, (source, name) in enumerate(names.items(), 1)
    }


OpenCell = Callable[[str, str], None]
"""Called with the model and the data set of a cell that is to be opened."""
Charts = Callable[[StudySet], Sequence[Chart]]
"""Figures of all cells that an analysis has beside those of their numbers."""
FIGURE_HELP = (
    "A line or a colour a method, a rule or a data set. The bands are 95% intervals: over texts, or over models that "
    "share a recipe."
)
_TABLE_HELP = "Press a cell to open it with the charts and texts behind it; so does a row of the list of cells below."
_STATES = {"done": "done", "failed": "no result", "waiting": "waiting"}


def _no_charts(studies: StudySet) -> Sequence[Chart]:
    """Return no charts but those of the numbers."""
    return ()


@dataclass(frozen=True)
class SetSection:
    """The section with the answer of several cells on the page of a ``question``, requested in a ``place``.

    ``open_cell`` opens one of them. ``charts`` are drawn above the numbers.
    """

    place: PageState
    question: Question
    open_cell: OpenCell
    charts: Charts = _no_charts

    def key(self, name: str) -> str:
        """Return the key of an element."""
        return self.question.key(f"set_{name}")

    def draw(self, service: Service, cells: Sequence[tuple[str, str]], answers: Sequence[Answer]) -> None:
        """Draw all finished ``cells``, and the progress of the others."""
        studies = set_of(StudySet, cells, answers)
        if studies.done:
            self.keep_known("by", list(studies.measures))
            self.keep_known("on", list(studies.data))
            measure = self.question.now("by")
            name = self.question.page
            charts = drawn(studies, self.charts)
            words = [drawn(studies, overview), *drawn(studies, points)]
            page = partial(set_html, name.capitalize(), words, studies, charts)
            files: list[File] = [
                ("CSV", lambda: set_csv(number_rows(studies)), f"{name}.csv", "text/csv"),
                ("JSON", lambda: set_json(studies, [overview(studies)]), f"{name}.json", "application/json"),
                ("HTML", page, f"{name}.html", "text/html"),
                ("LaTeX", partial(set_latex, studies), f"{name}.tex", "application/x-tex"),
            ]
            self.draw_words(drawn(studies, overview, measure), files)
            self._draw_behind(studies)
        elif all(answer.problem for answer in answers):
            self.draw_words(none_done(studies), ())
        self.draw_state(service, answers)
        if studies.done:
            for chart in drawn(studies, self.charts):
                draw_chart(chart, self.key(chart.name))
        if studies.done and studies.measures:
            self._draw_choices(studies)
            self.draw_figure(studies, self.question.now("by"))
            self.draw_table(studies, self.question.now("by"))
        elif any(answer.running for answer in answers):
            st.skeleton(height=320)
        self.draw_list(studies, {})

    def draw_words(self, words: str, files: Iterable[File]) -> None:
        """Draw the sentence over all cells, with the ``files`` of the whole set."""
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**{plain(words)}**", width="stretch")
            if files:
                with st.popover("Export all cells", icon=":material/download:", key=self.key("export")):
                    draw_files(files, self.key("file"))

    def draw_state(self, service: Service, answers: Sequence[Answer]) -> None:
        """Draw the job of the set while it runs or is stopped; else a button where cells have failed."""
        job = next((answer.job for answer in answers if answer.job is not None), None)
        if job is None:
            return
        behind = any(answer.job is job and not answer.problem for answer in answers)
        if job.progress.status != "done" or behind:  # a job that ended since its answers were read: the page reruns
            draw_jobs(service, [job], self.place)
        elif any(answer.job is job and answer.problem for answer in answers):
            failed = sum(isinstance(outcome, str) for outcome in job.outcomes)
            label = f"Run {'the cell that' if failed == 1 else f'the {failed} cells that'} failed again"
            again = self.place.submit_again
            st.button(label, icon=":material/replay:", on_click=again, args=(job,), key=self.key("again"))

    def draw_figure(self, studies: StudySet, measure: str) -> None:
        """Draw a measure over the models, on the data set that is chosen."""
        chart = drawn(studies, by_model, measure, self.question.now("on"))
        if chart.rows:
            key = self.key(f"by_model_{measure}")
            draw_chart(chart, key, help=explained(FIGURE_HELP, "interval"))

    def draw_table(self, studies: StudySet, measure: str) -> None:
        """Draw all cells by one measure; a press opens a cell."""
        rows = drawn(studies, set_frame, measure)
        if not rows:
            st.info("No cell has a value of this.", icon=":material/info:")
            return
        if is_narrow():
            self._draw_means(studies, measure)
            return
        draw_cells(
            drawn(studies, set_table, measure),
            drawn(studies, set_cells, measure, theme() == "dark"),
            self.key("table"),
            (measure,),
            lambda cell: self.open_cell(cell["model"], cell["data"]),
            explained(_TABLE_HELP, "interval"),
        )
        sorting = st.expander(
            "The same, to sort", icon=":material/table:", key=self.key("table_sorted"), on_change="rerun"
        )
        if sorting.open:
            with sorting:
                self._draw_means(studies, measure)

    def draw_list(self, studies: StudySet, more: dict[str, Callable[[SetCell], str]]) -> None:
        """Draw every cell with its state, and ``more`` columns; one that is picked is opened."""
        key = self.key("cells")

        def picked() -> None:
            for row in st.session_state[key].selection.rows:
                self.open_cell(studies.cells[row].model.id, studies.cells[row].data)

        st.header("Cells", anchor=False, help="Pick one to open it with the charts and texts behind it.")
        rows = [
            {
                "Model": cell.model.name,
                "Architecture": cell.model.family,
                "Parameters": weights_words(cell.model.weights) if cell.model.weights else "",
                "Data set": cell.data_name,
                "State": _STATES[cell.status],
                "Texts": f"{max((number.n for number in cell.numbers), default=0):,}" if cell.result else "",
                "Rows drawn": cell.result.sample_words if cell.result else "",
                **{name: value(cell) for name, value in more.items()},
                "Reason": cell.reason,
            }
            for cell in studies.cells
        ]
        table = pd.DataFrame(rows)
        unknown = [name for name in ("Architecture", "Parameters") if not table[name].any()]
        st.dataframe(
            table.drop(columns=unknown),
            hide_index=True,
            height="content",
            key=key,
            on_select=picked,
            selection_mode="single-row",
            column_config={
                "Data set": st.column_config.TextColumn(width="medium"),
                "Reason": st.column_config.TextColumn(width="large"),
            },
            alt=f"{len(rows)} cells, a model on a data set each; pick one to open it.",
        )

    def keep_known(self, name: str, known: Sequence[str]) -> None:
        """Reset a choice that this answer does not have to the first."""
        if self.question.now(name) not in known:
            self.question.set(name, next(iter(known), ""))

    def _draw_choices(self, studies: StudySet) -> None:
        """Draw the choice of the measured quantity, and of the data set of the figure, where there are several."""
        with st.container(horizontal=True, vertical_alignment="bottom"):
            if len(studies.measures) > 1:
                names = {name: measure.directed_label for name, measure in studies.measures.items()}
                self.question.select("Number", "by", names)
            several = len(studies.series_of(self.question.now("by"))) > 1
            if len(studies.data) > 1 and several and len(studies.groups) > 1:
                self.question.select("Data set", "on", studies.data, "The data set of the figure.")

    def _draw_behind(self, studies: StudySet) -> None:
        key = self.key("numbers")
        behind = st.expander("The numbers behind this", icon=":material/calculate:", key=key, on_change="rerun")
        if behind.open:
            behind.markdown("\n".join(f"* {plain(words)}" for words in drawn(studies, points)))

    def _draw_means(self, studies: StudySet, measure: str) -> None:
        """Draw the means alone."""
        rows = drawn(studies, set_frame, measure)
        spec = "percent" if studies.measures[measure].spec.endswith("%") else "%.3f"
        columns = {name: st.column_config.NumberColumn(format=spec) for name in pd.DataFrame(rows).columns[1:]}
        st.dataframe(pd.DataFrame(rows), hide_index=True, height="content", column_config=columns)


def section_of(
    page: AnalysisPage, service: Service, place: PageState | None = None, charts: Charts = _no_charts
) -> SetSection:
    """Return the section with the answer of several cells of ``page``, which may be requested in another ``place``.

    ``charts`` are drawn above the numbers.
    """
    return SetSection(place or page, page.question, partial(_open, page, service), charts)


def draw_way_back(page: AnalysisPage, view: Any) -> None:
    """Draw a button to all cells, where ``view`` is one of them that readers opened here."""
    requests, link, several = st.session_state.get(_remembered(page), ((), "", 0))
    if requests and view.requests() == requests:
        with st.container(key=_alone(page)):
            back = partial(_go, link)
            label = f"All {several} cells"
            st.button(label, icon=":material/arrow_back:", on_click=back, key=f"{page.name}_all_cells")


def _open(page: AnalysisPage, service: Service, model: str, source: str) -> None:
    alone = page.view.of_cell(model, source)
    try:
        before, link = (links.save(service, view) for view in (page.view, alone))
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    st.session_state[_remembered(page)] = (alone.requests(), before, len(page.view.cells))
    _go(link)
    bring_into_view(_alone(page))


def _go(link: str) -> None:
    st.query_params["r"] = link


def _alone(page: AnalysisPage) -> str:
    return page.question.key("alone")


def _remembered(page: AnalysisPage) -> str:
    return f"{page.name}.all_cells"
