"""Models: make a classifier of labelled texts; those that the user has made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.training import figures
from explainlab.analyses.training.result import Made, MadeModel, TrainingData
from explainlab.analyses.training.verdict import masked_words, overview, plain_words, points, sentence, validated
from explainlab.analyses.wording import counted, whole_percent
from explainlab.app import links, session
from explainlab.app.cached import cached_for
from explainlab.app.chart import draw_chart
from explainlab.app.cost_estimates import draw_cost_estimate
from explainlab.app.data_set import draw_mapping
from explainlab.app.entries import analysis_pages
from explainlab.app.frame import draw_title
from explainlab.app.pages.models import ENTRY, form
from explainlab.app.pages.models.form import PAGE, TRAINING
from explainlab.app.session import timezone
from explainlab.app.text import plain
from explainlab.app.view import SharedInputs
from explainlab.errors import ExplainLabError, RequestError
from explainlab.figures.chart import Chart
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.service import service as get_service
from explainlab.service.store.made import (
    OwnModel,
    made_archive,
    name_made,
    own_models,
    own_names,
    require_training,
    shown_model,
)
from explainlab.settings import settings
from explainlab.training import ARCHITECTURES
from explainlab.training.settings import NEW_WEIGHTS


def draw() -> None:
    """Draw the page: the training, then the models."""
    service = get_service()
    PAGE.open_view(service)
    draw_title(ENTRY, service.notice)
    try:
        require_training()
    except RequestError as error:
        st.info(plain(str(error)), icon=":material/lock:")
        draw_models(service)
        return
    with PAGE.place_of_controls():
        form.draw_question(partial(TRAINING.press, service), PAGE.button)
    draw_mapping(form.question, None)
    link = _draw_training(service)
    st.divider()
    draw_models(service)
    links.draw(link)


def _draw_training(service: Service) -> str:
    """Draw the answer to the shown training, or its progress; return the link to it."""
    try:
        view = TRAINING.settle(service)
    except ExplainLabError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return ""
    draw_cost_estimate(service, lambda: PAGE.draft().requests())
    answer = form.answer(service, view)
    if answer is not None:
        st.divider()
        TRAINING.draw_state(service, [answer])
        if answer.result is not None:
            draw_answer(service, answer.result)
    return PAGE.link(service, view)


def draw_answer(service: Service, result: AnalysisResult[TrainingData]) -> None:
    """Draw the answer in words, the curves, and the card of the model; of several models a row each."""
    models = result.body.models
    st.markdown(f"**{plain(overview(models))}**")
    own = [model.card for model in own_models(session.user().id)]
    told = [*points(models), *dict.fromkeys(filter(None, (plain_words(made.model, own) for made in models)))]
    if told:
        st.markdown("\n".join(f"* {plain(point)}" for point in told))
    _draw_curves(list(cached_for(result, figures_of, result).charts.values()), "models_answer")
    if len(models) > 1:
        _draw_seeds(models)
    else:
        _draw_card(service, models[0].model, "models_answer")


def _draw_curves(charts: Sequence[Chart], key: str) -> None:
    """Draw the loss and the accuracy by epoch, side by side."""
    for column, chart in zip(st.columns(len(charts), gap="large"), charts, strict=True):
        with column:
            draw_chart(chart, f"{key}_{chart.name}")


def _draw_card(service: Service, card: MadeModel, key: str) -> None:
    """Draw the origin and recipe of a model, and buttons that open the pages of analyses with it and with its data."""
    st.markdown("\n".join(f"* {plain(line)}" for line in _card_lines(card)))
    inputs: SharedInputs = {
        "model": card.id,
        "source": card.validation_data or card.data,
        "columns": card.columns,
        "classes": card.classes,
    }
    pages = {entry: page for entry, page in analysis_pages().items() if "model" in page.record.model_fields}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Open in", width="content")
        for entry, page in pages.items():
            if st.button(entry.title, icon=entry.icon, key=f"{key}_open_{entry.title}"):
                links.open_page(service, entry.path, page.first().with_shared_inputs(inputs))


def _card_lines(card: MadeModel) -> list[str]:
    source = file_tasks.source_name(card.data, session.user())
    learned = f"{counted(card.rows, 'text')} of {source}"
    if card.validation_rows:
        held = file_tasks.source_name(card.validation_data, session.user()) if card.validation_data else "it"
        learned += f"; each epoch was measured on {counted(card.validation_rows, 'text')} of {held}"
    new = card.base in ARCHITECTURES
    begun = f"random weights, as {card.base}" if new else f"the weights of {_base_name(card)}"
    if card.merged_into:
        into = shown_model(card.merged_into, session.user().id)
        begun += f", an adapter, merged into the model that it changes ({into})"
    unused = {*_TOLD, *(() if new else NEW_WEIGHTS), *(() if card.settings.get("lora") else ("lora", "lora_rank"))}
    settings = (f"{name.replace('_', ' ')} {value}" for name, value in card.settings.items() if name not in unused)
    return [
        f"Its id everywhere: {card.id}.",
        f"Began with {begun}; it has {card.weights:,} weights.",
        f"Learned from {learned}.",
        f"Classes: {', '.join(card.labels)}.",
        f"Recipe {card.recipe}, seed {card.seed}; {counted(card.steps, 'step')} in "
        f"{counted(len(card.epochs), 'epoch')}, of which number {card.best_epoch} was kept.",
        f"Settings: {', '.join(settings)}.",
    ]


_TOLD = ("recipe", "seed", "seeds", "label_names", "validation", "evaluate", "teacher", "distillation", "temperature",
         "size")  # fmt: skip


def _base_name(card: MadeModel) -> str:
    """Return the user's name for the start of a model."""
    return card.base if card.base in ARCHITECTURES else shown_model(card.base, session.user().id)


def _draw_seeds(models: Sequence[Made]) -> None:
    names = own_names(session.user().id)
    rows = [
        {
            "Model": names.get(made.model.id, made.model.id),
            "Seed": made.model.seed,
            "Read right": made.accuracy and 100 * made.accuracy.mean,
            "From": made.accuracy and 100 * made.accuracy.low,
            "To": made.accuracy and 100 * made.accuracy.high,
            "Best epoch": made.model.best_epoch,
        }
        for made in models
    ]
    percent = st.column_config.NumberColumn(format="%.1f%%")
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        column_config=dict.fromkeys(("Read right", "From", "To"), percent),
        alt=f"{len(models)} models that differ in their seed: how much each reads right, with its interval.",
    )


_EMPTY = (
    "You have made no model yet. A model that is made here learns from labelled texts to tell their classes apart. It "
    "is known what it learned from and how well it reads, and every page then offers it. Choose a data set above and "
    "press **Make the model**; with the embedded examples that takes less than a minute."
)
_PROBLEM = "models.problem"
_NAME_HELP = "Letters, digits, points and hyphens. Pages then offer the model by this name."


def draw_models(service: Service) -> None:
    """Draw all models of the user, the newest first, and the room that they take."""
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
    """Return the facts of a model in a line, in Markdown."""
    accuracy = validated(model.card).accuracy
    read = f"{whole_percent(accuracy.mean)} read right" if accuracy else "not measured"
    data = file_tasks.source_name(model.card.data, session.user())
    made = f"{model.made.astimezone(timezone()):%d %B %Y, %H:%M}"
    facts = (read, f"{_base_name(model.card)} from {data}", f"{model.bytes / 2**20:,.1f} MB", made)
    return f"**{plain(model.name or model.id)}** · {' · '.join(map(plain, facts))}"


def _draw_model(service: Service, model: OwnModel) -> None:
    user, measured = session.user(), validated(model.card)
    others = [other.card for other in own_models(user.id)] if model.card.settings.get("masking") else []
    told = [sentence(measured, "The model"), masked_words(model.card), plain_words(model.card, others)]
    st.markdown(plain(" ".join(filter(None, told))))
    charts = [figures.loss([measured]), *([figures.validation([measured])] if measured.accuracy else [])]
    _draw_curves(charts, f"models_{model.id}")
    _draw_card(service, model.card, f"models_{model.id}")
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
            st.markdown("Delete this model permanently? Results computed with it stay.")
            remove = _reported(partial(form.delete, service, model.id))
            st.button("Yes, delete this model", key=f"models_delete_{model.id}", type="primary", on_click=remove)


def _reported(act: Callable[[], None]) -> Callable[[], None]:
    """Return ``act`` as a callback: its error is shown above the list when the page is next drawn."""

    def callback() -> None:
        try:
            act()
        except ExplainLabError as error:
            st.session_state[_PROBLEM] = str(error)

    return callback
