"""Adapters that bring a head of their own, on bases that have none: read as peft reads them, or refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSequenceClassification

from explainlab.attribution.explain import explain
from explainlab.errors import ModelError
from explainlab.limits import MAX_CLASSES
from explainlab.models.loading import describe, load_model, outline
from explainlab.models.stored.base import base_labels, load_base
from tests.fuzz import bounded
from tests.tiers import first
from tests.zoo import model_of, tokenizer_of

TEXT = "a good film"
FACTORIES: dict[str, Any] = {"masked": AutoModelForMaskedLM, "plain": AutoModel, "causal": AutoModelForCausalLM,
                             "classifier": AutoModelForSequenceClassification}  # fmt: skip
PROJECTIONS = {"roberta": "query", "bert": "query", "electra": "query", "distilbert": "q_lin", "modernbert": "Wqkv",
               "deberta": "query_proj", "gpt2": "c_attn", "llama": "q_proj", "qwen2": "q_proj"}  # fmt: skip


Case = tuple[str, str, int, list[str] | None]
"""A kind of network, the one that the base was saved as, how many classes, and peft's ``modules_to_save``."""

EACH_KIND: list[Case] = [
    ("roberta", "masked", 3, None),
    ("roberta", "plain", 5, None),
    ("roberta", "classifier", 4, None),
    ("gpt2", "causal", 2, None),
    ("bert", "masked", 3, ["pooler", "classifier"]),
]
CASES: list[Case] = [
    *EACH_KIND,
    ("roberta", "plain", 2, None),
    ("gpt2", "plain", 3, None),
    ("llama", "causal", 2, None),
    ("qwen2", "causal", 7, None),
    ("electra", "masked", 3, None),
    ("distilbert", "masked", 3, None),
    ("modernbert", "masked", 3, None),
    ("deberta", "masked", 2, ["pooler", "classifier"]),
]


@dataclass(frozen=True)
class Adapted:
    """An adapter in a ``folder``, and the probabilities [classes] that peft gives with it."""

    folder: Path
    probabilities: list[float]


@pytest.fixture
def adapted(tmp_path: Path) -> Callable[..., Adapted]:
    """Save an adapter for a number of classes beside its base, and draw its learned weights anew."""
    import peft  # takes 150 MB

    def made(name: str, base: str, classes: int, modules: list[str] | None = None) -> Adapted:
        below, folder, tokenizer = tmp_path / "base", tmp_path / "adapter", tokenizer_of(name)
        torch.manual_seed(0)
        FACTORIES[base].from_config(model_of(name).config).save_pretrained(below)
        factory = AutoModelForSequenceClassification
        network = factory.from_pretrained(below, num_labels=classes, ignore_mismatched_sizes=True)
        how = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=[PROJECTIONS[name]], modules_to_save=modules)
        network = peft.get_peft_model(network, how).eval()
        with torch.no_grad():
            for weight in network.parameters():
                if weight.requires_grad:
                    weight += 0.2 * torch.randn_like(weight)
            probabilities = network(**tokenizer(TEXT, return_tensors="pt")).logits.softmax(-1)[0].tolist()
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return Adapted(folder, probabilities)

    return made


@pytest.mark.parametrize("case", first(EACH_KIND, CASES, "makes more adapters"), ids=str)
def test_an_adapter_with_its_own_head_is_read_as_peft_reads_it(case: Case, adapted: Callable[..., Adapted]) -> None:
    name, base, classes, modules = case
    made = adapted(name, base, classes, modules)
    place = str(made.folder)
    classifier, card, unread = load_model(place, device="cpu"), describe(place), outline(place)
    assert card is not None
    assert unread is not None
    assert classifier.labels == card.labels == unread.labels == base_labels(place)
    found = classifier.predict(classifier.encode(TEXT)).probabilities
    assert list(found.values()) == pytest.approx(made.probabilities, rel=1e-4)
    assert explain(classifier, TEXT, "gradient").target.label == max(found, key=lambda label: found[label])


@pytest.mark.parametrize("damage", ["half a file", "no numbers", "too many classes", "hidden size"])
def test_a_damaged_adapter_is_told(damage: str, adapted: Callable[..., Adapted]) -> None:
    folder = adapted("roberta", "classifier", 3).folder
    path, place = folder / "adapter_model.safetensors", "base_model.model.classifier.out_proj.bias"
    if damage == "half a file":
        path.write_bytes(path.read_bytes()[:200])
    elif damage == "hidden size":
        config = folder.parent / "base" / "config.json"
        config.write_text(config.read_text().replace('"hidden_size": 32', '"hidden_size": 31'))
    else:
        bias = torch.zeros(()) if damage == "no numbers" else torch.zeros(MAX_CLASSES + 1)
        save_file({**load_file(path), place: bias}, path, {"format": "pt"})
    with pytest.raises(ModelError):
        load_model(str(folder), device="cpu")


@pytest.mark.parametrize("changes", [{"r": 10**7}, {"rank_pattern": {"query": 10**7}}])
def test_an_adapter_of_a_huge_rank_takes_no_memory(changes: dict[str, Any], adapted: Callable[..., Adapted]) -> None:
    folder = adapted("roberta", "classifier", 3).folder
    fields = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(fields | changes))
    said = r"^The adapter .* asks for [\d,]+ numbers; its weights are [\d,]+\. Save it again\.$"
    with bounded(), pytest.raises(ModelError, match=said):
        load_model(str(folder), device="cpu")


def test_training_goes_on_with_the_head_of_an_adapter(adapted: Callable[..., Adapted]) -> None:
    place = str(adapted("roberta", "masked", 3).folder)
    labels = dict(enumerate(base_labels(place)))
    base = load_base(place, {"id2label": labels, "label2id": {own: i for i, own in labels.items()}})
    classifier = load_model(place, device="cpu")
    assert not base.drawn
    states = base.network.state_dict()
    assert all(torch.equal(own, states[name]) for name, own in classifier.model.network.state_dict().items())


@pytest.mark.parametrize(
    ("name", "base", "lost", "said"),
    [
        ("roberta", "masked", "classifier", "RobertaForMaskedLM, not a classifier, and its adapter brings no head"),
        ("roberta", "plain", "classifier", "RobertaModel, not a classifier, and its adapter brings no head"),
        ("gpt2", "causal", "score", "GPT2LMHeadModel, not a classifier, and its adapter brings no head"),
        ("roberta", "masked", "classifier.dense", r"lacks trained weights for classifier.dense.*|cannot be loaded"),
        ("bert", "masked", "nothing", "lacks trained weights for bert.pooler.dense.*modules_to_save"),
        ("deberta", "plain", "nothing", "lacks trained weights for pooler.dense.*modules_to_save"),
    ],
)
def test_a_head_that_is_nowhere_is_named(
    name: str, base: str, lost: str, said: str, adapted: Callable[..., Adapted]
) -> None:
    made = adapted(name, base, 3)
    path = made.folder / "adapter_model.safetensors"
    kept = {name: own for name, own in load_file(path).items() if lost not in name}
    save_file(kept, path, {"format": "pt"})
    with pytest.raises(ModelError, match=said) as told:
        load_model(str(made.folder), device="cpu")
    assert told.value.remedy or "cannot be loaded" in told.value.problem
