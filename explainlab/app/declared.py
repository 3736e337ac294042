"""The page of a question about a data set, drawn from what its analysis declares: parameters, headline and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import streamlit as st
from pydantic import create_model

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import complete, get_study, new_request
from explainlab.app import links
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart
from explainlab.app.controls import Drawing, Form, Source
from explainlab.app.data_set import draw_mapping
from explainlab.app.entries import PageEntry
from explainlab.app.frame import draw_title
from explainlab.app.page import AnalysisPage, draw_headline
from explainlab.app.question import Question
from explainlab.app.text import plain
from explainlab.app.view import AnalysisView, SharedInputs
from explainlab.declared import ParameterSpec, parse, specs
from explainlab.request import Request
from explainlab.service.service import service as get_service


class RequestView(AnalysisView):
    """The view of a page that shows the answer to one ``request``, and nothing else."""

    page: str
    request: Request

    @property
    def whole_data(self) -> str | None:
        """See :attr:`AnalysisView.whole_data`."""
        return self.request.data

    def text_requests(self) -> list[Request]:
        """Return the request."""
        return [self.request]

    def shared_inputs(self) -> SharedInputs:
        return {"model": self.request.model}

    def with_shared_inputs(self, inputs: SharedInputs) -> Self:
        model = {"model": inputs.get("model", self.request.model)}
        return self.model_copy(update={"request": self.request.model_copy(update=model)})


@dataclass(frozen=True)
class _Controls(Form[RequestView]):
    """Model, data set and declared parameters of the analysis ``analysis_id`` on the page of ``entry``."""

    entry: PageEntry
    analysis_id: str

    def first(self) -> RequestView:
        """Return the first view: an embedded model, examples that suit it, and the default of every parameter."""
        about = {"model": "embedded:bert-mini-sst2", "data": "embedded:sentiment"}
        return self._view(new_request(question=self.analysis_id, **about))

    def seed(self, view: RequestView, force: bool = False) -> None:
        """Set the controls to ``view``; those that already hold a value keep it unless ``force``."""
        request = complete(view.request)
        values = {_name(spec): spec.written(request.parameters[spec.name]) for spec in self._specs()}
        reading = {"source": request.data, "columns": request.columns, "classes": request.classes}
        shared = {"request": request, "model": request.model, "data": request.data, "reading": reading}
        self.question.seed({**shared, **values}, force)

    def draft(self) -> RequestView:
        """Return the view that the controls describe now; raises :class:`explainlab.errors.RequestError`."""
        before: Request = self.question.now("request")
        chosen = {spec.name: self.question.now(_name(spec)) for spec in self._specs()}
        data = dict(self.question.reading())
        fields = {"model": self.question.now("model"), "data": data.pop("source"), **data}
        return self._view(Request(**{**dict(before), **fields, "parameters": {**before.parameters, **chosen}}))

    def shows(self, request: Request) -> RequestView | None:
        """Return the view of a request for the analysis of a data set; None for another one."""
        asked = request.question == self.analysis_id and request.data is not None
        return self._view(request) if asked else None

    def draw_all(self, run: Callable[[], None]) -> None:
        """Draw all controls; ``run`` is called when the button is pressed."""
        with st.container(horizontal=True, vertical_alignment="bottom"):
            card = self.question.draw_model_of_data()
            Source(key="data").draw(Drawing(self.question, card))
        listed = list(self._specs())
        *columns, button = st.columns([*(2 for _ in listed), 1], vertical_alignment="bottom")
        for column, spec in zip(columns, listed, strict=True):
            with column:
                self.question.draw_parameter(_name(spec), spec)
        button.button("Run", type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")
        study = get_study(self.analysis_id)
        labels = card.labels if card and study.requirements(parse(study, {})).labelled else None
        draw_mapping(self.question, labels)

    def _view(self, request: Request) -> RequestView:
        return self.record(page=self.entry.url, request=complete(request))

    def _specs(self) -> Iterator[ParameterSpec]:
        """Yield the parameters that a form can show: all but mappings."""
        declared = specs(get_study(self.analysis_id).Parameters)
        return (spec for spec in declared if isinstance(spec.default, str | int | float | list))


@dataclass(frozen=True)
class DataPage(AnalysisPage):
    """A page made by :func:`data_page`."""

    form: _Controls

    def draw(self) -> None:
        """Draw the page, from the controls to the charts."""
        service = get_service()
        self.open_view(service)
        draw_title(self.form.entry, service.notice)
        with self.place_of_controls():
            self.form.draw_all(partial(self.ask_text, service))
        view = self.settle(service)
        answer = self.answer(service, view.request)
        link = self.link(service, view)
        st.divider()
        self.draw_state(service, [answer])
        if answer.result is not None:
            self._draw_result(answer.result)
        elif answer.running:
            st.skeleton(height=160)
        links.draw(link)

    def _draw_result(self, result: AnalysisResult[Any]) -> None:
        draw_headline(result)
        figures = cached_for(result, figures_of, result)
        if figures.none:
            st.info(plain(figures.none), icon=":material/info:")
        for name, chart in figures.charts.items():
            draw_chart(chart, f"{self.name}_{name}")


def data_page(entry: PageEntry, analysis_id: str) -> DataPage:
    """Return the page ``entry`` of the analysis ``analysis_id``, whose parameters have defaults.

    It has the controls that the parameters declare, the headline, and the charts that ``figures.py`` declares of a data
    set; its view is the request.
    """
    question = Question(entry.url)
    page: Any = (Literal[entry.url], entry.url)  # a link of another page is refused
    record = create_model(f"{entry.title}View", __base__=RequestView, page=page)
    controls = _Controls(question, record, entry, analysis_id)
    return DataPage(
        entry.url,
        form=controls,
        first=controls.first,
        button="Run",
        shows=controls.shows,
    )


def _name(spec: ParameterSpec) -> str:
    """Return the control of a parameter."""
    return f"parameter_{spec.name}"
