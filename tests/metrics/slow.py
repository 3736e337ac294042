"""The metrics once more, one perturbed text at a time, each preset written out: references for the judge."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np
import torch

from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Inputs
from explainlab.text.encoding import Encoding
from explainlab.text.units import Units

LEVELS = {
    "ferret": [10, 20, 30, 40, 50, 60, 70, 80, 90, 100],
    "alti": [0, 1, 5, 10, 20, 50],
    "thesis": [5, 10, 20, 50],
}
SPECIAL = ("dig_sig", "thesis")


_read: WeakKeyDictionary[Classifier, dict[tuple, torch.Tensor]] = WeakKeyDictionary()


def log_probability(classifier: Classifier, ids: list[int], types: list[int], target: int) -> float:
    """The target's log-probability for one sequence alone, which many levels, metrics and presets ask for."""
    if not ids:
        ids, types = [classifier.filler_id("mask")], [0]
    known, key = _read.setdefault(classifier, {}), (*ids, *types)
    if key not in known:
        inputs = Inputs(torch.tensor([ids]), torch.tensor([types]), torch.ones(1, len(ids), dtype=torch.bool), False)
        with torch.no_grad():
            known[key] = classifier.logits(inputs)[0].double().log_softmax(dim=-1)
    return float(known[key][target])


def left(
    classifier: Classifier, encoding: Encoding, units: Units, gone: set[int], removal: str, preset: str
) -> tuple[list[int], list[int]]:
    """Ids and segments without the features ``gone``, token by token."""
    ids, types, pieces = [], [], [[], []]
    for i in range(len(encoding)):
        if not encoding.attention[i] or (removal == "delete" and units.membership[i] in gone):
            continue
        token = classifier.filler_id("mask") if units.membership[i] in gone else int(encoding.ids[i])
        ids.append(token)
        types.append(int(encoding.types[i]))
        if not encoding.special[i]:
            pieces[encoding.parts[i]].append(token)
    if preset == "ferret":
        texts = [classifier.tokenizer.decode(part) for part in pieces[: 2 if encoding.text_pair else 1]]
        written = [text.replace(classifier.tokenizer.mask_token or "\0", "").strip() for text in texts]
        if all(written[:1]) and all(texts):
            again = classifier.tokenizer(*texts)
            return again["input_ids"], again.get("token_type_ids", [0] * len(again["input_ids"]))
    return ids, types


def selected(preset: str, level: int, scores: list[float], ranked: list[int], keeps: bool) -> list[int]:
    """The features of the level, best first."""
    n = len(ranked)
    order = sorted(ranked, key=lambda i: (-scores[i], -i if preset == "ferret" else i))
    if preset == "alti" or (preset == "thesis" and not keeps):
        count = math.ceil(round(level * n / 100, 9))
    elif preset == "thesis":
        count = n - math.ceil(round((100 - level) * n / 100, 9))
    else:
        count = math.floor(round(level * n / 100, 9))
    if preset == "ferret":
        return [i for i in order[:count] if scores[i] > 0]
    return order[:count]


def slow(
    metric: str,
    preset: str,
    classifier: Classifier,
    encoding: Encoding,
    units: Units,
    target: int,
    scores: list[float],
    k: int = 20,
    removal: str | None = None,
    plus_one: bool = False,
) -> float:
    """One metric of one map."""
    keeps = metric.endswith("sufficiency")
    features = range(len(units.features))
    ranked = [i for i in features if preset in SPECIAL or not units.features[i].special]
    removal = "mask" if metric == "log_odds" else removal or ("mask" if preset == "thesis" else "delete")
    real = encoding.attention
    before = log_probability(classifier, encoding.ids[real].tolist(), encoding.types[real].tolist(), target)
    effects, previous = [], None
    for level in LEVELS.get(preset, [1, 5, 10, 20, 50]) if metric.startswith("aopc") else [k]:
        top = selected(preset, level, scores, ranked, keeps)
        if preset == "ferret" and (level * len(ranked) < 100 or set(top) == previous):
            continue
        previous = set(top)
        gone = set(ranked) - set(top) if keeps else set(top)
        if keeps and not top and preset in ("rpi", "dig_sig"):
            effects.append(0.0)
            continue
        after = log_probability(classifier, *left(classifier, encoding, units, gone, removal, preset), target)
        effects.append(after - before if metric == "log_odds" else math.exp(before) - math.exp(after))
    if preset == "thesis":
        effects = [abs(effect) for effect in effects]
    if preset == "alti":
        best = min if keeps else max
        effects = [best(effects[: i + 1]) for i in range(len(effects))]
    return float(np.sum(effects) / max(1, len(effects) + plus_one))
