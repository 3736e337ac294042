"""Tiny random models of every supported architecture with tiny real tokenizers, built in code in a second or two.

Weights are drawn wider than a fresh model's, and biases are not zero, so that every part shows in the output. Training
a tokenizer breaks ties by chance, so what it found is sorted: every run of the tests sees the same models.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from explainlab.models.model_types import register_networks
from explainlab.models.modes import BUILDING
from explainlab.training.architectures import train_words

register_networks()
LABELS = ("negative", "neutral", "positive")
MAX_TOKENS = 48
CORPUS = (
    "a stirring, funny film that never loses its way",
    "the plot is thin and the acting is worse than the plot",
    "I did not like this film at all. It isn't funny, and it isn't good!",
    "a good film, a great story and wonderful acting",
    "Markets fell sharply on Monday as oil prices rose.",
    "The team won the final game of the season on Sunday night ...",
)


def _wordpiece() -> PreTrainedTokenizerFast:
    """Return BERT's kind: lower case, [CLS] text [SEP] pair [SEP], segments 0 and 1."""
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    special = list(names.values())
    core.train_from_iterator(
        CORPUS, trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False)
    )
    used = {piece for text in CORPUS for piece in core.encode(text).tokens}
    letters = {piece for piece in core.get_vocab() if len(piece.removeprefix("##")) == 1}
    vocabulary = {piece: number for number, piece in enumerate([*special, *sorted(used | letters)])}
    core.model = models.WordPiece(vocabulary, unk_token="[UNK]")
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, core.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    return _wrapped(core, names)


def _byte_level(names: dict[str, str], template: str = "") -> PreTrainedTokenizerFast:
    """Return byte-level BPE, with ``template`` around a text ('$A' alone: none) and around each text of a pair."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = list(dict.fromkeys(names.values()))
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(CORPUS, trainer)
    byte_level = processors.ByteLevel(trim_offsets=True)
    if template:
        markers = processors.TemplateProcessing(
            single=template,
            pair=f"{template} {template.replace('$A', '$B')}",
            special_tokens=[(name, core.token_to_id(name)) for name in special if name in template],
        )
        core.post_processor = processors.Sequence([byte_level, markers])
    else:
        core.post_processor = byte_level
    return _wrapped(core, names)


def _roberta() -> PreTrainedTokenizerFast:
    names = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>", "cls": "<s>", "sep": "</s>"}
    return _byte_level(names, "<s> $A </s>")


def _gpt2() -> PreTrainedTokenizerFast:
    """Return GPT-2's kind: no mask, no padding, nothing around the text."""
    return _byte_level({"bos": "<|endoftext|>", "eos": "<|endoftext|>"})


def _qwen() -> PreTrainedTokenizerFast:
    return _byte_level({"eos": "<|im_end|>", "pad": "<|endoftext|>"})


def _llama() -> PreTrainedTokenizerFast:
    return _byte_level({"bos": "<|begin_of_text|>", "eos": "<|end_of_text|>"}, "<|begin_of_text|> $A")


def _unigram() -> PreTrainedTokenizerFast:
    """Return T5's kind: sentencepiece with blanks as '▁', </s> at each text's end, sentinels instead of a mask."""
    core = Tokenizer(models.Unigram())
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>", "<extra_id_0>", "<extra_id_1>"]
    trainer = trainers.UnigramTrainer(vocab_size=150, special_tokens=special, unk_token="<unk>", show_progress=False)
    core.train_from_iterator(CORPUS, trainer)
    learnt = [(piece, round(score, 2)) for piece, score in json.loads(core.to_str())["model"]["vocab"]]
    learnt[len(special) :] = sorted(learnt[len(special) :], key=lambda pair: (-pair[1], pair[0]))
    core.model = models.Unigram(learnt, special.index("<unk>"))
    core.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", core.token_to_id("</s>"))]
    )
    return _wrapped(core, {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}, extra=special[3:])


def _words() -> PreTrainedTokenizerFast:
    """Return lower-case words, [BOS] text [EOS] and the same for each text of a pair, segments 0 and 1."""
    return train_words(CORPUS, 200, MAX_TOKENS, min_count=1)


def _wrapped(core: Tokenizer, names: dict[str, str], extra: list[str] | None = None) -> PreTrainedTokenizerFast:
    named = {f"{role}_token": token for role, token in names.items()}
    return PreTrainedTokenizerFast(
        tokenizer_object=core, model_max_length=MAX_TOKENS, extra_special_tokens=extra or [], **named
    )


@dataclass(frozen=True)
class Species:
    """The parts of one tiny model: transformers' model type, its tokenizer, and its configuration."""

    model_type: str
    tokenizer: Callable[[], PreTrainedTokenizerFast]
    options: dict[str, Any] = field(default_factory=dict)


_SIZE = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
_LLAMA = {**_SIZE, "num_key_value_heads": 2, "head_dim": 8}
_MODERN = {**_SIZE, "local_attention": 4, "global_attn_every_n_layers": 2}

ZOO: dict[str, Species] = {
    "bert": Species("bert", _wordpiece, _SIZE),
    "roberta": Species("roberta", _roberta, {**_SIZE, "type_vocab_size": 1, "max_position_embeddings": MAX_TOKENS + 2}),
    "distilbert": Species("distilbert", _wordpiece, {"dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48}),
    "electra": Species("electra", _wordpiece, {**_SIZE, "embedding_size": 16}),
    "albert": Species("albert", _wordpiece, {**_SIZE, "embedding_size": 16}),
    "deberta": Species(
        "deberta-v2",
        _wordpiece,
        {**_SIZE, "type_vocab_size": 0, "relative_attention": True, "pos_att_type": ["p2c", "c2p"],
         "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False},
    ),
    "modernbert": Species("modernbert", _wordpiece, {**_MODERN, "classifier_pooling": "cls"}),
    "modernbert-mean": Species("modernbert", _wordpiece, {**_MODERN, "classifier_pooling": "mean"}),
    "t5": Species("t5", _unigram, {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_heads": 4,
                          "decoder_start_token_id": 0}),
    "t5-encoder": Species("explainlab_t5_encoder", _unigram,
                          {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_heads": 4}),
    "bilstm": Species("explainlab_bilstm_attention", _words,
                      {"embedding_size": 12, "hidden_size": 16, "attention_size": 8}),
    "bilstm-pairs": Species("explainlab_bilstm_attention", _words,
                            {"embedding_size": 12, "hidden_size": 16, "attention_size": 8, "second_text": True,
                             "decoder": "reference"}),
    "gpt2": Species("gpt2", _gpt2, {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": MAX_TOKENS}),
    "llama": Species("llama", _llama, _LLAMA),
    "mistral": Species("mistral", _llama, {**_LLAMA, "sliding_window": 4}),
    "qwen2": Species("qwen2", _qwen, _LLAMA),
    "qwen3": Species("qwen3", _qwen, _LLAMA),
}  # fmt: skip

RECURRENT = ("bilstm", "bilstm-pairs")
"""The models whose attention is one average of states."""

SMALL = {"max_position_embeddings": MAX_TOKENS}
"""Position tables of the size of the longest text, where a species does not say otherwise."""


def build(name: str, directory: Path, is_generative: bool = False) -> Path:
    """Save the model called ``name`` with its tokenizer in ``directory``, as save_pretrained does."""
    tokenizer = tokenizer_of(name)
    model = model_of(name, is_generative)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return directory


def tokenizer_of(name: str) -> PreTrainedTokenizerFast:
    """Return the tokenizer of the model called ``name``; tests must not change it."""
    return _tokenizer(ZOO[name].tokenizer)


def model_of(name: str, is_generative: bool = False, **options: Any) -> PreTrainedModel:
    """Return the random model called ``name`` in evaluation mode: a classifier, or a generative decoder.

    ``options`` override its configuration.
    """
    species, tokenizer = ZOO[name], tokenizer_of(name)
    roles = [f"{role}_token_id" for role in ("pad", "bos", "eos", "cls", "sep")]
    ids = {role: getattr(tokenizer, role) for role in roles}
    positions = {} if species.model_type in ("t5", "explainlab_t5_encoder", "gpt2") else SMALL
    classes = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
    settings = {"vocab_size": len(tokenizer), **classes, **ids, **positions, **species.options, **options}
    config = AutoConfig.for_model(species.model_type, **settings)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(sum(name.encode()))
        with BUILDING:
            model = (AutoModelForCausalLM if is_generative else AutoModelForSequenceClassification).from_config(config)
        for parameter in model.parameters():
            noise = torch.randn_like(parameter)
            parameter.copy_(0.2 * noise if parameter.ndim > 1 else parameter + 0.1 * noise)
    return model.eval()


_tokenizer = cache(lambda builder: builder())
