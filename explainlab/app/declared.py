"""The page of a question about a data set, drawn from what its analysis declares: parameters, headline and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, Self

import streamlit as st
from pydantic import create_model

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import complete, get_study, new_request
from explainlab.app import links
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart
from explainlab.app.controls import Drawing, Form, Held, Source, control_of
from explainlab.app.data_set import draw_mapping
from explainlab.app.entries import PageEntry
from explainlab.app.frame import draw_title
from explainlab.app.page import AnalysisPage, draw_headline
from explainlab.app.question import Question
from explainlab.app.text import plain
from explainlab.app.view import AnalysisView, SharedInputs
from explainlab.declared import parse, specs
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


@dataclass(frozen=True, kw_only=True)
class _Asked(Held):
    """The request of a page, with controls for model, data set and the declared parameters of an ``analysis``."""

    analysis: str

    def seeds(self, record: RequestView) -> dict[str, Any]:
        request = complete(record.request)
        values = {one.key: one.spec.written(request.parameters[one.name]) for one in self.inner()}
        reading = {"source": request.data, "columns": request.columns, "classes": request.classes}
        return {self.key: request, "model": request.model, "data": request.data, "reading": reading, **values}

    def read(self, question: Question) -> Request:
        before: Request = question.now(self.key)
        chosen = {one.name: question.now(one.key) for one in self.inner()}
        data = dict(question.reading())
        fields = {"model": question.now("model"), "data": data.pop("source"), **data}
        return complete(Request(**{**dict(before), **fields, "parameters": {**before.parameters, **chosen}}))

    def inner(self) -> Iterator[Held]:
        """Yield the controls of the parameters that a form can show: of all but mappings."""
        for spec in specs(get_study(self.analysis).Parameters):
            if isinstance(spec.default, str | int | float | list):
                yield control_of(spec, f"parameter_{spec.name}", row="parameters")


@dataclass(frozen=True, kw_only=True)
class DataPage(AnalysisPage):
    """A page made by :func:`data_page`."""

    entry: PageEntry
    analysis: str

    def draw(self) -> None:
        """Draw the page, from the controls to the charts."""
        service = get_service()
        self.open_view(service)
        draw_title(self.entry, service.notice)
        with self.place_of_controls(self.view.line()):
            self._draw_controls(partial(self.ask_text, service))
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

    def _draw_controls(self, run: Callable[[], None]) -> None:
        """Draw all controls; ``run`` is called when the button is pressed."""
        with st.container(horizontal=True, vertical_alignment="bottom"):
            card = self.question.draw_model_of_data()
            Source(key="data").draw(Drawing(self.question, card))
        (button,) = self.form.columns("parameters", 0.5)
        button.button("Run", type="primary", icon=":material/play_arrow:", on_click=run, width="stretch")
        study = get_study(self.analysis)
        labels = card.labels if card and study.requirements(parse(study, {})).labelled else None
        draw_mapping(self.question, labels)

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
    set; its view is the request, at first about an embedded model and examples that suit it.
    """
    page: Any = (Literal[entry.url], entry.url)  # a link of another page is refused
    asked: Any = (Annotated[Request, _Asked(analysis=analysis_id)], ...)
    record = create_model(f"{entry.title}View", __base__=RequestView, page=page, request=asked)

    def view(request: Request) -> RequestView:
        return record(page=entry.url, request=complete(request))

    def first() -> RequestView:
        return view(new_request(question=analysis_id, model="embedded:bert-mini-sst2", data="embedded:sentiment"))

    def shows(request: Request) -> RequestView | None:
        return view(request) if request.question == analysis_id and request.data is not None else None

    form = Form(Question(entry.url), record)
    return DataPage(entry.url, form, first, "Run", shows, entry=entry, analysis=analysis_id)
