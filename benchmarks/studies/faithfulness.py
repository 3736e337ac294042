"""Faithfulness: RPI by replay compared with whole passes, and metrics compared with bare passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import BertConfig, BertForSequenceClassification

from benchmarks.runner import Row, fastest, model_name, sentiment_classifiers, text_of, timed
from explainlab.attribution.diffusion import Candidate
from explainlab.attribution.random_maps import AttentionMaps, AttentionParameters
from explainlab.attribution.selection import at_random, case_of
from explainlab.attribution.subject import Subject
from explainlab.metrics.evaluate import evaluate
from explainlab.metrics.metric import FaithfulnessMetric
from explainlab.metrics.registry import metrics, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.inputs import Inputs
from explainlab.models.replay import Replay
from explainlab.models.transformer import TransformerModel
from explainlab.text.encoding import Encoding

TOKENS = 25


def rows() -> Iterator[Row]:
    """Yield rows on every device: replay on two models, and 24 attributions by all metrics."""
    for classifier in sentiment_classifiers():
        yield _replayed(classifier, model_name(classifier))
        yield _replayed(_of_base_shape(classifier), "BERT-base's shape, random weights")
        yield _evaluated(classifier)


def _of_base_shape(classifier: Classifier) -> Classifier:
    torch.manual_seed(0)
    config = BertConfig(id2label=dict(enumerate(classifier.labels)))
    network = BertForSequenceClassification(config).eval().requires_grad_(False)
    network.to(classifier.device)
    return replace(classifier, model=TransformerModel(network, classifier.architecture, classifier.device))


def _replayed(classifier: Classifier, name: str) -> Row:
    """Measure all attributions of RPI with its defaults, by replay and with whole passes."""
    encoding = classifier.encode(text_of(classifier, TOKENS))
    _maps(classifier, encoding)
    ours, seconds = timed(lambda: _maps(classifier, encoding))
    theirs, rival = timed(lambda: _maps(classifier, encoding, whole=True))
    replayed, exact = (np.stack([candidate.scores for candidate in maps]) for maps in (ours, theirs))
    return Row(
        name="rpi",
        work=f"{name}, {len(ours)} maps",
        device=classifier.device.type,
        seconds=seconds,
        rival="whole passes",
        rival_seconds=rival,
        ratio_to_rival=seconds / rival,
        difference=float(np.abs(replayed - exact).max() / np.abs(exact).max()),
        facts={"times faster": rival / seconds},
    )


def _maps(classifier: Classifier, encoding: Encoding, whole: bool = False) -> list[Candidate]:
    parameters = AttentionParameters()
    maps = AttentionMaps(Subject(classifier, encoding), parameters, product=True)
    if whole:
        maps.replay = _Whole(classifier, encoding)
    return at_random(maps, parameters.samples)


class _Whole(Replay):
    """A replay that runs the whole model instead of only the layers from the replaced attention on."""

    def logits(self, layer: int, probabilities: Tensor) -> Tensor:
        read = self.rows(layer)
        before, after = self.attention(layer)[:, : read.start], self.attention(layer)[:, read.stop :]
        size = len(probabilities)
        parts = (before.expand(size, -1, -1, -1), probabilities, after.expand(size, -1, -1, -1))
        replaced = torch.cat(parts, dim=2)

        def tap(call: int, _: nn.Module, own: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
            return (replaced if call == layer - 1 else own), values

        with self._classifier.model.tapped(tap):
            return self._classifier.logits(self._inputs.repeat(size))


@dataclass(frozen=True, eq=False)
class _Recording(Classifier):
    """A classifier that records the batches that it runs."""

    batches: list[Inputs] = field(default_factory=list)

    def logits(self, inputs: Inputs, *given: Any, **named: Any) -> Tensor:
        self.batches.append(inputs)
        return super().logits(inputs, *given, **named)


def _evaluated(classifier: Classifier) -> Row:
    """Measure 24 attributions by all metrics that perturb, beside bare passes of the texts, batched and one by one."""
    encoding = classifier.encode(text_of(classifier, TOKENS))
    subject = Subject(classifier, encoding)
    scores = np.stack([candidate.scores for candidate in _maps(classifier, encoding)])
    case = case_of(subject, scores)
    requests = [parse_metric(name) for name, metric in metrics().items() if isinstance(metric, FaithfulnessMetric)]
    recording = _Recording(**{each.name: getattr(classifier, each.name) for each in fields(Classifier)})
    evaluate([case], requests, Batcher(recording, RunContext()))
    alone = [_alone(batch, i) for batch in recording.batches for i in range(len(batch.ids))]
    seconds = fastest(
        {
            "ours": lambda: evaluate([case], requests, Batcher(classifier, RunContext())),
            "floor": lambda: _run(classifier, recording.batches),
            "alone": lambda: _run(classifier, alone),
        },
        5,
    )
    return Row(
        name="judge",
        work=f"{model_name(classifier)}, {len(scores)} maps, {len(requests)} metrics",
        device=classifier.device.type,
        seconds=seconds["ours"],
        floor_seconds=seconds["floor"],
        ratio_to_floor=seconds["ours"] / seconds["floor"],
        rival="one at a time",
        rival_seconds=seconds["alone"],
        ratio_to_rival=seconds["ours"] / seconds["alone"],
        facts={"distinct texts": len(alone), "times faster": seconds["alone"] / seconds["ours"]},
    )


def _alone(batch: Inputs, row: int) -> Inputs:
    real = slice(int(batch.attention[row].sum()))
    ids, types, attention = (t[row : row + 1, real] for t in (batch.ids, batch.types, batch.attention))
    return Inputs(ids, types, attention, padded=False)


def _run(classifier: Classifier, batches: list[Inputs]) -> None:
    with torch.no_grad():
        for batch in batches:
            classifier.logits(batch).cpu()
