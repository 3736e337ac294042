"""BiLSTM-attention models made here: their words, their initial weights, their training, and how it continues."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from explainlab import explain
from explainlab.errors import Cancelled, DataError, RequestError
from explainlab.models.loading import load_model
from explainlab.training import Examples, settings_for, train
from explainlab.training.architectures import read_vectors, train_words
from explainlab.training.start import starting_point
from tests.tiers import first
from tests.training.test_train import NAMES, sentences

BASE = "bilstm_attention"
SMALL = {"width": 16, "embedding_size": 12, "learning_rate": 0.02, "batch_size": 10}


def test_its_words_are_unicodes_in_lower_case_with_their_places() -> None:
    tokenizer = train_words(["Isn't 3.14 NICE, isn't it?", "nice 3.14 naïve"], 100, 32, min_count=2)
    text = "Isn't  Nice 3.14\u00a0😀 naïve"
    read = tokenizer(text, return_offsets_mapping=True)
    words = tokenizer.convert_ids_to_tokens(read["input_ids"])
    assert words == ["[BOS]", "isn't", "nice", "3.14", "[UNK]", "[UNK]", "[EOS]"]
    assert [text[start:end] for start, end in read["offset_mapping"]][1:-1] == text.split()
    assert len(train_words(["a a b b c c"], 7, 32)) == 7


def test_it_learns_keeps_the_word_that_tells_in_sight_and_runs_again_to_the_same_weights(tmp_path: Path) -> None:
    settings = settings_for(BASE, **SMALL, epochs=4)
    told = train(sentences(), BASE, tmp_path / "a", settings, held_out=sentences(40, seed=1))
    assert told.accuracy == 1.0
    assert (told.words, told.words_with_vectors) == (None, None)
    model = load_model(str(tmp_path / "a"), device="cpu")
    assert model.labels == NAMES
    result = explain(model, "the film with lovely actors", "integrated_gradients")
    assert result.features[int(np.abs(result.scores).argmax())].text == "lovely"
    with pytest.raises(Cancelled):
        train(sentences(), BASE, tmp_path / "b", settings, checkpoints=tmp_path / "c", report=stop_in_the_third)
    train(sentences(), BASE, tmp_path / "b", settings, checkpoints=tmp_path / "c")
    for file in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def stop_in_the_third(done: int, total: int, phase: str) -> None:
    if phase == "training" and done > 0.6 * total:
        raise Cancelled


@pytest.mark.parametrize("decoder", first(["plain"], ["plain", "reference"], "trains twenty epochs"))
def test_it_learns_from_both_texts_of_a_pair(decoder: str, tmp_path: Path) -> None:
    """Train on pairs whose second text names the word of the first text that decides the class."""
    words = {"lovely": "positive", "dull": "negative"}
    asked = [(film, plot, about) for film in words for plot in words for about in ("film", "plot")] * 10
    labels = [words[film if about == "film" else plot] for film, plot, about in asked]
    firsts = [f"a {film} film and a {plot} plot" for film, plot, _ in asked]
    pairs = Examples(firsts, labels, [f"the {about}" for _, _, about in asked])
    settings = settings_for(BASE, **SMALL, epochs=20, decoder=decoder)
    assert train(pairs, BASE, tmp_path / "out", settings, held_out=pairs).accuracy == 1.0
    assert load_model(str(tmp_path / "out"), device="cpu").pairs


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_words_with_a_vector_begin_there(header: str, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text(f"{header}film 0.5 -1\nlovely 2 1e-1\nfilm 7 7\nabsent 1 1\n[MASK] 1 1\n", encoding="utf-8")
    settings = settings_for(BASE, **SMALL, embeddings=str(file), epochs=1)
    start = starting_point(BASE, sentences(), NAMES, settings)
    words = start.network.get_input_embeddings().weight
    ids = start.tokenizer.get_vocab()
    torch.testing.assert_close(words[[ids["film"], ids["lovely"]]], torch.tensor([[0.5, -1], [2, 0.1]]))
    assert not words[ids["[MASK]"]].any()
    assert words.shape == (len(ids), 2)
    told = train(sentences(), BASE, tmp_path / "out", settings)
    assert (told.words, told.words_with_vectors) == (len(ids), 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"film 1 2\nplot 1\n", "Line 2 of .* has 1 numbers, not 2"),
        (b"film 1 two\n", "Line 1 of .* something else than finite numbers"),
        (b"film 1 nan\n", "Line 1 of .* something else than finite numbers"),
        (b"film\n", "Line 1 of .* has 0 numbers, not any"),
        (b"absent 1 2\n", "No word of the texts has a vector"),
        (b"film \xff 1\n", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_files_that_are_no_vectors_are_refused(content: bytes | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_vectors(str(file), {"film", "plot"})


@pytest.mark.parametrize(("base", "setting"), [(BASE, "layers"), (BASE, "size"), ("bert", "min_count")])
def test_settings_of_others_are_refused(base: str, setting: str) -> None:
    with pytest.raises(RequestError, match=f"Training setting {setting}: {base} has no such thing"):
        settings_for(base, **{setting: 2})


def test_its_recipe_is_that_of_the_paper() -> None:
    settings = settings_for(BASE)
    assert (settings.recipe, settings.optimizer, settings.learning_rate) == ("bilstm", "amsgrad", 1e-3)
    assert (settings.batch_size, settings.epochs, settings.weight_decay, settings.mask_share) == (32, 8, 1e-5, 0)
    assert (settings.width, settings.embedding_size, settings.min_count) == (256, 300, 2)
