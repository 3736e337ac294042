"""A row's text edited in place: its prediction beside that of the original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.app.components import draw_text_area
from explainlab.app.heatmap import token_heatmap
from explainlab.app.pages.errors import controls
from explainlab.app.pages.errors import main as errors_page
from explainlab.app.pages.errors.view import ErrorsView
from explainlab.app.text import plain
from explainlab.attribution.records import Attribution
from explainlab.errors import ExplainLabError
from explainlab.figures.heatmap import heatmap
from explainlab.service.service import Service
from explainlab.service.store.remarks import Remark, Remarks

Row = dict[str, Any]


def draw_edit(service: Service, view: ErrorsView, row: Row, remarks: Remarks, left: Sequence[Remark]) -> None:
    """The text to edit, the edits that were kept, and the edited text compared with the original."""
    kept = [remark for remark in left if remark.edit and remark.row == row["row"]]
    _draw_boxes(view, row)
    if kept:
        _draw_kept(view, row, kept)
    edit = _edit_of(view, row)
    if edit is None:
        return
    try:
        target = row["predicted"]
        original = view.map_request(row["text"], row["text_pair"], target)
        edited = view.map_request(*edit, target)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    answers = errors_page.EDIT.answer_all(service, [original, edited])
    errors_page.EDIT.draw_state(service, answers)
    if all(answer.result is not None for answer in answers):
        _draw_compared(view, [answer.result for answer in answers])
        _draw_keep(view, row, kept, remarks)


def probability_rows(original: Attribution, edited: Attribution) -> pd.DataFrame:
    """One row a class: its probability for both texts and the difference, the largest change first."""
    before, after = original.prediction.probabilities, edited.prediction.probabilities
    frame = pd.DataFrame(
        {"Class": list(before), "Original": before.values(), "Edited": [after[name] for name in before]}
    )
    frame["Difference"] = frame["Edited"] - frame["Original"]
    return frame.sort_values("Difference", key=abs, ascending=False, kind="stable")


def _keys(view: ErrorsView, row: Row) -> tuple[str, str]:
    """The keys of the boxes of the text and of the second text."""
    first, second = (controls.of_row(name, view, row["row"]) for name in ("edit_text", "edit_pair"))
    return first, second


def _edit_of(view: ErrorsView, row: Row) -> tuple[str, str | None] | None:
    """The edited text and second text of ``row``; None if ``view`` edits another row, or none."""
    return (view.edit, view.edit_pair) if view.edit is not None and view.row == row["row"] else None


def _draw_boxes(view: ErrorsView, row: Row) -> None:
    text, pair = _keys(view, row)
    first, second = _edit_of(view, row) or (row["text"], row["text_pair"])

    def ask() -> None:
        edit_pair = st.session_state[pair] if row["text_pair"] is not None else None
        controls.question.seed({"row": row["row"], "edit": st.session_state[text], "edit_pair": edit_pair}, force=True)

    draw_text_area("Edited text", first, text, 100)
    if row["text_pair"] is not None:
        draw_text_area("Edited second text", second or "", pair, 70)
    st.button("Predict the edited text", icon=":material/edit:", on_click=ask, key="errors_edit_ask")


def _draw_kept(view: ErrorsView, row: Row, kept: Sequence[Remark]) -> None:
    key = controls.of_row("edit_kept", view, row["row"])

    def take() -> None:
        chosen = st.session_state[key]
        if chosen is not None:
            edit = {"edit": kept[chosen].text, "edit_pair": kept[chosen].text_pair}
            controls.question.seed({"row": row["row"], **edit}, force=True)
            st.session_state.update(zip(_keys(view, row), edit.values(), strict=True))
            st.session_state[key] = None

    st.selectbox(
        f"Kept edits of row {row['row']}",
        range(len(kept)),
        index=None,
        key=key,
        on_change=take,
        format_func=lambda i: f"{i + 1}: {kept[i].text}",
        placeholder=f"{len(kept)} kept edits of row {row['row']}",
    )


def _draw_compared(view: ErrorsView, results: Sequence[Attribution]) -> None:
    original, edited = results
    st.dataframe(
        probability_rows(original, edited),
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%+.4f" if name == "Difference" else "%.4f")
            for name in ("Original", "Edited", "Difference")
        },
    )
    if original.prediction.label != edited.prediction.label:
        words = f"The prediction changes from {original.prediction.label} to {edited.prediction.label}."
        st.info(plain(words), icon=":material/swap_horiz:")
    for column, title, result in zip(st.columns(2, gap="medium"), ("Original", "Edited"), results, strict=True):
        drawn = heatmap(result, view.palette)
        with column, st.container(border=True):
            st.markdown(f"**{title}**: why {plain(result.target.label)}")
            token_heatmap(drawn, key=f"errors_edit_map_{title.lower()}")


def _draw_keep(view: ErrorsView, row: Row, kept: Sequence[Remark], remarks: Remarks) -> None:
    """Keep the edited text, or forget it again."""
    edit = Remark.of_edit(row["row"], view.edit or "", view.edit_pair)
    there = any(remark.edit == edit.edit for remark in kept)

    def change() -> None:
        try:
            (remarks.forget if there else remarks.keep)(edit)
        except ExplainLabError as error:
            errors_page.report(error)

    label = "Forget this edit" if there else f"Keep as a new row, based on row {row['row']}"
    st.button(label, icon=":material/delete:" if there else ":material/save:", on_click=change, key="errors_edit_keep")
