"""A data set on a page: its file with columns and labels, how it is read, which are chosen, and its texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from explainlab.analyses.wording import counted
from explainlab.app import links, session
from explainlab.app.place import Answer
from explainlab.app.question import Question
from explainlab.app.text import plain
from explainlab.data import LEFT_OUT, NO_CLASS, Misfit, Preview, Survey, proposed
from explainlab.data.hub import PREFIX as HUB
from explainlab.errors import Cancelled, ExplainLabError
from explainlab.request import digest
from explainlab.service import file_tasks
from explainlab.service.file_tasks import FileTask
from explainlab.service.uploads import keep_upload
from explainlab.settings import settings

ROLES = {"text": "Text", "label": "Label", "text_b": "Second text"}
WITH_MARKS = {**ROLES, "rationale": "Rationale", "rationale_b": "Second rationale", "paraphrase": "Paraphrase"}
"""Also the columns of a file that only some metrics read."""
_FORMATS = ["csv", "tsv", "json", "jsonl", "ndjson", "parquet", "gz"]
_MOST_MATCHED = 30  # labels without a class that get a box each

Classes = Sequence[str] | None
"""Names that the labels of a file must have; None for any names."""


class _Filled(NamedTuple):
    """The reading of a file ``before`` the nearest names were filled in for a model's classes, and the one since."""

    source: str
    classes: Classes
    problem: str
    before: dict[str, Any]
    reading: dict[str, Any]

    @property
    def words(self) -> str:
        """The problem, and what was done about it."""
        cured = self.reading != self.before
        cure = "The nearest names are filled in below; check them." if cured else "Choose below what is meant."
        return f"{self.problem} {cure}"


def draw_mapping(
    question: Question,
    classes: Classes,
    roles: Mapping[str, str] = ROLES,
    name: str = "",
    needs_label: bool = True,
) -> None:
    """Upload a file, pick its columns and match its labels with ``classes``; folded, unless a name does not fit.

    Without ``classes`` labels are only left out. Unless the page ``needs_label``, it asks for labels only where a
    class is likely for all of them. ``roles`` are the columns that can be picked, with what readers call them. A
    further file has a ``name``, and is there already.
    """
    words = _checked(question, classes, needs_label)
    label = f"{plain(name)}: columns and labels" if name else "File, columns and labels"
    folded = st.expander(label, icon=":material/dataset:", key=_key(question), on_change="rerun")
    if not folded.open:
        return
    with folded:
        if words:
            st.warning(plain(words), icon=":material/rule:")
        if not name:
            draw_upload(question, partial(question.set, "data"))
        if not question.now("data"):
            return
        try:
            _draw_columns(question, roles)
            _draw_labels(question, classes)
        except ExplainLabError as error:
            st.error(plain(str(error)), icon=":material/error:")


def draw_cure(question: Question, classes: Classes, answer: Answer) -> None:
    """Draw a button that opens the labels, if the ``answer`` lacks rows, or is missing, for a label without a class."""
    failed = answer.job.progress.error if answer.job else ""
    result = answer.result
    told = [answer.problem, failed] if result is None else [*result.warnings, *(reason for _, reason in result.skipped)]
    if classes is not None and any(NO_CLASS in reason for reason in told):
        st.button("Match the labels", icon=":material/rule:", on_click=_match, args=(question, classes))


# ---- names that do not fit


def _checked(question: Question, classes: Classes, needs_label: bool) -> str:
    """Return the misfit in words; once for a file and a model, fill in the nearest names."""
    source = question.now("data")
    if not source or source.startswith(HUB):  # a preview would fetch it
        return ""
    _forget_other_classes(question, classes)
    try:
        file_tasks.preview(source, session.user())  # before its labels, which take longer
        _match_surveyed(question, classes)
        reading = question.reading()
        task = file_tasks.misfit(source, classes, reading["columns"], reading["classes"], session.user(), needs_label)
        misfit = next(iter(draw_answer(task)), None)
        filled = _filled(question)
        if misfit and (filled is None or (filled.source, filled.classes) != (source, classes)):
            _fill_in(question, classes, misfit)
    except ExplainLabError:  # shown where the page asks about the data set
        return ""
    filled = _filled(question)
    if filled and (filled.classes, filled.reading) == (classes, question.reading()):
        return filled.words
    return misfit.problem if misfit else ""


def _filled(question: Question) -> _Filled | None:
    filled: _Filled | None = st.session_state.get(question.key("filled"))
    return filled


def _fill_in(question: Question, classes: Classes, misfit: Misfit) -> None:
    """Open the columns and labels, with the nearest names filled in: those of labels when they have been read."""
    before = question.reading()
    st.session_state[_key(question)] = True
    _read(question, "columns", misfit.columns)
    question.set("filled", _Filled(before["source"], classes, misfit.problem, before, question.reading()))
    if misfit.of_labels and classes is not None:
        _match(question, classes)
        _match_surveyed(question, classes)


def _match(question: Question, classes: Classes) -> None:
    """Open the labels of the whole file; those without a class are matched with a likely one (also a callback)."""
    st.session_state[_key(question)] = True
    for name in ("surveyed", "matching"):
        question.set(name, _survey_inputs(question, classes))


def _match_surveyed(question: Question, classes: Classes) -> None:
    """Match labels without a class with a likely one, if that waited for the file's labels, and they are there."""
    if classes is None or st.session_state.get(question.key("matching")) != _survey_inputs(question, classes):
        return
    task = _survey(question, classes)
    if not is_there(task):
        return
    question.set("matching", None)
    known = question.reading()["classes"]
    labels = [written.label for written in task.answer().mismatched if known.get(written.label) != LEFT_OUT]
    likely = proposed(labels, classes)
    before, filled = question.reading(), _filled(question)
    _read(question, "classes", {**likely, **known})
    if filled and filled.reading == before:
        question.set("filled", filled._replace(reading=question.reading()))


def _forget_other_classes(question: Question, classes: Classes) -> None:
    """Forget labels matched with classes that this model does not have."""
    meant = question.reading()["classes"]
    known = {*(classes or meant.values()), LEFT_OUT}
    _read(question, "classes", {label: None for label, name in meant.items() if name not in known})


def _read(question: Question, part: str, names: Mapping[str, str | None]) -> None:
    """Read roles or labels of ``part`` (columns, classes) as ``names`` say; None: as they are."""
    reading = question.reading()
    merged = {name: to for name, to in {**reading[part], **names}.items() if to is not None}
    question.set("reading", {**reading, part: merged})


# ---- where it is set


def _key(question: Question) -> str:
    return question.key("data_options")


def draw_upload(question: Question, put: Callable[[str], None], label: str = "Upload a file") -> None:
    """Draw an uploader; ``put`` is called with the name of the uploaded file."""
    key = question.key("upload")
    problem = question.key("upload_problem")

    def take() -> None:
        file = st.session_state[key]
        if not isinstance(file, UploadedFile):  # none, or one that was let go
            return
        try:
            put(keep_upload(file.getvalue(), file.name, session.user()))
        except ExplainLabError as error:
            st.session_state[problem] = str(error)
        finally:
            session.delete_upload(file)

    most = settings().max_upload_mb
    st.file_uploader(
        label,
        _FORMATS,
        key=key,
        on_change=take,
        max_upload_size=most,
        help=f"CSV, TSV, JSON, JSONL or Parquet, also gzipped, up to {most:,} MB. Only you can see it.",
    )
    words = st.session_state.pop(problem, "")
    if words:
        st.error(plain(words), icon=":material/error:")


def _draw_columns(question: Question, roles: Mapping[str, str]) -> None:
    """Draw the first rows, and the role of each column."""
    reading = question.reading()
    for seen in draw_answer(file_tasks.preview(reading["source"], session.user(), reading["columns"])):
        _draw_roles(question, reading, seen, roles)


def _draw_roles(question: Question, reading: dict[str, Any], seen: Preview, roles: Mapping[str, str]) -> None:
    st.markdown(f"**First rows of {plain(seen.name)}**")
    st.dataframe(pd.DataFrame(seen.records, columns=list(seen.columns)), hide_index=True)
    for note in seen.notes:
        st.warning(plain(note), icon=":material/translate:")
    unnamed = [number for number in seen.numbers if number not in seen.columns or seen.columns == seen.numbers]
    numbers = {number: f"Column {number} of a file without names" for number in unnamed}
    for place, (role, label) in zip(st.columns(len(roles)), roles.items(), strict=True):
        chosen = reading["columns"].get(role, role)
        with place:
            _draw_choice(question, f"{label} column", "columns", role, seen.columns, chosen, "None", numbers)


def _draw_choice(
    question: Question,
    label: str,
    part: str,
    name: str,
    options: Sequence[str],
    chosen: str,
    nothing: str,
    more: Mapping[str, str] = {},
) -> None:
    """Choose the column of a role, or the class of a label, of ``part``; ``nothing`` names the choice of none.

    ``more`` are further options, with their words.
    """
    key = question.key(f"{part}_{digest([question.now('data'), name])[:8]}")
    listed = ["", *options, *(option for option in more if option not in options)]
    words = {"": nothing, **more}
    st.session_state[key] = chosen if chosen in listed else ""

    def pick() -> None:
        picked = st.session_state[key]
        _read(question, part, {name: picked if picked not in ("", name) else None})

    st.selectbox(label, listed, key=key, on_change=pick, format_func=lambda option: words.get(option, option))


def _draw_labels(question: Question, classes: Classes) -> None:
    """Draw, on request, all labels of the file.

    Any of them can be left out; one that is no class can be matched to one.
    """
    inputs = _survey_inputs(question, classes)
    if st.session_state.get(question.key("surveyed")) != inputs:
        st.button("Check the labels", icon=":material/fact_check:", on_click=_match, args=(question, classes))
        return
    for survey in draw_answer(_survey(question, classes)):
        _draw_matching(question, classes, survey)


def _draw_matching(question: Question, classes: Classes, survey: Survey) -> None:
    """Draw the number of usable rows, all labels, those left out, and a class for each that names none."""
    words = f"Rows that can be used as they are: {survey.rows:,}. Rows that cannot: {survey.bad:,}."
    (st.warning if survey.bad else st.success)(words, icon=":material/fact_check:")
    rows = [{"Label": label.label, "Rows": label.rows, "Class": label.names or ""} for label in survey.labels]
    st.dataframe(pd.DataFrame(rows), hide_index=True)
    _draw_left_out(question, [label.label for label in survey.labels])
    meant = question.reading()["classes"]
    kept = [label for label in survey.mismatched if meant.get(label.label) != LEFT_OUT]
    for label in kept[:_MOST_MATCHED]:
        title = f"{plain(label.label) or 'No label'} ({counted(label.rows, 'row')})"
        chosen = meant.get(label.label, "")
        _draw_choice(question, title, "classes", label.label, classes or (), chosen, "No class: they cannot be used")


def _draw_left_out(question: Question, labels: Sequence[str]) -> None:
    """Draw the labels whose rows are no part of the data set."""
    key = question.key(f"left_out_{digest([question.now('data')])[:8]}")
    meant = question.reading()["classes"]
    before = [label for label in labels if meant.get(label) == LEFT_OUT]
    st.session_state[key] = before

    def leave_out() -> None:
        _read(question, "classes", dict.fromkeys(before) | dict.fromkeys(st.session_state[key], LEFT_OUT))

    st.multiselect(
        "Leave out the rows with these labels",
        labels,
        key=key,
        on_change=leave_out,
        format_func=lambda label: label or "No label",
        placeholder="None is left out",
    )


def _survey_inputs(question: Question, classes: Classes) -> tuple[Any, ...]:
    """Return the key of a look at the labels: the file, the classes, and the reading."""
    reading = question.reading()
    return reading["source"], classes and tuple(classes), tuple(sorted(reading["columns"].items()))


def _survey(question: Question, classes: Classes) -> FileTask[Survey]:
    reading = question.reading()
    return file_tasks.survey(reading["source"], classes, reading["columns"], session.user())


T = TypeVar("T")
_SOON, _POLL_SECONDS = 0.2, 0.4


def is_there(task: FileTask[Any]) -> bool:
    """Return True if ``task`` has ended, after a moment in which short files are read."""
    return task.wait(_SOON)


def draw_reading(task: FileTask[Any]) -> None:
    """Draw the progress of ``task`` with a button that cancels it; the page runs again when it ends."""
    st.fragment(_draw_share, run_every=None if task.ended else _POLL_SECONDS)(task)


def draw_answer(task: FileTask[T]) -> list[T]:
    """Return the answer of ``task``; before its end none, with its progress drawn, and none after a cancellation.

    Raises the :class:`explainlab.errors.ExplainLabError` that ended it.
    """
    if is_there(task):
        try:
            return [task.answer()]
        except Cancelled:
            _draw_cancelled(task)
    else:
        draw_reading(task)
    return []


def _draw_share(task: FileTask[Any]) -> None:
    if task.ended:
        links.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        name = plain(file_tasks.source_name(task.source, task.user))
        st.progress(task.share, text=f"**{name}**: {task.share:.0%} of the file read")
        key = f"cancel_task_{id(task)}"
        st.button("Cancel", key=key, icon=":material/stop:", on_click=task.cancel, disabled=task.stopped)


def _draw_cancelled(task: FileTask[Any]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.info("The file was not read: it was cancelled.", icon=":material/cancel:")
        st.button("Read again", key=f"again_task_{id(task)}", on_click=file_tasks.file_reader.forget, args=(task,))


OpenText = Callable[[str, str | None], None]
"""Called with a text to show above, and its second text (None without a pair)."""

OpenRow = Callable[[int], None]
"""Called with a row's number."""


class RowText(Protocol):
    """A text of a data set by its row's number, as results list it."""

    @property
    def row(self) -> int:
        """The row's number."""

    @property
    def text(self) -> str:
        """The text, the first one of a pair."""

    @property
    def text_pair(self) -> str | None:
        """The second text of a pair; None where there is none."""


def row_opener(texts: Sequence[RowText], open_text: OpenText) -> OpenRow:
    """Return a function that opens one of ``texts`` by its row's number."""
    by_row = {text.row: text for text in texts}

    def open_row(row: int) -> None:
        if row in by_row:
            open_text(by_row[row].text, by_row[row].text_pair)

    return open_row


def draw_opener(
    question: Question, texts: Sequence[RowText], open_row: OpenRow, placeholder: str = "Choose a row"
) -> None:
    """Draw a box that opens a text, as a click on a chart's point does, for keyboard users."""
    by_row, key = {text.row: text.text for text in texts}, question.key("opened_row")

    def take() -> None:
        open_row(st.session_state[key])
        st.session_state[key] = None

    st.selectbox(
        "Open a text in the section above",
        list(by_row),
        index=None,
        key=key,
        on_change=take,
        format_func=lambda row: f"Row {row}: {by_row[row]}",
        placeholder=placeholder,
    )


def draw_texts(
    key: str, rows: Callable[[], Sequence[dict[str, Any]]], skipped: Sequence[Sequence[Any]], n: int = 0
) -> None:
    """Draw a folded table of ``rows``, made when unfolded, and of the ``skipped`` rows with the reason.

    ``n``: how many texts there are, where the rows may be but the first of them.
    """
    table = st.expander("All texts", icon=":material/table_rows:", key=key, on_change="rerun")
    if not table.open:
        return
    listed = rows()
    if len(listed) < n:
        table.caption(f"The first {len(listed):,} of {n:,} texts; the files of the run, on Runs, have all.")
    table.dataframe(pd.DataFrame(listed), hide_index=True)
    if skipped:
        with table:
            st.markdown("**Rows left out**")
            draw_skipped(skipped)


def draw_skipped(skipped: Sequence[Sequence[Any]]) -> None:
    """Draw a table of the ``skipped`` rows with the reason."""
    st.dataframe(pd.DataFrame(skipped, columns=["Row", "Reason"]), hide_index=True)
