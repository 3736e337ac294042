"""Completion: the scores are the language model's own next-token logits, and what cannot answer is refused."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import accelerate
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from explainlab.errors import ModelError, TextError
from explainlab.models.loading import answer_pieces, describe, known_digest, load_model, model_digest
from explainlab.models.prompting import Template, answer_tokens, read_template, save_template
from explainlab.models.replay import Replay
from explainlab.models.stored.places import locate
from explainlab.testing import traces
from tests.attribution.plain import close
from tests.conftest import ASKED, SPEAKERS, Zoo
from tests.zoo import tokenizer_of

TEXT = "A funny film. It isn't good!"
STORY = Template(
    name="story",
    text="Once upon a time, {text} Timmy was very",
    labels={"glad": " happy", "grown": " big"},
)

every_speaker = pytest.mark.parametrize("name", SPEAKERS)
_spoken = cache(lambda path: AutoModelForCausalLM.from_pretrained(path, attn_implementation="eager").eval())


def asked(**changes: Any) -> Template:
    return Template(**{**ASKED.model_dump(), **changes})


@pytest.fixture
def folder(speaker_path: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of the tiny Llama that a test may break."""
    return Path(shutil.copytree(speaker_path("llama"), tmp_path / "model"))


@pytest.fixture
def template() -> Callable[..., str]:
    """``template(**changes)``: the name under which a changed template is saved."""

    def save(**changes: Any) -> str:
        return save_template(asked(**{"name": "changed", **changes})).stem

    return save


def configure(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def refused(model_id: str, pattern: str) -> None:
    with pytest.raises(ModelError, match=pattern) as caught:
        load_model(model_id, device="cpu")
    assert "\n" not in str(caught.value)
    assert caught.value.remedy


def next_logits(model: PreTrainedModel, whole: str, tokenizer, words: list[str]) -> torch.Tensor:
    """The logits of ``words`` after ``whole``, by the whole vocabulary's head."""
    ids = tokenizer(whole, return_tensors="pt")["input_ids"]
    answers = [tokenizer(whole + word)["input_ids"][ids.shape[1]] for word in words]
    with torch.no_grad():
        return model(input_ids=ids).logits[0, -1, answers]


# Scores --------------------------------------------------------------------------------------------------------------


@every_speaker
def test_scores_are_the_next_tokens(speaker: Zoo, speaker_path: Callable[[str], Path], name: str) -> None:
    classifier, model = speaker(name), _spoken(speaker_path(name))
    whole = f"film: the plot is\nso:N\nfilm: {TEXT}\nso:"
    expected = next_logits(model, whole, tokenizer_of(name), ["N", "Z", "P"])
    found = classifier.logits(classifier.inputs([classifier.encode(TEXT)]))[0]
    close(found.numpy(), expected, 1e-5)
    prediction = classifier.predict(classifier.encode(TEXT))
    assert list(prediction.probabilities.values()) == pytest.approx(expected.double().softmax(0).tolist(), abs=1e-6)
    assert classifier.labels == ("negative", "neutral", "positive")


@every_speaker
def test_the_label_share_is_that_of_the_whole_vocabulary(
    speaker: Zoo, speaker_path: Callable[[str], Path], zoo: Zoo, name: str
) -> None:
    classifier, texts = speaker(name), ("a film", TEXT)
    encodings = [classifier.encode(text) for text in texts]
    inputs = classifier.inputs(encodings)
    assert inputs.padded
    logits, shares = classifier.next_token(inputs)
    assert torch.equal(logits, classifier.logits(inputs))
    words = [tokenizer_of(name).convert_tokens_to_ids(word) for word in ("N", "Z", "P")]
    for share, encoding in zip(shares.tolist(), encodings, strict=True):
        with torch.no_grad():
            whole = _spoken(speaker_path(name))(input_ids=torch.from_numpy(encoding.ids)[None]).logits[0, -1]
        assert share == pytest.approx(float(whole.double().softmax(0)[words].sum()), rel=1e-4)
        assert classifier.label_share(encoding) == pytest.approx(share, rel=1e-4)
    assert zoo("gpt2").label_share(zoo("gpt2").encode(TEXT)) is None


@every_speaker
def test_embeddings_batches_and_padding_change_nothing(speaker: Zoo, name: str) -> None:
    classifier = speaker(name)
    short, long = classifier.encode("a film"), classifier.encode(TEXT)
    before, batch = traces(classifier), classifier.inputs([short, long])
    assert batch.padded
    rows = classifier.logits(batch)
    for row, encoding in zip(rows, (short, long), strict=True):
        close(row.numpy(), classifier.logits(classifier.inputs([encoding]))[0], 1e-5)
    assert torch.equal(classifier.logits(batch, classifier.embed(batch.ids)), rows)
    assert traces(classifier) == before


@every_speaker
def test_attention_and_replay(speaker: Zoo, speaker_path: Callable[[str], Path], name: str) -> None:
    classifier = speaker(name)
    encoding = classifier.encode(TEXT)
    maps, _ = classifier.attention_maps(classifier.inputs([encoding]))
    with torch.no_grad():
        spoken = _spoken(speaker_path(name))(torch.from_numpy(encoding.ids)[None], output_attentions=True)
    for found, expected in zip(maps, spoken.attentions, strict=True):
        close(found.numpy(), expected, 1e-5)
    replay = Replay(classifier, encoding)
    for layer in (1, replay.depth):
        again = replay.logits(layer, replay.attention(layer)[None])[0]
        close(again.numpy(), replay.original.numpy(), 1e-5)
    weights = classifier.head_rows(encoding)
    assert weights[-1] == weights.sum() == 1
    assert encoding.special[-1]


def test_a_real_language_model(shared_models: Path) -> None:
    """Its sentencepiece blanks, bytes and tied head."""
    save_template(STORY)
    path = shared_models / "stories260k"
    classifier = load_model(f"completion:story:{path}", device="cpu")
    tokenizer = AutoTokenizer.from_pretrained(path)
    for text in ("Timmy found a ball.", "there was a tree.", "He ran\nhome…"):
        encoding = classifier.encode(text)
        whole = f"Once upon a time, {text} Timmy was very"
        assert encoding.ids.tolist() == tokenizer(whole)["input_ids"]
        expected = next_logits(_spoken(path), whole, tokenizer, [" happy", " big"])
        close(classifier.logits(classifier.inputs([encoding]))[0].numpy(), expected, 1e-4)
        spans = encoding.offsets[encoding.content]
        assert "".join(text[a:b] for a, b in spans).replace(" ", "") == text.replace(" ", "")


# Names and digests ---------------------------------------------------------------------------------------------------


def test_the_id_is_taken_wherever_a_model_is(speaker: Zoo, speaker_path: Callable[[str], Path]) -> None:
    classifier, path = speaker("llama"), speaker_path("llama")
    card = describe(classifier.id)
    assert (card.id, card.labels, card.source) == (classifier.id, classifier.labels, "directory")
    assert card.architecture == classifier.architecture
    assert locate(classifier.id) == (path.resolve(), "directory")
    assert classifier.digest == model_digest(classifier.id) == known_digest(classifier.id)
    assert classifier.digest != model_digest(str(path))


def test_a_changed_template_has_another_digest(folder: Path, template: Callable[..., str]) -> None:
    name = template()
    first = model_digest(f"completion:{name}:{folder}")
    assert template() == name
    assert model_digest(f"completion:{name}:{folder}") == first
    template(separator="\n\n")
    assert model_digest(f"completion:{name}:{folder}") != first
    template()
    configure(folder, rope_theta=20000.0)
    assert model_digest(f"completion:{name}:{folder}") != first


@pytest.mark.parametrize(
    ("model_id", "pattern"),
    [
        ("completion:", "no model 'completion:'.*completion:TEMPLATE:MODEL"),
        ("completion:sst2", "no model 'completion:sst2'"),
        ("completion:sst2:", "no model 'completion:sst2:'"),
        ("completion:ssst2:embedded:bert-mini-sst2", "no template 'ssst2'.*sst2"),
        ("completion:../x:embedded:bert-mini-sst2", "no template"),
        ("completion:sst2:embedded:nothing", "no embedded model"),
        ("completion:sst2:embedded:gpt2-mini-ag-news", "GPT2ForSequenceClassification, not a language model"),
        ("completion:sst2:embedded:bert-mini-sst2", "BertForSequenceClassification, not a language model"),
    ],
)
def test_names_that_can_be_no_model(model_id: str, pattern: str) -> None:
    refused(model_id, pattern)
    with pytest.raises(ModelError, match=pattern):
        describe(model_id)


def test_a_language_model_without_a_template(folder: Path) -> None:
    refused(str(folder), "LlamaForCausalLM, not a classifier.*completion:TEMPLATE:")


def test_an_encoder_that_speaks_is_refused(folder: Path) -> None:
    configure(folder, model_type="bert", architectures=["BertLMHeadModel"])
    refused(f"completion:asked:{folder}", "BertLMHeadModel, not a language model that goes on")


# Label words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "pattern"),
    [
        ({"labels": {"a": "N", "b": "Qq"}}, r"'Qq' of label 'b' is 2 tokens \(Q q\)"),
        ({"labels": {"a": "Qq", "b": "Qz"}}, r"'a' and 'b' begin with the same token \(Q\)"),
        ({"text": "{text} so ", "labels": {"a": "film", "b": "plot"}}, "'film' of label 'a' is not read apart"),
    ],
)
def test_words_that_cannot_answer_are_refused(
    speaker_path: Callable[[str], Path], template: Callable[..., str], changes: dict[str, Any], pattern: str
) -> None:
    for name in ("gpt2", "llama"):
        refused(f"completion:{template(**changes, examples=[])}:{speaker_path(name)}", pattern)


def test_a_word_that_is_not_in_the_vocabulary() -> None:
    changed = asked(labels={"good": "good", "bad": "☃"}, examples=[])
    with pytest.raises(ModelError, match=r"'☃' of label 'bad' .* vocabulary"):
        answer_tokens(changed, tokenizer_of("bert"), 48)


def test_leading_blanks_are_read_in_context(shared_models: Path) -> None:
    """'▁happy' is one token of the stories' vocabulary, 'happy' is not; after a quote 'T' is read alone."""
    path = str(shared_models / "stories260k")
    assert answer_pieces(STORY, path) == {"glad": "▁happy", "grown": "▁big"}
    quoted = Template(name="quoted", text='{text} said: "', labels={"t": "T", "n": "N"})
    assert answer_pieces(quoted, path) == {"t": "T", "n": "N"}
    bare = Template(name="bare", text="{text} was very", labels={"glad": "happy", "grown": "big"})
    with pytest.raises(ModelError, match="'happy' of label 'glad'"):
        answer_pieces(bare, path)


def test_presets_answer_in_one_token_of_gpt2(shared_models: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(shared_models / "tokenizers" / "gpt2")
    for name in ("sst2", "rotten_tomatoes", "emotion"):
        found = answer_tokens(read_template(name), tokenizer, 1024)
        assert tokenizer.convert_ids_to_tokens(list(found.values())) == [
            f"Ġ{word.strip()}" for word in read_template(name).labels.values()
        ]


def test_a_prompt_longer_than_the_model_is_refused(
    speaker_path: Callable[[str], Path], template: Callable[..., str]
) -> None:
    name = template(instruction="film " * 60)
    refused(f"completion:{name}:{speaker_path('llama')}", r"template 'changed' takes \d+ tokens; the model reads 48")


def test_a_long_text_is_cut_and_the_question_stays(speaker: Zoo) -> None:
    classifier = speaker("gpt2")
    encoding = classifier.encode("film " * 60)
    assert len(encoding) == 48
    assert encoding.cut > 0
    assert "".join(said for said in encoding.prompt if said).endswith("so:")
    with pytest.raises(TextError, match="no place for a second text"):
        classifier.encode("a", "b")


# Heads, devices, adapters, quantised weights -------------------------------------------------------------------------


def test_the_head_is_plain_rows(speaker: Zoo, speaker_path: Callable[[str], Path]) -> None:
    classifier = speaker("llama")
    rows = [tokenizer_of("llama").convert_tokens_to_ids(word) for word in ("N", "Z", "P")]
    assert torch.equal(classifier.model.network.score.weight, _spoken(speaker_path("llama")).lm_head.weight[rows])
    assert not any(parameter.requires_grad for parameter in classifier.model.network.parameters())


def test_missing_weights_of_the_head_are_named(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if "lm_head" not in name}
    assert len(kept) < len(weights)
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    refused(f"completion:asked:{folder}", "lacks trained weights for lm_head.weight.*language model")


def test_a_model_spread_by_hooks_gives_the_same(speaker: Zoo, speaker_path: Callable[[str], Path]) -> None:
    """Put a forward of its own on every module, as accelerate does for a spread model."""
    own = speaker("llama")
    spread = load_model(own.id, device="cpu")
    accelerate.dispatch_model(spread.model.network, {"": "cpu"}, force_hooks=True)
    encoding = own.encode(TEXT)
    inputs = own.inputs([encoding])
    assert torch.equal(spread.logits(inputs, spread.embed(inputs.ids)), own.logits(inputs))
    first, second = Replay(own, encoding), Replay(spread, encoding)
    for layer in (1, first.depth):
        changed = first.attention(layer)[None] * 0.9
        assert torch.equal(first.logits(layer, changed), second.logits(layer, changed))


@pytest.mark.parametrize(
    ("quantisation", "pattern"),
    [
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "needs the library bitsandbytes.*pip install"),
        ({"quant_method": "gptq", "bits": 4}, "quantised by gptq, which is not supported"),
    ],
)
def test_quantised_weights_without_their_library(
    folder: Path, monkeypatch: pytest.MonkeyPatch, quantisation: dict[str, Any], pattern: str
) -> None:
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    configure(folder, quantization_config=quantisation)
    refused(f"completion:asked:{folder}", pattern)


@pytest.mark.parametrize("bits", [8, 4])
def test_what_quantised_weights_cannot_do_is_told(folder: Path, bits: int) -> None:
    configure(folder, quantization_config={"quant_method": "bitsandbytes", f"load_in_{bits}bit": True})
    capabilities = describe(f"completion:asked:{folder}").architecture.capabilities
    lacking = {need: reason for need, reason in capabilities.items() if reason}
    gradients = {"gradients": "its 8-bit layers round what they read, which has no gradient"} if bits == 8 else {}
    assert lacking == {**gradients, "post-norm blocks": "its weights are quantised"}


@pytest.fixture
def adapter(folder: Path, tmp_path: Path) -> Path:
    """A directory as PEFT writes one, over the copied model; its weights are random."""
    place = tmp_path / "adapter"
    place.mkdir()
    config = {
        "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": str(folder), "r": 2,
        "lora_alpha": 4, "target_modules": ["q_proj", "v_proj"], "inference_mode": True,
    }  # fmt: skip
    (place / "adapter_config.json").write_text(json.dumps(config))
    generator, weights = torch.Generator().manual_seed(0), {}
    for layer in range(3):
        for name, width in (("q_proj", 32), ("v_proj", 16)):
            stem = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            weights[f"{stem}.lora_A.weight"] = torch.randn(2, 32, generator=generator)
            weights[f"{stem}.lora_B.weight"] = torch.randn(width, 2, generator=generator)
    save_file(weights, place / "adapter_model.safetensors", {"format": "pt"})
    return place


def test_an_adapter_changes_the_weights(adapter: Path, folder: Path) -> None:
    """W + (alpha / r) B A, written out."""
    classifier = load_model(f"completion:asked:{adapter}", device="cpu")
    weights = load_file(folder / "model.safetensors")
    for name, low in (found := load_file(adapter / "adapter_model.safetensors")).items():
        if "lora_A" in name:
            key = name.removeprefix("base_model.model.").replace("lora_A.weight", "weight")
            weights[key] += 2 * found[name.replace("lora_A", "lora_B")] @ low
    model = AutoModelForCausalLM.from_pretrained(folder)
    model.load_state_dict(weights, strict=False)
    whole = ASKED.prompt.rendered([TEXT])[0]
    expected = next_logits(model.eval(), whole, tokenizer_of("llama"), ["N", "Z", "P"])
    close(classifier.logits(classifier.inputs([classifier.encode(TEXT)]))[0].numpy(), expected, 1e-4)
    assert describe(classifier.id).labels == classifier.labels


def test_the_digest_of_an_adapter_knows_both_files(adapter: Path, folder: Path) -> None:
    model_id = f"completion:asked:{adapter}"
    first = model_digest(model_id)
    assert first not in (model_digest(f"completion:asked:{folder}"), None)
    configure(folder, rope_theta=20000.0)
    second = model_digest(model_id)
    path = adapter / "adapter_config.json"
    path.write_text(path.read_text() + " ")
    assert len({first, second, model_digest(model_id)}) == 3


def test_adapters_that_cannot_be_read(adapter: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_id = f"completion:asked:{adapter}"
    monkeypatch.setitem(sys.modules, "peft", None)
    refused(model_id, "is an adapter, which needs the library peft.*pip install peft")
    refused(str(adapter), "LlamaForCausalLM, not a classifier")
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    refused(model_id, "no safetensors weights")
    (adapter / "adapter_config.json").write_text("{}")
    refused(model_id, "does not name the model that it changes")
    shutil.copy(adapter / "adapter_config.json", folder)
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(adapter)}))
    refused(model_id, "an adapter itself")
