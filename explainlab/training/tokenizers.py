"""Tokenizers learned from the training texts: WordPiece for encoders, byte-level BPE for decoders, whole words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

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

    Words are what lies between Unicode's word boundaries (UAX 29). Those seen fewer than ``min_count`` times are
    ``[UNK]``; of the others the ``vocabulary`` most frequent, special tokens included, have a row of their own.
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
