"""Predictions over 10,000 texts, beside the bare passes of the same texts in batches sorted by length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from explainlab.analyses.base import DataSubject, StudyRequest
from explainlab.analyses.errors.analysis import Predictions
from explainlab.bench.runner import Row, classifiers, fastest, model_name, peak_memory_mb, quickest
from explainlab.data import Row as DataRow
from explainlab.data import examples_for, read_dataset
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext

TEXTS = 10_000
BATCHES = (32, 64, 128)
"""Texts in one bare batch; the fastest over so many of the texts is taken:"""
TRIAL = 500


def rows() -> Iterator[Row]:
    """One row for the model of sentiments; on every device."""
    for classifier in classifiers():
        if classifier.labels == ("negative", "positive"):
            yield _measured(classifier)


def _measured(classifier: Classifier) -> Row:
    data = varied(read_dataset(examples_for(classifier.labels).id, classifier.labels).rows, TEXTS)
    request = StudyRequest(study="predictions", model=classifier.id, data="varied")
    study, parameters = Predictions(), Predictions.Parameters()
    texts = [row.text for row in data]
    tokens = classifier.tokenizer(texts, truncation=True, max_length=classifier.max_tokens)
    ids = sorted(tokens["input_ids"], key=len, reverse=True)
    size = quickest({size: _bare(classifier, ids[:: len(ids) // TRIAL], size) for size in BATCHES})
    seconds = fastest(
        {
            "ours": lambda: study.of_data(DataSubject(classifier, data, request, RunContext()), parameters),
            "floor": _bare(classifier, ids, size),
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
    """``count`` rows, no two alike: texts of ``rows`` drawn at random, each followed by the beginning of another."""
    rng = np.random.default_rng(0)
    found = []
    for number in range(1, count + 1):
        row, other = (rows[i] for i in rng.integers(len(rows), size=2))
        words = other.text.split()
        more = " ".join(words[: rng.integers(len(words) + 1)])
        found.append(DataRow(number, f"{row.text} {more} {number}", None, row.label))
    return found


def _collated(classifier: Classifier, ids: Sequence[list[int]]) -> tuple[Tensor, Tensor | None]:
    """int64 [B, N], and the attention mask where there is padding."""
    sequences = [torch.tensor(one) for one in ids]
    padded = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=classifier.pad_id)
    lengths = torch.tensor([len(one) for one in ids])
    mask = (torch.arange(padded.shape[1]) < lengths[:, None]).long()
    return padded.to(classifier.device), None if mask.all() else mask.to(classifier.device)


def _bare(classifier: Classifier, ids: Sequence[list[int]], size: int) -> Callable[[], None]:
    """transformers' own passes; for a decoder its backbone, then its head at the last real position."""
    batches = [_collated(classifier, ids[start : start + size]) for start in range(0, len(ids), size)]

    def run() -> None:
        for tokens, mask in batches:
            if not classifier.architecture.causal:
                classifier.model.network(input_ids=tokens, attention_mask=mask).logits.cpu()
                continue
            read = {"input_ids": tokens, "attention_mask": mask}
            states = classifier.model.network.base_model(**read, use_cache=False).last_hidden_state
            last = states[:, -1] if mask is None else states[range(len(tokens)), (mask.sum(dim=1) - 1).tolist()]
            classifier.model.network.score(last).cpu()

    return torch.no_grad()(run)
