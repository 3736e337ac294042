"""The check of masked texts, compared with the bare passes of as many texts in batches sorted by length."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.predictions import BATCHES, TRIAL, bare_passes, varied
from benchmarks.runner import Row, examples, fastest, model_name, peak_memory_mb, quickest, sentiment_classifiers
from explainlab.analyses.data_analysis import DataSubject
from explainlab.analyses.masked_distribution.analysis import MaskedDistribution
from explainlab.analyses.registry import complete
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Request

TEXTS = 500
"""Texts that are checked, by as many others."""


def rows() -> Iterator[Row]:
    """Yield a row for the sentiment model on each device: ten ratios of the mask token, whole and shuffled texts."""
    for classifier in sentiment_classifiers():
        yield _measured(classifier)


def _measured(classifier: Classifier) -> Row:
    data = varied(read_dataset(examples(classifier), classifier.labels).rows, 2 * TEXTS)
    study = MaskedDistribution()
    parameters = study.Parameters(baselines=["mask"], rows=len(data))
    asked = Request(question=study.id, model=classifier.id, data="varied", parameters=parameters.model_dump())
    request, subjects = complete(asked), list[DataSubject]()

    def ours() -> None:
        subjects.append(DataSubject(classifier, data, request, RunContext()))
        study.of_data(subjects[-1], parameters)

    texts = [row.text for row in data]
    ids = sorted(classifier.tokenizer(texts, truncation=True, max_length=classifier.max_tokens)["input_ids"], key=len)
    conditions = 3 + len(parameters.ratios)
    every = sorted([*ids[::2], *conditions * ids[1::2]], key=len, reverse=True)
    size = quickest({size: bare_passes(classifier, every[:: len(every) // TRIAL], size) for size in BATCHES})
    seconds = fastest({"ours": ours, "floor": bare_passes(classifier, every, size)}, 1, warm_up=False)
    return Row(
        name="masked",
        work=f"{model_name(classifier)}, {TEXTS} texts at {len(parameters.ratios)} ratios",
        device=classifier.device.type,
        seconds=seconds["ours"],
        floor_seconds=seconds["floor"],
        ratio_to_floor=seconds["ours"] / seconds["floor"],
        peak_memory_mb=peak_memory_mb(classifier.device),
        facts={"passes": subjects[-1].forward, "bare passes": len(every)},
    )
