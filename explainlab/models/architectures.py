"""What must be known of an architecture, and nothing else: one row a model type, so that no method names one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from explainlab.errors import ModelError

Pooling = Literal["first", "last", "mean", "eos"]


@dataclass(frozen=True)
class Architecture:
    """Facts about one family of classifiers.

    ``pooling``: the rows of the last layer that reach the head: the first token's, the last real token's, the mean of
    all, or the end-of-sequence token's. ``attention``: how attention probabilities are reached: ``replace`` (read and
    replaced through transformers' attention interface), ``read`` (only read, through ``output_attentions``), or
    ``cross`` (the decoder's attention to the encoder; layers do not map the text onto itself). ``causal``: no row
    sees what stands after it; the head is then applied by us to the backbone's last layer, because transformers' own
    pooling looks for padding ids. ``rounds``: the weights are stored in 8 bits, so that every layer rounds what it
    reads (weights of 4 bits are only read coarsely: a smooth function of the text is left).
    """

    family: str
    pooling: Pooling = "first"
    attention: Literal["replace", "read", "cross"] = "replace"
    causal: bool = False
    rounds: bool = False

    @property
    def capabilities(self) -> dict[str, str]:
        """What a method may need of a model, and why this one lacks it (empty: it has it)."""
        replaced = "" if self.attention == "replace" else "its attention probabilities can be read but not replaced"
        layered = "it reads the text twice, so its attention layers do not map the text onto itself"
        return {
            "gradients": "its 8-bit layers round what they read, which has no gradient" if self.rounds else "",
            "attention": "",
            "layered attention": layered if self.attention == "cross" else "",
            "replaceable attention": replaced,
            "causal decoder": "" if self.causal else "it is not a causal decoder",
        }


_ENCODER = {
    "bert": "BERT",
    "roberta": "RoBERTa",
    "xlm-roberta": "XLM-RoBERTa",
    "camembert": "CamemBERT",
    "distilbert": "DistilBERT",
    "electra": "ELECTRA",
    "albert": "ALBERT",
}
_DECODER = {
    "gpt2": "GPT-2",
    "llama": "Llama",
    "mistral": "Mistral",
    "qwen2": "Qwen2",
    "qwen3": "Qwen3",
}

ARCHITECTURES: dict[str, Architecture] = {
    **{model_type: Architecture(family) for model_type, family in _ENCODER.items()},
    **{model_type: Architecture(family, pooling="last", causal=True) for model_type, family in _DECODER.items()},
    "deberta-v2": Architecture("DeBERTa-v2", attention="read"),
    "modernbert": Architecture("ModernBERT"),
    "t5": Architecture("T5", pooling="eos", attention="cross"),
}


def architecture_of(config) -> Architecture:
    """The row for a transformers configuration; raises :class:`ModelError` for a model type that has none."""
    architecture = ARCHITECTURES.get(config.model_type)
    if architecture is None:
        raise ModelError(
            f"Models of type '{config.model_type}' are not supported.",
            f"Supported types: {', '.join(sorted(ARCHITECTURES))}.",
        )
    if getattr(config, "classifier_pooling", "cls") == "mean":
        architecture = replace(architecture, pooling="mean")
    quantised = getattr(config, "quantization_config", None) or {}
    return replace(architecture, rounds=True) if quantised.get("load_in_8bit") else architecture
