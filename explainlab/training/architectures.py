"""Models with random weights: the tokenizer, the word vectors and the network of each architecture.

transformers' model code takes seconds to import: only functions that build a network import it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from explainlab.models.stored.directory import OF_PAIRS
from explainlab.training.settings import OF_WORDS, SHAPES, TrainingSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast
import hashlib
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from explainlab.errors import DataError

END_OF_TEXT = "<|endoftext|>"
MASK = "<|mask|>"
WORDPIECE_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORD_SPECIALS = ("[PAD]", "[UNK]", "[MASK]", "[BOS]", "[EOS]")
MAX_ALPHABET = 1000


def train_wordpiece(texts: Sequence[str], vocabulary: int, max_tokens: int) -> PreTrainedTokenizerFast:
    """Learn a lower-casing WordPiece tokenizer that writes ``[CLS] text [SEP]`` (and ``pair [SEP]`` with type 1).

    ``vocabulary`` is the intended number of entries, with special tokens and single characters, which are always in;
    ``max_tokens`` is its ``model_max_length``.
    """
    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    tokenizer = Tokenizer(models.WordPiece(_wordpieces(texts, vocabulary, normalizer, splitter), unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.decoder = decoders.WordPiece()
    template = "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"
    return _marking(tokenizer, *template, max_tokens, cls_token="[CLS]", sep_token="[SEP]")


def train_untyped_wordpiece(texts: Sequence[str], vocabulary: int, max_tokens: int) -> PreTrainedTokenizerFast:
    """Train as :func:`train_wordpiece`, for a model that ignores the segments of a pair."""
    tokenizer = train_wordpiece(texts, vocabulary, max_tokens)
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    return tokenizer


def _wordpieces(
    texts: Sequence[str], vocabulary: int, normalizer: normalizers.Normalizer, splitter: pre_tokenizers.PreTokenizer
) -> dict[str, int]:
    """Learn the pieces and their ids, reproducibly.

    The trainer numbers continuing characters (``##a``) in the random order of a hash map, which also decides ties
    between merges. Passing them sorted, as special tokens of a temporary tokenizer, fixes their order.
    """
    counts = Counter(character for text in texts for character in normalizer.normalize_str(text))
    alphabet = sorted(c for c, _ in counts.most_common(MAX_ALPHABET) if not c.isspace())
    learner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learner.normalizer, learner.pre_tokenizer = normalizer, splitter
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary,
        special_tokens=[*WORDPIECE_SPECIALS, *(f"##{character}" for character in alphabet)],
        limit_alphabet=MAX_ALPHABET,
        show_progress=False,
    )
    learner.train_from_iterator(texts, trainer)
    return learner.get_vocab()


def train_words(texts: Sequence[str], vocabulary: int, max_tokens: int, min_count: int = 2) -> PreTrainedTokenizerFast:
    """Learn a tokenizer of lower-case words that writes ``[BOS] text [EOS]``, and a pair's second text so, as type 1.

    Words end at Unicode's word boundaries (UAX 29). Those seen fewer than ``min_count`` times are ``[UNK]``; of the
    others the ``vocabulary`` most frequent, special tokens included, have a row of their own.
    """
    normalizer = normalizers.Lowercase()
    splitter = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(r"(?y{w})\X"), "isolated")]
    )
    counts = Counter(word for text in texts for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    frequent = sorted((word for word, n in counts.items() if n >= min_count), key=lambda word: (-counts[word], word))
    words = [*WORD_SPECIALS, *frequent[: max(0, vocabulary - len(WORD_SPECIALS))]]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    template = "[BOS] $A [EOS]", "[BOS] $A [EOS] [BOS]:1 $B:1 [EOS]:1"
    return _marking(tokenizer, *template, max_tokens, bos_token="[BOS]", eos_token="[EOS]")


def _marking(tokenizer: Tokenizer, single: str, pair: str, max_tokens: int, **marks: str) -> PreTrainedTokenizerFast:
    """Return ``tokenizer`` with ``marks`` around texts, by the templates of a ``single`` one and of a ``pair``."""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single,
        pair=pair,
        special_tokens=[(mark, tokenizer.token_to_id(mark)) for mark in marks.values()],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=max_tokens,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
        **marks,
    )


def train_byte_bpe(texts: Sequence[str], vocabulary: int, max_tokens: int) -> PreTrainedTokenizerFast:
    """Learn a byte-level BPE tokenizer with an end-of-text token (also the padding) and a mask token.

    It adds no special token to a text. All 256 bytes and both tokens are always in, so a ``vocabulary`` below 258 has
    no effect; ``max_tokens`` is its ``model_max_length``. Padding is on the right.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT, MASK],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=max_tokens,
        model_input_names=["input_ids", "attention_mask"],
        padding_side="right",
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TEXT,
        pad_token=END_OF_TEXT,
        mask_token=MASK,
    )


_REMEDY = "Write a word and its numbers a line, as many numbers in every line, in UTF-8."


def read_vectors(path: str, words: Collection[str]) -> dict[str, np.ndarray]:
    """Return the vectors, float32 [d], of these ``words`` in the file; of a repeated word the first.

    A line is a word and d numbers, with blanks between; a first line of two whole numbers is left out (fastText and
    word2vec write the count and d there). Raises :class:`DataError` for a file that cannot be read, and with its number
    for a line that is no word with d finite numbers.
    """
    found: dict[str, np.ndarray] = {}
    try:
        with Path(path).expanduser().open(encoding="utf-8") as file:
            for number, word, numbers in _lines(path, file):
                if word in words and word not in found:
                    found[word] = _vector(path, number, numbers)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"The vectors in {path} cannot be read: {error}.", _REMEDY) from error
    if not found:
        raise DataError(f"No word of the texts has a vector in {path}.", "Check that it is a file of word vectors.")
    return found


def vectors_digest(path: str) -> str:
    """Return SHA-256 of the file, in hexadecimal; raises :class:`DataError` if it cannot be read."""
    try:
        with Path(path).expanduser().open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"The vectors in {path} cannot be read: {error}.", _REMEDY) from error


def _lines(path: str, file: TextIO) -> Iterator[tuple[int, str, list[str]]]:
    """Yield of every line its number, counted from 1, its word, and its numbers as written."""
    width = 0
    for number, line in enumerate(file, start=1):
        parts = line.rstrip().split(" ")
        if number == 1 and len(parts) == 2 and all(part.isdecimal() for part in parts):
            width = int(parts[1])
            continue
        width = width or len(parts) - 1
        if width < 1 or len(parts) <= width:
            raise DataError(f"Line {number} of {path} has {len(parts) - 1} numbers, not {width or 'any'}.", _REMEDY)
        yield number, " ".join(parts[:-width]), parts[-width:]


def _vector(path: str, number: int, numbers: list[str]) -> np.ndarray:
    try:
        vector = np.array(numbers, dtype=np.float32)
    except ValueError:
        vector = np.array([np.nan])
    if not np.isfinite(vector).all():
        raise DataError(f"Line {number} of {path} has something else than finite numbers.", _REMEDY)
    return vector


_Tokenizing: TypeAlias = "Callable[[Sequence[str], TrainingSettings], PreTrainedTokenizerFast]"


@dataclass(frozen=True)
class NewModel:
    """The start of a model of an architecture.

    ``causal``: the head reads every position, and the last position predicts; ``defaults``: its own values of
    :class:`TrainingSettings`; ``unused``: settings of other architectures; ``recipe``: the usual one; ``version`` rises
    when equal settings give other initial weights.
    """

    build_tokenizer: _Tokenizing
    build_network: Callable[[TrainingSettings, PreTrainedTokenizerFast, dict[str, Any]], PreTrainedModel]
    causal: bool
    defaults: dict[str, Any]
    unused: tuple[str, ...] = OF_WORDS
    recipe: str = "embedded"
    version: int = 1


def _bert(settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]) -> PreTrainedModel:
    """Return a BERT with random weights; ``classes`` holds ``id2label`` and ``label2id``."""
    from transformers import BertConfig, BertForSequenceClassification

    return BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=settings.width,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=4 * settings.width,
            max_position_embeddings=settings.max_tokens,
            hidden_dropout_prob=settings.dropout,
            attention_probs_dropout_prob=0.0,
            classifier_dropout=settings.dropout,
            pad_token_id=tokenizer.pad_token_id,
            **classes,
        )
    )


def _gpt2(settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]) -> PreTrainedModel:
    """Return a GPT-2 with random weights; ``classes`` holds ``id2label`` and ``label2id``."""
    from transformers import GPT2Config, GPT2ForSequenceClassification

    return GPT2ForSequenceClassification(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=settings.width,
            n_layer=settings.layers,
            n_head=settings.heads,
            n_positions=settings.max_tokens,
            resid_pdrop=settings.dropout,
            embd_pdrop=settings.dropout,
            attn_pdrop=0.0,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            **classes,
        )
    )


def _t5_encoder(
    settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]
) -> PreTrainedModel:
    """Return T5's encoder with random weights, its heads 64 wide as T5's are; ``classes`` as for the others."""
    from explainlab.models.networks.t5_encoder import T5EncoderConfig, T5EncoderForSequenceClassification

    return T5EncoderForSequenceClassification(
        T5EncoderConfig(
            vocab_size=len(tokenizer),
            d_model=settings.width,
            d_ff=4 * settings.width,
            num_layers=settings.layers,
            num_heads=settings.heads,
            dropout_rate=settings.dropout,
            initializer_factor=0.05,  # T5's own, of std 1, is for a step relative to the weights: AdamW hardly moves it
            classifier_dropout=settings.dropout,
            pad_token_id=tokenizer.pad_token_id,
            **classes,
        )
    )


def _bilstm_attention(
    settings: TrainingSettings, tokenizer: PreTrainedTokenizerFast, classes: dict[str, Any]
) -> PreTrainedModel:
    """Return a BiLSTM with attention, for pairs if ``classes`` says so. Words with a vector in the settings' file start
    with it.

    The configuration has their number as ``words_with_vectors``.
    """
    from explainlab.models.networks.bilstm_attention import (
        BiLSTMAttentionConfig,
        BiLSTMAttentionForSequenceClassification,
    )

    ids = tokenizer.get_vocab()
    words = ids.keys() - set(tokenizer.all_special_tokens)
    vectors = read_vectors(settings.embeddings, words) if settings.embeddings else {}
    network = BiLSTMAttentionForSequenceClassification(
        BiLSTMAttentionConfig(
            vocab_size=len(tokenizer),
            embedding_size=len(next(iter(vectors.values()))) if vectors else settings.embedding_size,
            hidden_size=settings.width,
            attention_size=settings.width // 2,
            second_text=bool(classes.get(OF_PAIRS)),
            decoder=settings.decoder,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            mask_token_id=tokenizer.mask_token_id,
            **classes,
        )
    )
    if vectors:
        network.config.words_with_vectors = len(vectors)
    with torch.no_grad():
        for word, vector in vectors.items():
            network.encoder.words.weight[ids[word]] = torch.from_numpy(vector)
    return network


def _sized(train: Callable[[Sequence[str], int, int], PreTrainedTokenizerFast]) -> _Tokenizing:
    """Return a trainer for a tokenizer of the settings' size."""
    return lambda texts, settings: train(texts, settings.vocabulary, settings.max_tokens)


ARCHITECTURES = {
    "bert": NewModel(_sized(train_wordpiece), _bert, causal=False, defaults={}),
    "gpt2": NewModel(
        _sized(train_byte_bpe),
        _gpt2,
        causal=True,
        defaults={"epochs": 3, "batch_size": 32, "learning_rate": 8e-4, "width": 192, "heads": 6, "max_tokens": 256},
    ),
    "t5_encoder": NewModel(
        _sized(train_untyped_wordpiece), _t5_encoder, causal=False, defaults=SHAPES["tiny"], version=2
    ),
    "bilstm_attention": NewModel(
        lambda texts, settings: train_words(texts, settings.vocabulary, settings.max_tokens, settings.min_count),
        _bilstm_attention,
        causal=False,
        defaults={"vocabulary": 50_000, "max_tokens": 512},
        unused=("size", "layers", "heads", "dropout", "prompt"),
        recipe="bilstm",
    ),
}
"""The architectures of models with random weights."""
