"""Predictions are those of transformers' own pipeline, however a model and its tokenizer are set up."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast, pipeline

from explainlab.errors import TextError
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.loading import load_model
from explainlab.models.reading import Text, logits_of, read_all
from explainlab.models.reading_warnings import reading_warnings
from explainlab.training import Examples, settings_for, train
from tests.tiers import first
from tests.zoo import CORPUS, LABELS, MAX_TOKENS, ZOO, model_of, tokenizer_of

DECODERS = ("gpt2", "llama", "mistral", "qwen2", "qwen3")
PAIRED = tuple(name for name in ZOO if not name.startswith(("bilstm", "t5")))
"""The models whose pairs the pipeline reads by their tokenizer alone."""


def test_a_decoder_reads_the_last_token_that_is_no_padding(tmp_path: Path) -> None:
    """A tokenizer that ends every text with the padding token, and texts that end in its spelling."""
    for name in DECODERS:
        tokenizer = _saved(name, tmp_path / name, ends_with_padding=True)
        end = tokenizer.pad_token
        texts = [
            "a good film",
            f"a good film{end}",
            f"a good film {end}{end}",
            f"{end} a good film",
            f"a {end} good film",
        ]
        _require_equal(tmp_path / name, [(text, None) for text in texts])
        classifier = load_model(str(tmp_path / name), device="cpu")
        assert classifier.encode("a good film").cut == 0, "the end token is none of the text's"
        spelled = classifier.encode(f"a good film{end}{end}")
        assert (spelled.cut, spelled.unread) == (0, 2)
        (warning,) = reading_warnings(classifier, spelled, None)
        assert f"takes the last 2 tokens of the text, “{end}”, for padding" in warning
        with pytest.raises(TextError, match="no token to explain"):
            classifier.encode(end)


def test_a_decoder_that_is_trained_without_padding_pads_with_its_end(tmp_path: Path) -> None:
    """The number 0 is "!", in GPT-2's own vocabulary too: the trained head reads it as any other token."""
    model, tokenizer = model_of("gpt2"), tokenizer_of("gpt2")
    model.config.pad_token_id, model.config.eos_token_id = None, 1
    model.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    written = tmp_path / "base" / "tokenizer.json"
    parts = json.loads(written.read_text())
    end, mark = sorted(parts["model"]["vocab"], key=parts["model"]["vocab"].__getitem__)[:2]
    parts["model"]["vocab"] |= {mark: 0, end: 1}
    parts["added_tokens"] = [token | {"id": 1} if token["content"] == end else token for token in parts["added_tokens"]]
    written.write_text(json.dumps(parts))
    assert (mark, end) == ("!", tokenizer.eos_token)
    base, out = str(tmp_path / "base"), tmp_path / "out"
    train(Examples(CORPUS[:6], list(LABELS) * 2), base, out, settings_for(base, epochs=1, max_tokens=MAX_TOKENS))
    texts = ["a good film", "a good film!", "! good", "a good film!!", f"a good film{end}", f"a {end} film"]
    classifier = _require_equal(out, [(text, None) for text in texts])
    assert (classifier.tokenizer.pad_token, classifier.pad_id, classifier.model.padding_read) == (end, 1, 1)
    assert classifier.encode("a good film!").unread == 0


def test_a_decoder_passes_over_padding_that_is_an_ordinary_token(tmp_path: Path) -> None:
    """The padding id of a configuration may be that of a letter: the head of transformers passes over it too."""
    model, tokenizer = model_of("gpt2"), tokenizer_of("gpt2")
    model.config.pad_token_id = tokenizer.convert_tokens_to_ids("!")
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    classifier = _require_equal(
        tmp_path, [("a good film!", None), ("a good film!!", None), ("! good", None), ("good! film", None)]
    )
    assert classifier.encode("a good film!").unread == 1
    with pytest.raises(TextError, match="every token of the text for padding"):
        classifier.encode("!")


@pytest.mark.parametrize(
    "name", first(("bert", "gpt2"), ("bert", "roberta", "t5", "gpt2", "llama"), "each is like one")
)
def test_a_long_text_keeps_its_end_where_the_tokenizer_says_so(name: str, tmp_path: Path) -> None:
    _saved(name, tmp_path, truncation_side="left")
    text, second = " ".join(CORPUS), "the plot is thin"
    classifier = _require_equal(tmp_path, [(text, None), *([(text, second)] if name in PAIRED else [])])
    encoding = classifier.encode(text)
    assert encoding.cut
    assert encoding.offsets.max() == len(text)
    memory = load_model(classifier.model.network, tokenizer=classifier.tokenizer)
    assert memory.encode(text).ids.tolist() == encoding.ids.tolist()


@pytest.mark.parametrize("seed", first(range(4), range(40), "four of forty models"))
def test_a_model_of_any_kind(seed: int, tmp_path: Path) -> None:
    """A random model type with random settings of its tokenizer: 30 texts, alone and in pairs, within 1e-5."""
    draw = random.Random(seed)
    name = draw.choice(sorted(ZOO))
    tokenizer = _saved(
        name,
        tmp_path,
        padding_side=draw.choice(("left", "right")),
        truncation_side=draw.choice(("left", "right")),
        ends_with_padding=name in DECODERS and draw.random() < 0.5,
        prefix_space=draw.choice((True, False)),
        lower_case=draw.choice((True, False)),
        added=[] if name.startswith("bilstm") else draw.sample(("film", "<user>", "good!"), draw.randrange(3)),
    )
    words = [*" ".join(CORPUS).split(), "<user>", "Film", "ÉTÉ", "good!", *tokenizer.all_special_tokens]
    texts: list[Text] = []
    for row in range(30):
        one, other = (" ".join(draw.choices(words, k=draw.randint(1, 40))) for _ in range(2))
        texts.append((one, other if name in PAIRED and row % 2 else None))
    _require_equal(tmp_path, texts)


def _saved(
    name: str,
    folder: Path,
    *,
    padding_side: str = "right",
    truncation_side: str = "right",
    ends_with_padding: bool = False,
    prefix_space: bool | None = None,
    lower_case: bool = False,
    added: list[str] | None = None,
) -> PreTrainedTokenizerBase:
    """Save the tiny model called ``name`` with a tokenizer of these settings."""
    model = model_of(name)
    tokenizer_of(name).save_pretrained(folder)
    tokenizer: Any = type(tokenizer_of(name)).from_pretrained(folder)
    core = tokenizer.backend_tokenizer
    if prefix_space is not None and isinstance(core.pre_tokenizer, pre_tokenizers.ByteLevel):
        core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    if lower_case and core.normalizer is None:
        core.normalizer = normalizers.Lowercase()
    if ends_with_padding:
        tokenizer.pad_token = tokenizer.eos_token
        model.config.pad_token_id = tokenizer.pad_token_id
        single, end = "$A", (tokenizer.eos_token, tokenizer.eos_token_id)
        core.post_processor = processors.TemplateProcessing(
            single=f"{single} {end[0]}", pair=f"{single} $B {end[0]}", special_tokens=[end]
        )
    tokenizer.add_tokens(added or [])
    if len(tokenizer) > model.config.vocab_size:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    written = folder / "tokenizer_config.json"
    sides = {"padding_side": padding_side, "truncation_side": truncation_side}
    written.write_text(json.dumps(json.loads(written.read_text()) | sides))
    return tokenizer


def _require_equal(folder: Path, texts: list[Text]) -> Classifier:
    """Compare the probabilities of ``texts``, one by one and together, with the results of transformers' pipeline."""
    classifier = load_model(str(folder), device="cpu")
    by_file = PreTrainedTokenizerFast.from_pretrained(folder)  # transformers makes a Qwen2's anew, with other parts
    theirs: Any = pipeline("text-classification", model=str(folder), tokenizer=by_file, device="cpu")
    segmented = getattr(theirs.model.config, "type_vocab_size", 0) > 1
    segments = {"return_token_type_ids": True} if segmented else {}  # it leaves them out by default
    readings = read_all(classifier, texts)
    refused = [isinstance(reading, TextError) for reading in readings]
    read = [reading for reading in readings if not isinstance(reading, TextError)]
    together = iter(
        torch.from_numpy(logits_of(Batcher(classifier, RunContext()), read, "texts", 0, len(read))).softmax(-1)
    )
    for (text, second), bad in zip(texts, refused, strict=True):
        if bad:
            with pytest.raises(TextError):
                classifier.encode(text, second)
            continue
        asked = {"text": text} | ({} if second is None else {"text_pair": second})
        scores = theirs(asked, top_k=None, truncation=True, max_length=MAX_TOKENS, **segments)
        expected = {row["label"]: row["score"] for row in scores}
        assert classifier.predict(classifier.encode(text, second)).probabilities == pytest.approx(expected, abs=1e-5)
        own = dict(zip(LABELS, next(together).tolist(), strict=True))
        assert own == pytest.approx(expected, abs=1e-5), (text, second)
    return classifier
