"""The controls of the section on ground truth: which words are put where, and which models learn them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from explainlab.analyses.parameters import metric_requests
from explainlab.app.pages.benchmark.chain import Chain
from explainlab.app.pages.benchmark.controls import question
from explainlab.app.pages.benchmark.view import BenchmarkView
from explainlab.errors import RequestError
from explainlab.metrics.metric import Comparing
from explainlab.metrics.registry import get_metric
from explainlab.request import checked

_POSITIONS = {"end": "End", "start": "Start", "random": "Anywhere"}
_ARCHITECTURES = {
    "bert": "BERT",
    "gpt2": "GPT-2",
    "t5_encoder": "T5 encoder",
    "bilstm_attention": "BiLSTM with attention",
}
_WORDS_HELP = "One for each class, which it names; with commas between. Rare words mislead least."
_SHARE_HELP = (
    "The share of the texts that get a word. Several, with commas, make a model each, and a chart of how well the maps "
    "find a feature that is weaker: 1, 0.75, 0.5."
)
_SETTINGS_HELP = "What is not said here is as for the embedded models; the epochs are enough to learn a word."


def draw_controls() -> None:
    """Words, where they are put, in how many texts, and the model."""
    words, position, share = st.columns([3, 2, 2], vertical_alignment="bottom")
    architecture, training = st.columns([2, 5], vertical_alignment="bottom")
    with words:
        _draw_text("Words", "truth_words", _WORDS_HELP)
    with position:
        question.select("Position", "truth_position", _POSITIONS, "Where in the text the word is put.")
    with share:
        _draw_text("Share", "truth_shares", _SHARE_HELP)
    with architecture:
        question.select("Architecture", "truth_architecture", _ARCHITECTURES, "Of the model that learns the words.")
    with training:
        _draw_text("Settings of training", "truth_settings", _SETTINGS_HELP, "epochs=3, layers=2, width=128")


def draft(view: BenchmarkView) -> Chain:
    """The chain that the controls describe; raises :class:`RequestError` for what cannot be.

    It begins with the data set of ``view``; or with that of the chain before, where ``view`` shows what this planted.
    """
    source, columns = view.source, view.columns
    before: Chain | None = question.now("truth")
    if before is not None and any(source in files for files in before.files):
        source, columns = before.source, before.columns
    if not source:
        raise RequestError("No data set is chosen.", "Choose the texts that get the words above.")
    chain = checked(
        Chain,
        source=source,
        columns=columns,
        words=_listed("truth_words"),
        position=question.now("truth_position"),
        shares=tuple(filter(None, _listed("truth_shares"))),
        architecture=question.now("truth_architecture"),
        settings=question.now("truth_settings"),
        seed=view.seed,
        methods=view.methods,
        metrics=_perturbing(view.metrics),
        rows=view.rows,
        sample=view.sample,
    )
    chain.plantings()
    chain.training_settings()
    return chain


def _listed(name: str) -> tuple[str, ...]:
    """What a control says, between its commas."""
    return tuple(dict.fromkeys(part.strip() for part in question.now(name).split(",")))


def _draw_text(label: str, name: str, help_text: str, placeholder: str = "") -> None:
    st.text_input(label, question.now(name), key=question.key(name), help=help_text, placeholder=placeholder)


def _perturbing(names: Sequence[str]) -> tuple[str, ...]:
    """The metrics among ``names`` that need no rationale."""
    asked = metric_requests(names)
    return tuple(metric.name for metric in asked if not isinstance(get_metric(metric.metric), Comparing))
