"""Every method on a short and a long text, compared with the bare batched passes and with Captum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from benchmarks.bare import bare_logits
from benchmarks.rivals import RIVALS, Rival
from benchmarks.runner import Row, classifiers, fastest, model_name, peak_memory_mb, quickest, text_of
from explainlab.attribution.explain import explain
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods
from explainlab.models.classifier import Classifier

LENGTHS = (25, 120)
_REPEATS = 3
_BATCHES = (16, 64, 256)
_PARAMETERS: dict[str, dict[str, Any]] = {
    "integrated_gradients": {"rule": "gauss_legendre", "steps": 50},
    "sequential_integrated_gradients": {"steps": 1},
}
"""The rival's settings where our defaults differ; few steps where the cost grows with the square of the length."""
_EXEMPT = ("random", "deep_lift")
_ELSEWHERE = ("rpi", "rpi_g", "rpi_ig", "rpi_sig")
"""They compute many attributions each, too many to repeat here as whole passes."""


def rows() -> Iterator[Row]:
    """Yield a row for each model, length and method, with Captum as the rival where it has the method."""
    for classifier in classifiers():
        for length in LENGTHS:
            text = text_of(classifier, length)
            for method_id, method in methods().items():
                if method_id not in _ELSEWHERE and not method.unsupported(classifier.architecture):
                    yield _measure(classifier, text, method_id)


def _measure(classifier: Classifier, text: str, method_id: str) -> Row:
    def ours() -> Attribution:
        return explain(classifier, text, method_id, **_PARAMETERS.get(method_id, {}))

    result = ours()
    runs: dict[str, Callable[[], object]] = {"ours": ours}
    if method_id not in _EXEMPT:
        runs["floor"] = best_floor(classifier, text, result)
    rival = _best_rival(classifier, text, method_id)
    if rival:
        runs["rival"] = rival.run
    seconds = fastest(runs, _REPEATS)
    ours_s, floor, rival_s = seconds["ours"], seconds.get("floor"), seconds.get("rival")
    return Row(
        name=method_id,
        work=f"{model_name(classifier)}, {sum(len(f.ids) for f in result.features)} tokens",
        device=classifier.device.type,
        seconds=ours_s,
        floor_seconds=floor,
        rival=rival.name if rival else None,
        rival_seconds=rival_s,
        ratio_to_floor=ours_s / floor if floor else None,
        ratio_to_rival=ours_s / rival_s if rival_s else None,
        difference=rival.difference(result) if rival else None,
        peak_memory_mb=peak_memory_mb(classifier.device),
    )


def _best_rival(classifier: Classifier, text: str, method_id: str) -> Rival | None:
    """Return Captum's implementation, at the batch size that is fastest here."""
    if method_id not in RIVALS:
        return None
    candidates = {size: RIVALS[method_id](classifier, text, size) for size in _BATCHES}
    return candidates[quickest({size: rival.run for size, rival in candidates.items()})]


def best_floor(classifier: Classifier, text: str, result: Attribution) -> Callable[[], None]:
    """Return a run of the model passes of ``result`` and nothing else, at the batch size that is fastest here."""
    family = methods()[result.request.question].family
    if family == "Attention" and not result.cost.backward:
        return lambda: _attention_pass(classifier, text)
    candidates = {size: _passes(classifier, text, result, size) for size in _BATCHES}
    return candidates[quickest(candidates)]


def _passes(classifier: Classifier, text: str, result: Attribution, size: int) -> Callable[[], None]:
    tokens = classifier.tokenizer(text, return_tensors="pt").to(classifier.device)
    ids = tokens["input_ids"]
    embeddings = classifier.embed(ids)
    gradients = result.cost.backward

    def run() -> None:
        with torch.no_grad():
            for start in range(0, result.cost.forward - gradients, size):
                count = min(size, result.cost.forward - gradients - start)
                bare_logits(classifier, {"input_ids": ids.expand(count, -1)}).cpu()
        total = torch.zeros_like(embeddings[0])
        for start in range(0, gradients, size):
            count = min(size, gradients - start)
            points = embeddings.expand(count, -1, -1).clone().requires_grad_()
            value = bare_logits(classifier, {"inputs_embeds": points}).softmax(-1)[:, 0]
            total += torch.autograd.grad(value.sum(), points)[0].sum(0)
        total.cpu()

    return run


def _attention_pass(classifier: Classifier, text: str) -> None:
    """Make a pass with transformers' eager attention; all attention probabilities are copied to the CPU."""
    network: Any = classifier.model.network
    ids = classifier.tokenizer(text, return_tensors="pt").to(classifier.device)["input_ids"]
    before = network.config._attn_implementation
    network.config._attn_implementation = "eager"
    try:
        with torch.no_grad():
            body = network.base_model(input_ids=ids, output_attentions=True)
        torch.cat(body.attentions).cpu()
    finally:
        network.config._attn_implementation = before
