"""Greedy decoding: token by token what transformers' ``generate`` says, where it ends, and what it costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from explainlab.attribution.decoding import Answer, decode, end_ids, prompt_ids
from explainlab.errors import Cancelled, MemoryShortage, ModelError, UnsupportedError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.loading import load_model
from explainlab.models.prompting import save_template
from explainlab.testing.observation import Recorder, unchanged, watched
from tests.attribution.speech import saying
from tests.attribution.test_completion import STORY
from tests.conftest import ASKED, Zoo
from tests.tiers import first
from tests.zoo import tokenizer_of

PROMPTS = ("Once upon a time", "The dog saw a big ball. It", "Lily and Tom like to", "a")
DECODERS = ("gpt2", "llama", "mistral", "qwen2", "qwen3")


def generated(classifier: Classifier, ids: list[int], most: int) -> list[int]:
    """Return the answer of ``generate`` after ``ids``, without its end token."""
    path = classifier.id.split(":", 2)[2]
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
    batch = torch.tensor([ids])
    with torch.no_grad():
        whole = model.generate(
            batch, attention_mask=torch.ones_like(batch), do_sample=False, num_beams=1, max_new_tokens=most,
            pad_token_id=0,
        )  # fmt: skip
    said: list[int] = whole[0, len(ids) :].tolist()
    return said[:-1] if said and said[-1] in end_ids(classifier) else said


def said(classifier: Classifier, ids: list[int], most: int, context: RunContext | None = None) -> Answer:
    return decode(Batcher(classifier, context or RunContext()), ids, most)


@pytest.fixture(scope="module")
def stories(shared_models: Path) -> Classifier:
    save_template(STORY)
    return load_model(f"completion:{STORY.name}:{shared_models / 'stories260k'}", device="cpu")


@pytest.mark.parametrize("prompt", first(PROMPTS[:1], PROMPTS, "an answer takes four seconds"))
def test_a_real_model_says_what_generate_says(stories: Classifier, prompt: str) -> None:
    ids = prompt_ids(stories, prompt)
    answer = said(stories, ids, 60)
    assert list(answer.ids) == generated(stories, ids, 60)[: len(answer.ids)]
    assert len(answer.ids) > 30
    assert answer.text == stories.decode(answer.ids)


@pytest.mark.parametrize("name", first(("gpt2", "mistral"), DECODERS, "they decode by the same code"))
def test_random_models_say_what_generate_says(speaker: Zoo, name: str) -> None:
    """Within the text's own window and beyond the sliding one."""
    for prompt in ("a film", "the plot is thin and the acting"):
        ids = prompt_ids(speaker(name), prompt)
        answer = said(speaker(name), ids, 15)
        assert list(answer.ids) == generated(speaker(name), ids, 15)[: len(answer.ids)]


def test_a_random_llama_says_what_generate_says(tmp_path: Path) -> None:
    """A model made here, with grouped heads, longer than the tiny ones."""
    tokenizer = tokenizer_of("llama")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=48, intermediate_size=64, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=3, max_position_embeddings=512, eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(5)
        LlamaForCausalLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    save_template(ASKED)
    classifier = load_model(f"completion:{ASKED.name}:{tmp_path}", device="cpu")
    ids = prompt_ids(classifier, "a funny film")
    answer = said(classifier, ids, 30)
    assert list(answer.ids) == generated(classifier, ids, 30)[: len(answer.ids)]
    assert len(answer.ids) > 10


# Where it ends -------------------------------------------------------------------------------------------------------


def test_it_ends_at_the_end_token(tmp_path: Path) -> None:
    answer = said(saying(tmp_path, "film", after=2), [1, 2], 20)
    assert answer.text == "film"
    assert answer.passes == len(answer.ids) + 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("film\n\nplot", "film\n\n"),
        ("\n\nfilm\n\nplot", "\n\nfilm\n\n"),
        ("film\nplot\n \na", "film\nplot\n \n"),
        ("film\nplot", "film\nplot"),
    ],
)
def test_it_ends_after_a_blank_line_that_follows_an_item(tmp_path: Path, text: str, expected: str) -> None:
    assert said(saying(tmp_path, text, after=1), [1], 40).text == expected


def test_it_ends_after_as_many_tokens_and_where_the_model_reads_no_further(tmp_path: Path) -> None:
    classifier = saying(tmp_path, "a film " * 40, after=1)
    assert len(said(classifier, [1], 7).ids) == 7
    answer = said(replace(classifier, max_tokens=48), [1] * 40, 100)
    assert len(answer.ids) == 9, "the last one need not be read"


def test_of_equal_logits_the_lowest_id_is_said(tmp_path: Path) -> None:
    classifier = saying(tmp_path, "", after=9)
    for place in range(3):
        classifier.model.network.lm_head.weight[[200, 5, 9], place] = 1
    assert said(classifier, [1], 3).ids == (5, 5, 5)


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    classifier = saying(tmp_path, "film", after=1)
    classifier.model.network.lm_head.weight[0, 0] = float("nan")
    with pytest.raises(ModelError, match="not finite"):
        said(classifier, [1], 3)


# Around it -----------------------------------------------------------------------------------------------------------


def test_passes_are_counted_and_can_be_cancelled(speaker: Zoo) -> None:
    classifier, recorder = speaker("llama"), Recorder()
    ids = prompt_ids(classifier, "a film")
    with unchanged(classifier, "an answer"), watched(classifier) as passes:
        answer = said(classifier, ids, 9, recorder.context)
    assert passes.calls == passes.forward == answer.passes >= 1
    assert recorder.seen[-1][0] == recorder.seen[-1][1]
    with watched(classifier) as passes, pytest.raises(Cancelled):
        said(classifier, ids, 9, Recorder(last=2).context)
    assert passes.calls == 1
    with watched(classifier, limit=0), pytest.raises(MemoryShortage):
        said(classifier, ids, 9)


def test_a_classifier_with_a_head_does_not_speak(decoder: Classifier) -> None:
    with pytest.raises(UnsupportedError, match="cannot be asked in words"):
        said(decoder, [1], 3)


def test_a_chat_template_is_used_where_there_is_one(speaker: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = speaker("qwen2")
    plain = prompt_ids(classifier, "a film")
    template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<me>{% endif %}"
    )
    monkeypatch.setattr(classifier.tokenizer, "chat_template", template)
    chat = prompt_ids(classifier, "a film")
    assert classifier.decode(plain) == "a film"
    assert classifier.decode(chat) == "<user>a film<me>"
    monkeypatch.setattr(classifier.tokenizer, "chat_template", "{{ raise_exception('no users') }}")
    with pytest.raises(ModelError, match=r"chat template .* no users"):
        prompt_ids(classifier, "a film")


def test_the_prompt_begins_as_any_text_of_the_model(speaker: Zoo) -> None:
    classifier = speaker("llama")
    assert prompt_ids(classifier, "a film")[0] == classifier.tokenizer.bos_token_id
    assert np.array_equal(prompt_ids(classifier, "a film"), classifier.tokenizer("a film")["input_ids"])
