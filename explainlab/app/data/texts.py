"""The texts of a data set: open one in the section above, or list all in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pandas as pd
import streamlit as st

from explainlab.app.question import Question

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
    """Opens one of ``texts`` by its row's number."""
    by_row = {text.row: text for text in texts}

    def open_row(row: int) -> None:
        if row in by_row:
            open_text(by_row[row].text, by_row[row].text_pair)

    return open_row


def draw_opener(
    question: Question, texts: Sequence[RowText], open_row: OpenRow, placeholder: str = "Choose a row"
) -> None:
    """A box that opens a text, as a click on a chart's point does, for keyboard users."""
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
    """A folded table of ``rows``, made when unfolded, and of the ``skipped`` rows with the reason.

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
    """A table of the ``skipped`` rows with the reason."""
    st.dataframe(pd.DataFrame(skipped, columns=["Row", "Reason"]), hide_index=True)
