"""Many texts together: their attributions beside the bare passes these need, in batches sorted by length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.runner import Row, examples, fastest, peak_memory_mb, quickest
from explainlab.attribution.explain import attribute, attribute_many
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import complete, get_method
from explainlab.data import read_dataset
from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from explainlab.request import Request
from explainlab.settings import ROOT
from explainlab.text.encoding import Encoding

TEXTS = 256
METHODS: dict[str, dict[str, Any]] = {
    "input_x_gradient": {},
    "attention_last": {},
    "integrated_gradients": {"rule": "gauss_legendre", "steps": 20},
}
BATCHES = (16, 32, 64, 128)
"""Texts, or points of a path, in one bare batch; the fastest over this many of the texts is taken:"""
TRIAL = 64
_REPEATS = 2


def rows() -> Iterator[Row]:
    """Yield a row a method, on the first texts of SST-2's dev set where it is, else on the embedded ones."""
    shared = ROOT.parent / "shared"
    path = shared / "models" / "minilm-sst2"
    classifier = load_model(str(path) if path.is_dir() else "embedded:bert-mini-sst2")
    dev = shared / "data" / "sst2" / "dev.csv.gz"
    data = read_dataset(dev if dev.is_file() else examples(classifier), classifier.labels, TEXTS)
    encodings = [classifier.encode(row.text) for row in data.rows]
    for method_id, parameters in METHODS.items():
        yield _measured(classifier, path.name, encodings, method_id, parameters)


def _measured(
    classifier: Classifier, name: str, encodings: Sequence[Encoding], method_id: str, parameters: dict[str, Any]
) -> Row:
    method = get_method(method_id)
    requests = [
        complete(Request(question=method_id, model=classifier.id, text=encoding.text, parameters=parameters))
        for encoding in encodings
    ]

    def together() -> list[Attribution]:
        return attribute_many(classifier, encodings, method, requests)

    def alone() -> list[Attribution]:
        pairs = zip(encodings, requests, strict=True)
        return [attribute(classifier, encoding, method, request) for encoding, request in pairs]

    ordered = sorted(encodings, key=len, reverse=True)
    some = ordered[:: max(1, len(ordered) // TRIAL)]
    cost = together()[0].cost
    size = quickest({size: bare_passes(classifier, some, size, cost.forward, cost.backward) for size in BATCHES})
    floor = bare_passes(classifier, ordered, size, cost.forward, cost.backward)
    seconds = fastest({"ours": together, "floor": floor}, _REPEATS)
    rival = fastest({"rival": alone}, 1, warm_up=False)["rival"]
    return Row(
        name=method_id,
        work=f"{name}, {len(encodings)} texts",
        device=classifier.device.type,
        seconds=seconds["ours"],
        floor_seconds=seconds["floor"],
        ratio_to_floor=seconds["ours"] / seconds["floor"],
        rival="one by one",
        rival_seconds=rival,
        ratio_to_rival=seconds["ours"] / rival,
        peak_memory_mb=peak_memory_mb(classifier.device),
        facts={"bare batch": size},
    )


def bare_passes(
    classifier: Classifier, encodings: Sequence[Encoding], size: int, forward: int, backward: int
) -> Callable[[], None]:
    """Return transformers' own passes over texts, the longest first.

    Each text has ``forward`` passes, of which ``backward`` also go back.
    """
    network = classifier.model.network

    def run() -> None:
        for start, stop in _slices(len(encodings) * (forward - backward), size):
            tokens, mask = _collated(classifier, encodings, start, stop, forward - backward)
            with torch.no_grad():
                network(input_ids=tokens, attention_mask=mask).logits.cpu()
        for start, stop in _slices(len(encodings) * backward, size):
            tokens, mask = _collated(classifier, encodings, start, stop, backward)
            points = classifier.embed(tokens).requires_grad_()
            value = network(inputs_embeds=points, attention_mask=mask).logits.softmax(-1)[:, 0]
            torch.autograd.grad(value.sum(), points)[0].sum(dim=-1).cpu()

    return run


def _slices(count: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, count)) for start in range(0, count, size)]


def _collated(
    classifier: Classifier, encodings: Sequence[Encoding], start: int, stop: int, each: int
) -> tuple[Tensor, Tensor | None]:
    """Return int64 [B, N] of the passes from ``start`` to ``stop``, ``each`` a text, and the mask of any padding."""
    inputs = classifier.inputs([encodings[number // each] for number in range(start, stop)])
    return inputs.ids, inputs.attention.long() if inputs.padded else None
