"""Tokenizers read by their own file, and segments of pairs come from their template."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, normalizers, pre_tokenizers

from explainlab.errors import ModelError
from explainlab.models.loading import load_model
from explainlab.models.reading import read_all
from explainlab.models.reading_warnings import reading_warnings
from explainlab.models.stored.base import load_base
from explainlab.models.stored.tokenizer import _in_file
from explainlab.models.stored.weights import _numbers_asked
from tests.zoo import LABELS, build, model_of, tokenizer_of

TEXT, SECOND = "A FUNNY film", "it isn't good"


def remade(folder: Path, name: str, kind: str, normalizer: object = None, pre_tokenizer: object = None) -> Path:
    """Save the tiny model called ``name`` whose tokenizer of class ``kind`` has these parts in its file."""
    build(name, folder)
    core = Tokenizer.from_file(str(folder / "tokenizer.json"))
    core.normalizer = core.normalizer if normalizer is None else normalizer
    core.pre_tokenizer = core.pre_tokenizer if pre_tokenizer is None else pre_tokenizer
    core.save(str(folder / "tokenizer.json"))
    options = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(options | {"tokenizer_class": kind}))
    return folder


@pytest.mark.parametrize(
    ("name", "kind", "normalizer", "pre_tokenizer"),
    [
        ("bert", "BertTokenizerFast", normalizers.Lowercase(), pre_tokenizers.WhitespaceSplit()),
        ("bert", "BertTokenizer", normalizers.NFC(), None),
        ("distilbert", "BertTokenizer", None, pre_tokenizers.WhitespaceSplit()),
        ("electra", "BertTokenizer", normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()]), None),
        ("roberta", "RobertaTokenizer", normalizers.Lowercase(), None),
        ("gpt2", "GPT2Tokenizer", normalizers.Replace("N", "n"), None),
    ],
)
def test_parts_of_another_kind_are_the_file_s(
    name: str, kind: str, normalizer: object, pre_tokenizer: object, tmp_path: Path
) -> None:
    remade(tmp_path, name, kind, normalizer, pre_tokenizer)
    expected = Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(TEXT)
    classifier = load_model(str(tmp_path), device="cpu")
    own = classifier.encode(TEXT)
    assert list(own.pieces) == expected.tokens
    (reading,) = read_all(classifier, [(TEXT, None)])
    assert list(reading.ids) == expected.ids
    classes = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
    assert load_base(str(tmp_path), classes).tokenizer(TEXT)["input_ids"] == expected.ids
    (note,) = classifier.notes
    assert note.endswith("texts are read by the file.")
    assert note in reading_warnings(classifier, own, None)


@pytest.mark.parametrize(
    ("name", "kind", "normalizer", "pre_tokenizer"),
    [
        ("bert", "BertTokenizer", normalizers.BertNormalizer(lowercase=False, strip_accents=False), None),
        ("roberta", "RobertaTokenizer", None, pre_tokenizers.ByteLevel(add_prefix_space=True)),
    ],
)
def test_options_of_the_same_part_are_those_of_transformers(
    name: str, kind: str, normalizer: object, pre_tokenizer: object, tmp_path: Path
) -> None:
    remade(tmp_path, name, kind, normalizer, pre_tokenizer)
    classifier = load_model(str(tmp_path), device="cpu")
    own = classifier.encode(TEXT)
    assert list(own.pieces) != Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode(TEXT).tokens
    (note,) = classifier.notes
    assert note.endswith("texts are read as transformers does.")


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    folder = remade(tmp_path, "bert", "BertTokenizer", normalizers.NFC())
    load_model(str(folder), device="cpu")
    read, counted = _in_file.cache_info().misses, _numbers_asked.cache_info().misses
    kept = load_model(str(folder), device="cpu").encode(TEXT).pieces
    assert (_in_file.cache_info().misses, _numbers_asked.cache_info().misses) == (read, counted)
    remade(tmp_path, "bert", "BertTokenizer", normalizers.Lowercase())
    changed = load_model(str(folder), device="cpu").encode(TEXT).pieces
    assert list(changed) == Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).tokens != list(kept)


@pytest.mark.parametrize("name", ["bert", "roberta", "t5", "gpt2", "llama", "qwen3"])
def test_a_generic_tokenizer_is_its_file(name: str, tmp_path: Path) -> None:
    assert load_model(str(build(name, tmp_path)), device="cpu").notes == ()


@pytest.mark.parametrize("name", ["bert", "electra", "albert"])
def test_segments_of_a_pair_are_those_of_the_template(name: str, tmp_path: Path) -> None:
    network, tokenizer = model_of(name), tokenizer_of(name)
    tokens = tokenizer(TEXT, SECOND, return_tensors="pt", return_token_type_ids=True)
    assert tokens["token_type_ids"].any()
    with torch.no_grad():
        expected = network(**tokens).logits.softmax(-1)[0].tolist()
    stored = load_model(str(build(name, tmp_path)), device="cpu")
    for classifier in (stored, load_model(network, tokenizer=tokenizer)):
        encoding = classifier.encode(TEXT, SECOND)
        assert list(classifier.predict(encoding).probabilities.values()) == pytest.approx(expected, abs=1e-5)
        (reading,) = read_all(classifier, [(TEXT, SECOND)])
        assert list(reading.types) == encoding.types.tolist() == tokens["token_type_ids"][0].tolist()
        assert ["segment 1" in note for note in reading_warnings(classifier, encoding, None)] == [True]
        assert reading_warnings(classifier, classifier.encode(TEXT), None) == []
    assert "token_type_ids" not in tokenizer.model_input_names, "the tokenizer in memory stays as it was"


@pytest.mark.parametrize("name", ["distilbert", "roberta", "modernbert"])
def test_a_network_without_segments_is_asked_for_none(name: str, tmp_path: Path) -> None:
    classifier = load_model(str(build(name, tmp_path)), device="cpu")
    assert "token_type_ids" not in classifier.tokenizer.model_input_names
    assert reading_warnings(classifier, classifier.encode(TEXT, SECOND), None) == []


def test_a_tokenizer_that_cannot_cut_a_text_is_refused(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    """Its model of word pieces names a piece for unknown words that its vocabulary lacks."""
    folder = Path(shutil.copytree(zoo_path("bert"), tmp_path / "model"))
    file = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = file["model"]["vocab"]
    vocabulary["other"] = vocabulary.pop(file["model"]["unk_token"])
    file["added_tokens"] = []
    (folder / "tokenizer.json").write_text(json.dumps(file))
    with pytest.raises(ModelError, match="cannot cut a text"):
        load_model(str(folder), device="cpu")


def test_a_type_without_segments_may_have_any_word_for_them(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(zoo_path("gpt2"), tmp_path / "model"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"type_vocab_size": "two"}))
    whole, odd = (load_model(str(path), device="cpu") for path in (zoo_path("gpt2"), folder))
    text = odd.encode("a good film")
    assert odd.predict(text).probabilities == whole.predict(text).probabilities
