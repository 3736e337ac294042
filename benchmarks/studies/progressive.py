"""Decoders: intermediate predictions compared with their bare passes, and a prompt that many texts share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from transformers import GPT2Config, GPT2ForSequenceClassification

from benchmarks.methods import best_floor
from benchmarks.runner import Row, classifiers, fastest, model_name, text_of
from explainlab.attribution.explain import explain
from explainlab.models.classifier import Classifier
from explainlab.models.transformer import DecoderModel

TOKENS = 120
_REPEATS = 5
_PROMPT, _TEXTS = 200, 16


def rows() -> Iterator[Row]:
    """Yield a row for every decoder, as it is and replaced by a model of GPT-2's shape."""
    for classifier in classifiers():
        if classifier.architecture.causal:
            large = _of_usual_shape(classifier)
            for decoder, name in ((classifier, model_name(classifier)), (large, "GPT-2's shape, random weights")):
                yield from (_single_pass(decoder, name, start) for start in ("zero", "masked"))
            yield _behind_a_prompt(large)


def _of_usual_shape(classifier: Classifier) -> Classifier:
    torch.manual_seed(0)
    config = GPT2Config(id2label=dict(enumerate(classifier.labels)), pad_token_id=classifier.pad_id)
    network = GPT2ForSequenceClassification(config).eval().requires_grad_(False).to(classifier.device)
    return replace(classifier, model=DecoderModel(network, classifier.architecture, classifier.device))


def _single_pass(classifier: Classifier, name: str, start: str) -> Row:
    text = text_of(classifier, TOKENS)
    floor = best_floor(classifier, text, explain(classifier, text, "sp_pi", start=start))
    seconds = fastest({"ours": lambda: explain(classifier, text, "sp_pi", start=start), "floor": floor}, _REPEATS)
    return Row(
        name="sp_pi",
        work=f"{name}, start={start}",
        device=classifier.device.type,
        seconds=seconds["ours"],
        floor_seconds=seconds["floor"],
        ratio_to_floor=seconds["ours"] / seconds["floor"],
    )


def _behind_a_prompt(classifier: Classifier) -> Row:
    """Measure texts of 20 tokens behind the same 200, with the decoder's key-value cache of these and without."""
    torch.manual_seed(0)
    ids = torch.randint(GPT2Config().vocab_size, (_TEXTS, _PROMPT + 20))
    ids[:, :_PROMPT] = ids[0, :_PROMPT]
    inputs = classifier.inputs([classifier.encode(text_of(classifier, TOKENS))]).repeat(_TEXTS)
    inputs = replace(inputs, ids=ids.to(classifier.device), attention=torch.ones_like(ids, dtype=torch.bool))

    def shared() -> torch.Tensor:
        with torch.no_grad():
            return classifier.logits(inputs, None, classifier.prefix(inputs.ids[0, :_PROMPT]))

    def whole() -> torch.Tensor:
        with torch.no_grad():
            return classifier.logits(inputs)

    ours, exact = shared(), whole()
    seconds = fastest({"ours": shared, "rival": whole}, _REPEATS)
    return Row(
        name="prompt",
        work=f"GPT-2's shape, {_TEXTS} texts behind {_PROMPT} tokens",
        device=classifier.device.type,
        seconds=seconds["ours"],
        rival="whole passes",
        rival_seconds=seconds["rival"],
        ratio_to_rival=seconds["ours"] / seconds["rival"],
        difference=float((ours - exact).abs().max() / exact.abs().max()),
    )
