"""The answer to a training: how well its models read, how they learned, and what they are made of."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.training.result import Made, MadeModel, TrainingData
from explainlab.analyses.training.verdict import overview, plain_words, points
from explainlab.analyses.wording import counted
from explainlab.app import links, session
from explainlab.app.chart import draw_chart
from explainlab.app.entries import analysis_pages
from explainlab.app.once import once
from explainlab.app.text import plain
from explainlab.app.view import CarriedText
from explainlab.figures.chart import Chart
from explainlab.service import file_tasks
from explainlab.service.service import Service
from explainlab.service.store.made import own_models, own_names, shown_model
from explainlab.training import ARCHITECTURES
from explainlab.training.settings import NEW_WEIGHTS


def draw_answer(service: Service, result: AnalysisResult[TrainingData]) -> None:
    """The answer in words, the curves, and the card of the model; of several models a row each."""
    models = result.body.models
    st.markdown(f"**{plain(overview(models))}**")
    own = [model.card for model in own_models(session.user().id)]
    told = [*points(models), *dict.fromkeys(filter(None, (plain_words(made.model, own) for made in models)))]
    if told:
        st.markdown("\n".join(f"* {plain(point)}" for point in told))
    draw_curves(list(once(result, figures_of, result).charts.values()), "models_answer")
    if len(models) > 1:
        _draw_seeds(models)
    else:
        draw_card(service, models[0].model, "models_answer")


def draw_curves(charts: Sequence[Chart], key: str) -> None:
    """The loss and the accuracy by epoch, side by side."""
    for column, chart in zip(st.columns(len(charts), gap="large"), charts, strict=True):
        with column:
            draw_chart(chart, f"{key}_{chart.name}")


def draw_card(service: Service, card: MadeModel, key: str) -> None:
    """What a model was made from and how, and buttons that open the pages of analyses with it and with its data."""
    st.markdown("\n".join(f"* {plain(line)}" for line in _card_lines(card)))
    carried: CarriedText = {
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
                links.open_page(service, entry.path, page.first().carrying(carried))


def _card_lines(card: MadeModel) -> list[str]:
    source = file_tasks.source_name(card.data, session.user())
    learned = f"{counted(card.rows, 'text')} of {source}"
    if card.validation_rows:
        held = file_tasks.source_name(card.validation_data, session.user()) if card.validation_data else "it"
        learned += f"; each epoch was measured on {counted(card.validation_rows, 'text')} of {held}"
    new = card.base in ARCHITECTURES
    begun = f"random weights, as {card.base}" if new else f"the weights of {base_name(card)}"
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


def base_name(card: MadeModel) -> str:
    """What the user calls what a model began as."""
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
