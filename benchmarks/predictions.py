"""Predictions of 10,000 texts, compared with bare passes of the same texts in batches sorted by length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from benchmarks.bare import bare_logits
from benchmarks.runner import Row, examples, fastest, model_name, peak_memory_mb, quickest, sentiment_classifiers
from explainlab.analyses.data_analysis import DataSubject
from explainlab.analyses.errors.analysis import Predictions
from explainlab.analyses.registry import complete
from explainlab.data import Row as DataRow
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import Request

TEXTS = 10_000
BATCHES = (32, 64, 128)
"""Sizes of a bare batch to try."""
TRIAL = 500
"""About as many texts are used to find the fastest size."""


def rows() -> Iterator[Row]:
    """Yield a row for the sentiment model on each device."""
    for classifier in sentiment_classifiers():
        yield _measured(classifier)


def _measured(classifier: Classifier) -> Row:
    data = varied(read_dataset(examples(classifier), classifier.labels).rows, TEXTS)
    request = complete(Request(question="predictions", model=classifier.id, data="varied"))
    study, parameters = Predictions(), Predictions.Parameters()
    texts = [row.text for row in data]
    tokens = classifier.tokenizer(texts, truncation=True, max_length=classifier.max_tokens)
    ids = sorted(tokens["input_ids"], key=len, reverse=True)
    size = quickest({size: bare_passes(classifier, ids[:: len(ids) // TRIAL], size) for size in BATCHES})
    seconds = fastest(
        {
            "ours": lambda: study.of_data(DataSubject(classifier, data, request, RunContext()), parameters),
            "floor": bare_passes(classifier, ids, size),
            "tokens": lambda: classifier.tokenizer(texts, verbose=False),
        },
        1,
    )
    return Row(
        name="predictions",
        work=f"{model_name(classifier)}, {len(data):,} texts",
        device=classifier.device.type,
        seconds=seconds["ours"],
        floor_seconds=seconds["floor"],
        ratio_to_floor=seconds["ours"] / seconds["floor"],
        peak_memory_mb=peak_memory_mb(classifier.device),
        facts={"share of the bare speed": seconds["floor"] / seconds["ours"], "tokenising alone, s": seconds["tokens"]},
    )


def varied(rows: Sequence[DataRow], count: int) -> list[DataRow]:
    """Return ``count`` different rows: texts of ``rows`` drawn at random, each followed by the beginning of another."""
    rng = np.random.default_rng(0)
    drawn = []
    for number in range(1, count + 1):
        row, other = (rows[i] for i in rng.integers(len(rows), size=2))
        words = other.text.split()
        more = " ".join(words[: rng.integers(len(words) + 1)])
        drawn.append(DataRow(number, f"{row.text} {more} {number}", None, row.label))
    return drawn


def _collated(classifier: Classifier, ids: Sequence[list[int]]) -> tuple[Tensor, Tensor | None]:
    """Return ids int64 [B, N], right-padded, and the attention mask (None without padding)."""
    sequences = [torch.tensor(text) for text in ids]
    padded = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=classifier.pad_id)
    lengths = torch.tensor([len(text) for text in ids])
    mask = (torch.arange(padded.shape[1]) < lengths[:, None]).long()
    return padded.to(classifier.device), None if mask.all() else mask.to(classifier.device)


def bare_passes(classifier: Classifier, ids: Sequence[list[int]], size: int) -> Callable[[], None]:
    """Return a run of bare passes over texts given by their ``ids``, in batches of ``size``."""
    batches = [_collated(classifier, ids[start : start + size]) for start in range(0, len(ids), size)]

    def run() -> None:
        for tokens, mask in batches:
            last = None if mask is None else (range(len(tokens)), (mask.sum(dim=1) - 1).tolist())
            bare_logits(classifier, {"input_ids": tokens, "attention_mask": mask}, last).cpu()

    return torch.no_grad()(run)
