"""The models of the user: each with its card, to be renamed, used on other pages, taken away and deleted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from explainlab.analyses.training import figures
from explainlab.analyses.training.page import main as models_page
from explainlab.analyses.training.page.results import base_name, draw_card, draw_curves
from explainlab.analyses.training.verdict import masked_words, plain_words, sentence, validated
from explainlab.analyses.wording import whole_percent
from explainlab.app import session
from explainlab.app.runs.page import timezone
from explainlab.app.text import plain
from explainlab.errors import ExplainLabError
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.store.made import OwnModel, made_archive, name_made, own_models
from explainlab.settings import settings

_EMPTY = (
    "You have made no model yet. A model that is made here learns from labelled texts to tell their classes apart. It "
    "is known what it learned from and how well it reads, and every page then offers it. Choose a data set above and "
    "press **Make the model**; with the embedded examples that takes less than a minute."
)
_PROBLEM = "models.problem"
_NAME_HELP = "Letters, digits, points and hyphens. Pages then offer the model by this name."


def draw_models(service: Service) -> None:
    """All models of the user, the newest first, and how much room they take."""
    st.header("Your models", anchor=False)
    own = own_models(session.user().id)
    megabytes = sum(model.bytes for model in own) / 2**20
    st.caption(
        f"{len(own)} of {settings().max_made_models:,} models, {megabytes:,.0f} of {settings().max_made_mb:,} MB."
    )
    problem = st.session_state.pop(_PROBLEM, "")
    if problem:
        st.error(plain(problem), icon=":material/error:")
    if not own:
        st.info(_EMPTY, icon=":material/model_training:")
    for model in own:
        key = f"models_{model.id}"
        unfolded = st.session_state.setdefault(key, False)
        folded = st.expander(_label(model), unfolded, key=key, on_change="rerun")
        if folded.open:
            with folded:
                _draw_model(service, model)


def _label(model: OwnModel) -> str:
    """A model in a line, in Markdown."""
    accuracy = validated(model.card).accuracy
    read = f"{whole_percent(accuracy.mean)} read right" if accuracy else "not measured"
    data = file_tasks.source_name(model.card.data, session.user())
    made = f"{model.made.astimezone(timezone()):%d %B %Y, %H:%M}"
    facts = (read, f"{base_name(model.card)} from {data}", f"{model.bytes / 2**20:,.1f} MB", made)
    return f"**{plain(model.name or model.id)}** · {' · '.join(map(plain, facts))}"


def _draw_model(service: Service, model: OwnModel) -> None:
    user, measured = session.user(), validated(model.card)
    others = [other.card for other in own_models(user.id)] if model.card.settings.get("masking") else []
    told = [sentence(measured, "The model"), masked_words(model.card), plain_words(model.card, others)]
    st.markdown(plain(" ".join(filter(None, told))))
    charts = [figures.loss([measured]), *([figures.validation([measured])] if measured.accuracy else [])]
    draw_curves(charts, f"models_{model.id}")
    draw_card(service, model.card, f"models_{model.id}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = f"models_name_{model.id}"

        def rename() -> None:
            st.session_state[f"models_{model.id}"] = True  # under its new label it would be folded
            name_made(model.id, st.session_state[key], user)

        st.text_input("Name", model.name, key=key, on_change=_reported(rename), help=_NAME_HELP, width=220)
        st.download_button(
            "Download",
            partial(made_archive, model.id, user),
            f"{model.name or model.id.replace(':', '-')}.zip",
            "application/zip",
            key=f"models_zip_{model.id}",
            icon=":material/folder_zip:",
            on_click="ignore",
            help="A zip with a directory that transformers reads: weights (safetensors), configuration, tokenizer.",
        )
        with st.popover("Delete", icon=":material/delete:"):
            st.markdown("Delete this model for good? What was computed with it stays.")
            remove = _reported(partial(models_page.delete, service, model.id))
            st.button("Yes, delete this model", key=f"models_delete_{model.id}", type="primary", on_click=remove)


def _reported(act: Callable[[], None]) -> Callable[[], None]:
    """``act`` as a callback: its error is shown above the list when the page is next drawn."""

    def callback() -> None:
        try:
            act()
        except ExplainLabError as error:
            st.session_state[_PROBLEM] = str(error)

    return callback
