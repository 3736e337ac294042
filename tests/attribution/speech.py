"""Language models that say what a test wants: a real GPT-2 whose next token depends on the place alone."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from explainlab.models.prompting import save_template
from tests.conftest import ASKED
from tests.zoo import tokenizer_of

PLACES = 640
"""The longest input, and the width: each place is a direction of its own."""


def saying(directory: Path, answer: str, after: int) -> Classifier:
    """A classifier by :data:`ASKED` whose model says ``answer`` after ``after`` tokens, then the end token.

    Elsewhere all logits are equal.
    """
    tokenizer = tokenizer_of("gpt2")
    ids = [*tokenizer(answer, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=PLACES, n_embd=PLACES, n_layer=1, n_head=1, n_inner=4,
        tie_word_embeddings=False, bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(float(name == "transformer.ln_f.weight"))
        model.transformer.wpe.weight.copy_(torch.eye(PLACES))
        for place, token in enumerate(ids, start=after - 1):
            model.lm_head.weight[token, place] = 1
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    save_template(ASKED)
    return load_model(f"completion:{ASKED.name}:{directory}", device="cpu")
