"""The answer of ROAR: in words, as curves, with its intervals, its texts, its models and its formulas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.roar.figures import STATUSES, all_models, costs, curves, faithfulness, sparsity
from explainlab.analyses.roar.masked_texts import masked_texts
from explainlab.analyses.roar.page.component import draw_masked_texts
from explainlab.analyses.roar.page.three import draw_three
from explainlab.analyses.roar.published.beside import beside_paper, setting
from explainlab.analyses.roar.result import NodeFacts, RoarData
from explainlab.analyses.roar.verdict import (
    METRICS,
    closing,
    estimate_words,
    judged,
    kind_name,
    labels_of,
    lines,
    measure_sentences,
    overview,
    ratio_words,
    series_name,
    weights_words,
)
from explainlab.analyses.wording import capital, counted, duration
from explainlab.app import session
from explainlab.app.chart import draw_chart, draw_files, files_of
from explainlab.app.once import once
from explainlab.app.page import draw_words
from explainlab.app.text import plain
from explainlab.app.words.terms import explained
from explainlab.service import file_tasks
from explainlab.service.service import Service

_HELP = {
    "curves": "Each point is the mean over seeds of a model that was trained anew on texts with so much masked. The "
    "further a line is below random words, the more of what the model needs the measure has found.",
    "faithfulness": "The area between a measure's curve and that of random words, as a share of the area between that "
    "of random words and the performance with all masked: 0 is no better than random words.",
    "sparsity": "How much of the sum of |scores| the highest ones hold, the mean over test texts and seeds.",
    "published": "A data set is known by its name, and means with 95% intervals over seeds are what is compared: the "
    "rows may differ.",
    "costs": "Training with validation and test, and the importance that each measure gave to all texts.",
    "texts": "Each measure masks a text by the models of the first seed. Moving the slider asks nobody.",
    "models": "A row a seed, a column a share masked. Those with nothing masked, and with all, belong to random words.",
}
_SPLITS = {"train": "Training", "validation": "Validation", "test": "Test"}
_MOST_REASONS = 5


def draw_result(result: AnalysisResult[RoarData], service: Service | None = None) -> None:
    """All of the answer, the words first; of a ``service`` it can be asked how other answers order the measures."""
    body = result.body
    points = [*measure_sentences(body), *closing(body)]
    draw_words(overview(body), result, partial(lines, body), points)
    draw_failures(body)
    for place, kind in zip(st.columns(len(body.recursive), gap="large"), body.recursive, strict=True):
        with place:
            chart = once(result, curves, body, kind)
            draw_chart(chart, f"roar_{chart.name}", help=explained(_HELP["curves"], "seed", "interval", "leakage"))
    _draw_ends(body)
    st.divider()
    _draw_faithfulness(result)
    if service is not None:
        draw_three(service, result)
    _draw_published(result)
    _draw_texts(result)
    st.divider()
    _draw_behind(result)


def draw_failures(body: RoarData) -> None:
    """Why models failed, and how many need one that failed; nothing where none has."""
    failed = [node for node in body.nodes if node.status == "failed"]
    if not failed:
        return
    told = [f"* {plain(_where(body, node))}: {plain(node.reason)}" for node in failed[:_MOST_REASONS]]
    if len(failed) > _MOST_REASONS:
        told.append(f"* and {len(failed) - _MOST_REASONS:,} more")
    lost = sum(node.status == "not run" for node in body.nodes)
    after = f"; {counted(lost, 'model')} after that could not be trained" if lost else ""
    st.warning("\n".join([f"{counted(len(failed), 'model')} failed{after}.", "", *told]), icon=":material/error:")


def draw_models(body: RoarData, key: str, exports: bool = True) -> None:
    """A small matrix for each measure, two beside each other, with what the signs mean."""
    st.caption(", ".join(f"{sign} {name}" for sign, name in STATUSES.values()))
    charts = once(body, all_models, body)
    for pair in zip(charts[::2], [*charts[1::2], None], strict=False):
        for place, chart in zip(st.columns(2, gap="large"), pair, strict=True):
            if chart is None:
                continue
            with place:
                if exports:
                    draw_chart(chart, f"{key}_{chart.name}")
                else:
                    st.markdown(f"**{plain(chart.title)}**")
                    st.plotly_chart(chart.figure, key=f"{key}_{chart.name}", config=chart.config, alt=chart.alt)


def _where(body: RoarData, node: NodeFacts) -> str:
    series = series_name(body, node.measure, node.recursive)
    return f"{series}, {ratio_words(body, node.ratio)} masked, seed {node.seed}"


def _draw_ends(body: RoarData) -> None:
    """The performance between which all curves lie."""
    metric = METRICS[body.metric]
    st.markdown(
        f"{capital(metric)} of whole texts **{plain(estimate_words(body.performance))}**, with all masked "
        f"**{plain(estimate_words(body.lower_bound))}**."
    )


def _draw_faithfulness(result: AnalysisResult[RoarData]) -> None:
    """The faithfulness over the whole area, and of the first ratios as a table."""
    body = result.body
    st.header("Faithfulness", anchor=False, help=explained(_HELP["faithfulness"], "faithful", "interval"))
    draw_chart(once(result, faithfulness, body), "roar_faithfulness")
    labels = labels_of(body)
    rows = [
        {
            "Measure": labels[row.measure],
            **({"By": kind_name(row.recursive)} if len(body.recursive) > 1 else {}),
            "Masked up to": ratio_words(body, row.upto),
            "Faithfulness": row.mean,
            "From": row.low,
            "To": row.high,
            "Verdict": judged(row),
        }
        for row in body.faithfulness
    ]
    _draw_table(rows, ("Faithfulness", "From", "To"), "%.3f", "Faithfulness of each measure, with its interval.")
    _draw_formulas(body)


def _draw_published(result: AnalysisResult[RoarData]) -> None:
    """The paper's numbers beside these, where data set and model are the paper's."""
    name = file_tasks.source_name(result.request.data or "", session.user())
    rows = beside_paper(result, name)
    if rows:
        st.header("Beside the paper", anchor=False, help=_HELP["published"])
        titles = {"number": "Number", "here": "Here", "paper": "Paper", "source": "Where"}
        listed = [{titles[field]: value for field, value in row._asdict().items()} for row in rows]
        st.dataframe(pd.DataFrame(listed), hide_index=True, height="content", alt="Numbers of the paper beside these.")
        st.caption(plain(setting(result, name)))


def _draw_formulas(body: RoarData) -> None:
    behind = st.expander("Formulas", icon=":material/functions:", key="roar_formulas", on_change="rerun")
    if not behind.open:
        return
    with behind:
        st.latex(r"\sum_i \tfrac12\,\Delta r_i\,(D_i + D_{i+1}) \;\Big/\; \sum_i \tfrac12\,\Delta r_i\,(L_i + L_{i+1})")
        st.markdown(
            f"rᵢ is the share masked, pᵢ the {METRICS[body.metric]} of the measure there, bᵢ that of random words with "
            "the same seed, and b₁₀₀ that with all masked; Dᵢ = bᵢ − pᵢ, Lᵢ = bᵢ − b₁₀₀ (Eq. 3 of Madsen et al. 2022). "
            "It is computed for each seed. The mean has a BCa 95% interval over seeds (9,999 resamples) from three on."
        )
        st.markdown(
            "**Verdict**: whether the interval of the area Σ ½ Δrᵢ (Dᵢ + Dᵢ₊₁) over seeds lies above 0 (faithful to a "
            "degree), below 0 (worse than random words), or holds 0. Then Recursive ROAR does not show that the "
            "measure is faithful; ROAR (Hooker et al. 2019) is inconclusive, as words that say the same may be left."
        )
        st.markdown(
            "**Leakage**: the performance rises from one share to the next by more than twice its standard error over "
            "seeds. More masked cannot help a model, unless which words are masked tells the class."
        )


def _draw_texts(result: AnalysisResult[RoarData]) -> None:
    """The texts behind a slider."""
    if not result.body.texts:
        return
    st.divider()
    st.header("The texts", anchor=False, help=_HELP["texts"])
    texts = once(result, masked_texts, result.body)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        first = f"The first {counted(len(texts.texts), 'test text')}, masked by the models of the first seed."
        st.markdown(first, width="stretch")
        with st.popover("Export", icon=":material/download:", key="roar_texts_export"):
            draw_files(files_of(texts), "roar_texts")
    with st.container(border=True):
        draw_masked_texts(texts, "roar_texts")


def _draw_behind(result: AnalysisResult[RoarData]) -> None:
    """How sparse measures are, what the models took, how long texts are, and every model."""
    body = result.body
    st.header("What is behind it", anchor=False)
    if body.sparsity:
        for place, of in zip(st.columns(2, gap="large"), ("tokens", "percents"), strict=True):
            with place:
                draw_chart(once(result, sparsity, body, of), f"roar_sparsity_{of}", help=_HELP["sparsity"])
    took, long = st.columns(2, gap="large")
    with took:
        if body.costs:
            draw_chart(once(result, costs, body), "roar_costs", help=_HELP["costs"])
        if body.expected:
            before = duration(body.expected.training), duration(body.expected.importance)
            st.caption("Expected before: about {} of training, {} of importance.".format(*before))
    with long:
        st.markdown("**Texts and their content tokens**")
        rows = [
            {
                "Part": _SPLITS[own.split],
                "Texts": own.texts,
                "Tokens, mean": own.mean,
                "Standard deviation": own.deviation,
            }
            for own in body.lengths
        ]
        _draw_table(rows, ("Tokens, mean", "Standard deviation"), "%.1f", "How many texts and tokens each part has.")
    behind = st.expander("All models", icon=":material/grid_on:", key="roar_all_models", on_change="rerun")
    if behind.open:
        with behind:
            st.caption(plain(" ".join(filter(None, (_HELP["models"], weights_words(body))))))
            draw_models(body, "roar")


def _draw_table(rows: Sequence[dict[str, Any]], numbers: Sequence[str], written: str, alt: str) -> None:
    columns = dict.fromkeys(numbers, st.column_config.NumberColumn(format=written))
    st.dataframe(pd.DataFrame(rows), hide_index=True, column_config=columns, alt=alt)
