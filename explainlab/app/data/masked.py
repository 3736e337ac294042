"""The line under tables of metrics that mask: whether masked texts look like training texts to the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.masked_distribution.analysis import check_of
from explainlab.analyses.masked_distribution.verdict import line
from explainlab.app import links, session
from explainlab.app.entries import page_of
from explainlab.app.glossary import explained
from explainlab.app.text import plain
from explainlab.data import examples_for
from explainlab.errors import ExplainLabError
from explainlab.request import Request
from explainlab.result import Result
from explainlab.service.service import Service

_HELP = (
    "Metrics that mask words ask the model about masked texts. Where these look like nothing that it was trained on, "
    "what it says of them may be chance."
)


def draw_masked_line(service: Service, request: Request, labels: Sequence[str], key: str) -> None:
    """The line below the numbers that answer ``request``, of a model with these ``labels``; nothing is computed.

    The check is that of the request's data set, or for a text of the examples with the model's labels.
    """
    examples = examples_for(labels)
    data = request.data or (examples.id if examples else None)
    asked = None if data is None else check_of(request, data)
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_masked"):
        known = None if asked is None else _known(service, asked)
        st.caption(plain(line(known.body if known else None)), help=explained(_HELP, "masked-text"), width="content")
        if asked is not None and st.button(
            "See the check" if known else "Check it", type="tertiary", key=f"{key}_check"
        ):
            shown = page_of(asked)
            if shown is not None:
                links.open_page(service, shown.entry.path, shown.view)


def _known(service: Service, asked: Request) -> AnalysisResult[Any] | None:
    """The stored check; None where there is none, or it is refused."""
    try:
        result: Result | None = service.find(asked, session.user())
    except ExplainLabError:
        return None
    return result if isinstance(result, AnalysisResult) else None
