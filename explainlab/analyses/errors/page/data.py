"""The data set of the Errors page: an uploaded file, its columns, and the class of each label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.errors.page.controls import question, read, reading
from explainlab.analyses.errors.page.main import report
from explainlab.app import session
from explainlab.app.text import plain
from explainlab.data import Preview, Survey
from explainlab.errors import ExplainLabError
from explainlab.models.loading import ModelCard
from explainlab.request import digest
from explainlab.service import looks
from explainlab.service.uploads import keep_upload
from explainlab.settings import settings

_ROLES = {"text": "Text", "label": "Label", "text_b": "Second text"}
_FORMATS = ["csv", "tsv", "jsonl", "parquet", "gz"]
_MOST_MATCHED = 30  # labels without a class that get a box each


def draw_data_options(card: ModelCard | None, run: Callable[[], None]) -> None:
    """Upload a file, pick its columns and match its labels, folded; ``run`` is called after an upload."""
    folded = st.expander(
        "File, columns and labels", icon=":material/dataset:", key="errors_data_options", on_change="rerun"
    )
    if not folded.open:
        return
    with folded:
        _draw_upload(run)
        source = question.now("data")
        if not source:
            return
        try:
            seen = looks.preview(source, session.user())
            _draw_columns(source, seen)
            if card is not None:
                _draw_labels(source, card.labels)
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")


def _draw_upload(run: Callable[[], None]) -> None:
    key = question.key("upload")

    def take() -> None:
        file = st.session_state[key]
        if file is None:
            return
        try:
            question.set("data", keep_upload(file.getvalue(), file.name, session.user()))
        except ExplainLabError as error:
            report(error)
            return
        run()

    most = settings().max_upload_mb
    st.file_uploader(
        "Upload a file",
        _FORMATS,
        key=key,
        on_change=take,
        max_upload_size=most,
        help=f"CSV, TSV, JSONL or Parquet, also gzipped, up to {most:,} MB. Only you can see it.",
    )


def _draw_columns(source: str, seen: Preview) -> None:
    """The first rows, and the role of each column."""
    st.markdown(f"**First rows of {plain(seen.name)}**")
    st.dataframe(pd.DataFrame(seen.records, columns=list(seen.columns)), hide_index=True)
    for place, (role, label) in zip(st.columns(len(_ROLES)), _ROLES.items(), strict=True):
        key = question.key(f"column_{role}_{digest(source)[:8]}")
        chosen = reading()["columns"].get(role, role)
        options = ["", *seen.columns]
        place.selectbox(
            f"{label} column",
            options,
            options.index(chosen) if chosen in options else 0,
            key=key,
            on_change=_pick,
            args=("columns", role, key),
            format_func=lambda name: name or "None",
        )


def _pick(part: str, name: str, key: str) -> None:
    read(part, name, st.session_state[key] if st.session_state[key] != name else "")


def _draw_labels(source: str, classes: Sequence[str]) -> None:
    """On request, all labels of the file; those that are no class of the model can be matched to one."""
    columns, named = reading()["columns"], reading()["classes"]
    inputs = (source, looks.source_digest(source, session.user()), tuple(classes), tuple(sorted(columns.items())))
    place = question.key("surveyed")
    if st.session_state.get(place) != inputs:
        st.button("Check the labels", icon=":material/fact_check:", on_click=question.set, args=("surveyed", inputs))
        return
    with st.spinner("Reading the labels"):
        survey = _survey(source, inputs, classes, columns)
    words = f"Rows that can be used as they are: {survey.rows:,}. Rows that cannot: {survey.bad:,}."
    (st.warning if survey.bad else st.success)(words, icon=":material/fact_check:")
    rows = [{"Label": label.label, "Rows": label.rows, "Class": label.names or ""} for label in survey.labels]
    st.dataframe(pd.DataFrame(rows), hide_index=True)
    for label in survey.mismatched[:_MOST_MATCHED]:
        key = question.key(f"class_{digest([source, label.label])[:8]}")
        options = ["", *classes]
        st.selectbox(
            f"{plain(label.label) or 'No label'}: {label.rows:,} row{'' if label.rows == 1 else 's'}",
            options,
            options.index(named.get(label.label, "")),
            key=key,
            on_change=_pick,
            args=("classes", label.label, key),
            format_func=lambda name: name or "Leave these rows out",
        )


@st.cache_data(max_entries=8, show_spinner=False)
def _survey(_source: str, inputs: tuple[Any, ...], _classes: Sequence[str], _columns: Mapping[str, str]) -> Survey:
    """The survey of the labels, cached by ``inputs``: all that it depends on, the file by its digest."""
    return looks.survey(_source, _classes, _columns, session.user())
