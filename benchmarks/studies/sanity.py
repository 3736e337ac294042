"""Sanity: random weights, attacks, decompositions and stability beside the bare passes and Captum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from transformers import BertConfig, BertForSequenceClassification

from benchmarks.bare import bare_logits
from benchmarks.batched import bare_passes
from benchmarks.runner import (
    Row,
    examples,
    fastest,
    memory_beyond_mb,
    model_name,
    sentiment_classifiers,
    text_of,
    timed,
)
from benchmarks.studies import stability
from explainlab.analyses.attributions import attributions_of
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.layer_randomisation.analysis import THESIS
from explainlab.analyses.run import study
from explainlab.attribution.explain import explain
from explainlab.attribution.registry import parse_spec
from explainlab.attribution.subject import Subject
from explainlab.data import read_dataset
from explainlab.models import anatomy
from explainlab.models.anatomy import Unit
from explainlab.models.classifier import Classifier
from explainlab.models.model import Architecture
from explainlab.models.networks.randomised import Draw
from explainlab.models.transformer import TransformerModel
from explainlab.text.encoding import Encoding

BASE = "BERT-base's shape"
TEXTS = 16
STEPS = 5
NODES = 10
TOKENS = 128
_BARE_BATCH = 16
_REPEATS = 2


def rows() -> Iterator[Row]:
    """Yield rows for the sentiment model on each device, and for random weights in BERT-base's shape."""
    for classifier in sentiment_classifiers():
        large = _of_base_shape(classifier)
        yield _randomisation(classifier)
        for model, name in ((classifier, model_name(classifier)), (large, BASE)):
            yield from _states(model, name)
        yield _attack(classifier, "gradient", 1)
        yield _attack(classifier, "integrated_gradients", NODES)
        for method in ("decompx", "globenc", "alti"):
            yield _decomposition(large, method)
        yield from stability.rows(classifier)


def _of_base_shape(classifier: Classifier) -> Classifier:
    torch.manual_seed(0)
    words, labels = classifier.model.word_embeddings.num_embeddings, dict(enumerate(classifier.labels))
    config = BertConfig(vocab_size=words, id2label=labels, pad_token_id=classifier.pad_id)
    network = BertForSequenceClassification(config).eval().requires_grad_(False).to(classifier.device)
    model = TransformerModel(network, Architecture("BERT", anatomy=anatomy.BERT), classifier.device)
    return replace(classifier, model=model, max_tokens=config.max_position_embeddings)


# Random weights ------------------------------------------------------------------------------------------------------


def _randomisation(classifier: Classifier) -> Row:
    """Measure the study of one draw, beside the bare passes of its default methods, for as many models."""

    def ours() -> AnalysisResult[Any]:
        return _studied(classifier, "layer_randomisation", TEXTS, draws=1)

    chosen = [(own.method, own.parameters.model_dump(mode="json")) for own in map(parse_spec, THESIS)]
    encodings, models = _encodings(classifier, TEXTS), 2 * len(classifier.model.units)
    (made,) = attributions_of([Subject(classifier, encodings[0])], chosen)
    costs = [own.cost for own in made]
    bare = [bare_passes(classifier, encodings, _BARE_BATCH, cost.forward, cost.backward) for cost in costs]
    seconds = fastest({"ours": ours, "floor": lambda: [run() for _ in range(models) for run in bare]}, 1)
    return Row(
        name="layer_randomisation",
        work=f"{model_name(classifier)}, {TEXTS} texts, a draw",
        device=classifier.device.type,
        seconds=seconds["ours"],
        floor_seconds=seconds["floor"],
        ratio_to_floor=seconds["ours"] / seconds["floor"],
    )


def _states(classifier: Classifier, name: str) -> Iterator[Row]:
    """Yield a row for building a random model: all units at random, and one block; with the memory that it takes."""
    units = classifier.model.units
    kinds: dict[str, Sequence[Unit]] = {"all units": units, units[1].name: units[1:2]}
    for kind, chosen in kinds.items():

        def build(chosen: Sequence[Unit] = chosen) -> object:
            draw = Draw(classifier, "model", 0, 0)
            return draw, draw.randomised(chosen)

        seconds = fastest({"ours": build}, _REPEATS)["ours"]
        own = sum(weight.nbytes for unit in chosen for weight in unit.parameters) / 2**20
        held, peak = memory_beyond_mb(classifier.device, build)
        yield Row(
            name="random model",
            work=f"{name}, {kind}",
            device=classifier.device.type,
            seconds=seconds,
            facts={"MB of the units": own, "MB beyond the model": held, "MB while it is built": peak},
        )


# Attacks -------------------------------------------------------------------------------------------------------------


def _attack(classifier: Classifier, method: str, nodes: int) -> Row:
    """Measure further steps of all texts in one batch, beside a pass there and back of it, and text after text.

    What comes before the first step is left out: the steps are those by which one attack is longer than another.
    """
    asked: dict[str, Any] = {"method": method, "objective": "unconstrained", "epsilon": "0.1s", "nodes": nodes}
    texts = _texts(classifier, TEXTS)

    def together(steps: int) -> object:
        return _studied(classifier, "attack", TEXTS, steps=steps, **asked)

    def alone(steps: int) -> object:
        return [study(classifier, "attack", text, steps=steps, **asked) for text in texts]

    bare = bare_passes(classifier, _encodings(classifier, TEXTS), TEXTS, 1, 1)
    runs: dict[str, Callable[[], object]] = {"floor": lambda: [bare() for _ in range(STEPS)]}
    for name, run in (("ours", together), ("rival", alone)):
        runs |= {name: partial(run, 2 * STEPS), f"{name}, short": partial(run, STEPS)}
    seconds = fastest(runs, 1, warm_up=False)
    ours, rival = (seconds[name] - seconds[f"{name}, short"] for name in ("ours", "rival"))
    return Row(
        name="attack",
        work=f"{model_name(classifier)}, {method}, {TEXTS} texts",
        device=classifier.device.type,
        seconds=ours / STEPS,
        floor_seconds=seconds["floor"] / STEPS,
        ratio_to_floor=ours / seconds["floor"],
        rival="one after another",
        rival_seconds=rival / STEPS,
        ratio_to_rival=ours / rival,
        facts={"passes there and back a step and node": ours / seconds["floor"] / nodes},
    )


def _studied(classifier: Classifier, name: str, count: int, **asked: Any) -> AnalysisResult[Any]:
    result = study(classifier, name, data=examples(classifier), rows=count, sample="first", **asked)
    assert isinstance(result, AnalysisResult)
    return result


def _texts(classifier: Classifier, count: int) -> list[str]:
    return [row.text for row in read_dataset(examples(classifier), classifier.labels).rows[:count]]


def _encodings(classifier: Classifier, count: int) -> list[Encoding]:
    return sorted(map(classifier.encode, _texts(classifier, count)), key=len, reverse=True)


# Decompositions ------------------------------------------------------------------------------------------------------


def _decomposition(classifier: Classifier, method: str) -> Row:
    """Measure a text beside one forward pass of it."""
    text = text_of(classifier, TOKENS)
    ids = classifier.inputs([classifier.encode(text)]).ids

    def bare() -> None:
        with torch.no_grad():
            bare_logits(classifier, {"input_ids": ids}).cpu()

    def ours() -> object:
        return explain(classifier, text, method)

    floor = fastest({"floor": bare}, 5)["floor"]
    _, peak = memory_beyond_mb(classifier.device, ours)
    _, seconds = timed(ours)
    return Row(
        name=method,
        work=f"{BASE}, {ids.shape[1]} tokens",
        device=classifier.device.type,
        seconds=seconds,
        floor_seconds=floor,
        ratio_to_floor=seconds / floor,
        facts={"MB beyond the model": peak},
    )
