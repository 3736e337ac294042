"""Training from scratch: the saved model loads, has learned, is reproducible, reads prefixes; and errors."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from explainlab.errors import Cancelled, DataError, ModelError, RequestError
from explainlab.limits import Limits
from explainlab.training import Examples, Trained, settings_for, train
from explainlab.training.passes import masked, padded, position_weights, shuffled_batches
from tests.models.test_modes import MODES
from tests.tiers import first

TINY = {"epochs": 8, "batch_size": 10, "learning_rate": 5e-3, "layers": 1, "width": 32, "heads": 2, "vocabulary": 300}
NAMES = ("negative", "positive")
ARCHITECTURES = first(["bert", "gpt2"], ["bert", "gpt2", "t5_encoder"], "trains another model")


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Matrices this small only lose by being shared out."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def sentences(count: int = 60, seed: int = 0) -> Examples:
    """Sentences whose every third word tells their class, and these classes' names."""
    draw = random.Random(seed)
    words = {"negative": ["dull", "awful", "boring"], "positive": ["bright", "lovely", "moving"]}
    filler = ["the", "film", "plot", "with", "actors", "scene", "and"]
    labels = [NAMES[i % 2] for i in range(count)]
    texts = [
        " ".join(draw.choice(words[label] if i % 3 == 0 else filler) for i in range(draw.randint(4, 12)))
        for label in labels
    ]
    return Examples(texts, labels)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Trained]:
    """Train one tiny model of each architecture; return its name, its directory and the record of its training."""
    out = tmp_path_factory.mktemp("trained") / request.param
    settings = settings_for(request.param, **TINY)
    return request.param, out, train(sentences(), request.param, out, settings, held_out=sentences(40, seed=1))


def test_learns_and_tells(trained: tuple[str, Path, Trained]) -> None:
    _, out, told = trained
    assert told.accuracy > 0.9
    assert told.steps == 8 * 6
    model = AutoModelForSequenceClassification.from_pretrained(out, dtype=torch.float32)
    assert told.parameters == sum(p.numel() for p in model.parameters())
    assert not list(out.parent.glob(".training-*"))


def test_t5_learns_at_the_usual_rate(tmp_path: Path) -> None:
    """With T5's own large word table it hardly does: its accuracy is 0.75."""
    few = {"epochs": 4, "batch_size": 16, "layers": 1, "width": 64, "heads": 2, "vocabulary": 300}
    settings = settings_for("t5_encoder", **few)
    told = train(sentences(400), "t5_encoder", tmp_path / "t5", settings, held_out=sentences(100, seed=1))
    assert told.accuracy > 0.95


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "autocast", "float64 by default"])
@pytest.mark.parametrize("architecture", ["bert", "bilstm_attention"])
def test_the_same_weights_whatever_the_modes_of_the_program(architecture: str, mode: str, tmp_path: Path) -> None:
    tiny = {**TINY, "epochs": 1} if architecture == "bert" else {"epochs": 1}
    settings = settings_for(architecture, **tiny)
    train(sentences(20), architecture, tmp_path / "plain", settings)
    with MODES[mode]():
        train(sentences(20), architecture, tmp_path / "inside", settings)
    plain, inside = (load_file(tmp_path / name / "model.safetensors") for name in ("plain", "inside"))
    assert plain.keys() == inside.keys()
    assert all(torch.equal(plain[name], inside[name]) for name in plain)
    assert torch.float64 not in {weight.dtype for weight in inside.values()}


def test_loads_with_auto_classes(trained: tuple[str, Path, Trained]) -> None:
    _, out, _ = trained
    model = AutoModelForSequenceClassification.from_pretrained(out, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(out)
    assert model.config.id2label == dict(enumerate(NAMES))
    assert model.config.label2id == {name: i for i, name in enumerate(NAMES)}
    assert model.config.pad_token_id == tokenizer.pad_token_id
    assert tokenizer.model_max_length == settings_for(trained[0]).max_tokens
    assert len(tokenizer) == model.config.vocab_size
    assert tokenizer.mask_token_id in tokenizer(f"a {tokenizer.mask_token} film")["input_ids"]
    assert tokenizer(["a film with actors", "film"], padding=True)["attention_mask"][1][-1] == 0
    held = sentences()
    for text, label in zip(held.texts[:10], held.labels, strict=False):
        logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
        assert model.config.id2label[int(logits.argmax())] == label


def test_offsets_point_into_the_text(trained: tuple[str, Path, Trained]) -> None:
    text = "Lovely film, dull plot."
    tokenizer = AutoTokenizer.from_pretrained(trained[1])
    offsets = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"]
    assert "".join(text[start:end] for start, end in offsets).replace(" ", "") == text.replace(" ", "")


def test_decoder_reads_every_prefix(trained: tuple[str, Path, Trained]) -> None:
    architecture, _, told = trained
    if architecture != "gpt2":
        assert told.prefix_accuracy == {}
    else:
        assert list(told.prefix_accuracy) == [0.25, 0.5, 0.75, 1.0]
        assert min(told.prefix_accuracy.values()) > 0.8


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_same_seed_same_files(architecture: str, tmp_path: Path) -> None:
    settings = settings_for(architecture, **TINY | {"epochs": 1})
    before = torch.random.get_rng_state()
    for name in ("a", "b"):
        train(sentences(), architecture, tmp_path / name, settings)
    other = settings.model_copy(update={"seed": 1})
    train(sentences(), architecture, tmp_path / "c", other)
    assert torch.equal(torch.random.get_rng_state(), before)
    for file in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "ac"]
    assert weights[0] != weights[1]


def test_imitates_a_teacher(trained: tuple[str, Path, Trained], tmp_path: Path) -> None:
    """With nothing but the teacher to go by, the student learns the classes although its labels are shuffled."""
    given = sentences()
    settings = settings_for("bert", **TINY, label_names="positive,negative", teacher=str(trained[1]), distillation=1.0)
    shuffled = Examples(given.texts, given.labels[::-1])
    told = train(shuffled, "bert", tmp_path / "student", settings, held_out=given)
    assert told.accuracy > 0.9
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "student")
    assert model.config.id2label == {0: "positive", 1: "negative"}


def test_labels_may_be_indices(tmp_path: Path) -> None:
    given = sentences(20)
    indices = [str(NAMES.index(label)) for label in given.labels]
    for name, labels in (("names", given.labels), ("indices", indices)):
        settings = settings_for("bert", **TINY | {"epochs": 1}, label_names=NAMES)
        train(Examples(given.texts, labels), "bert", tmp_path / name, settings)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("names", "indices")]
    assert weights[0] == weights[1]


def test_batches_hold_every_text_once_and_likes_together() -> None:
    ids = [[0] * (1 + i % 10) for i in range(95)]
    batches = list(shuffled_batches(ids, 8, torch.Generator().manual_seed(0)))
    assert sorted(row for rows in batches for row in rows) == list(range(95))
    assert all(len(ids[rows[-1]]) - len(ids[rows[0]]) <= 1 for rows in batches)


def test_padding_weights_and_masks() -> None:
    inputs, attention = padded([[5, 6, 7], [8]], pad=0)
    assert inputs.tolist() == [[5, 6, 7], [8, 0, 0]]
    assert attention.tolist() == [[1, 1, 1], [1, 0, 0]]
    weights = position_weights(attention, 0.6)
    assert torch.allclose(weights, torch.tensor([[0.2, 0.2, 0.6], [1.0, 0, 0]]))
    generator = torch.Generator().manual_seed(0)
    many, content = inputs[:1].expand(2000, 3), torch.tensor([[True, True, False]]).expand(2000, 3)
    ordinary = masked(many, content, 1, settings_for("bert", mask_share=0.2, heavy_mask=0), generator)
    heavy = masked(many, content, 1, settings_for("bert", heavy_mask=1), generator)
    assert (ordinary == 1).float().mean(0).tolist() == pytest.approx([0.1, 0.1, 0], abs=0.02)
    assert (heavy == 1).float().mean(0).tolist() == pytest.approx([0.5, 0.5, 0], abs=0.04)


@pytest.mark.parametrize(
    ("texts", "labels", "names", "message"),
    [
        ([], [], (), "0 texts"),
        (["a film", "b"], ["x"], (), "2 texts with 1 labels"),
        (["a film", "b"], ["x", "x"], (), "fewer than two"),
        (["a film", "b"], ["x", "x"], ("x", "y"), "fewer than two"),
        (["a film", " "], ["x", "y"], (), "row 2 is empty"),
        (["a film", "b"], ["x", "z"], ("x", "y"), "unknown label 'z'"),
    ],
)
def test_refuses_bad_data(texts: list, labels: list, names: tuple, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        train(Examples(texts, labels), "bert", tmp_path / "out", settings_for("bert", label_names=names))
    assert not list(tmp_path.iterdir())


def test_refuses_bad_requests(trained: tuple[str, Path, Trained], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="There is no model 'lstm'"):
        train(sentences(), "lstm", tmp_path / "out")
    with pytest.raises(RequestError, match="not empty"):
        train(sentences(), "bert", trained[1])
    settings = settings_for("bert", label_names="0,1", teacher=str(trained[1]))
    with pytest.raises(RequestError, match="teacher's classes"):
        train(Examples(sentences().texts, ["0", "1"] * 30), "bert", tmp_path / "out", settings)
    with pytest.raises(ModelError):
        train(sentences(), "bert", tmp_path / "out", settings_for("bert", teacher=str(tmp_path / "none")))


@pytest.mark.parametrize(
    ("given", "message"),
    [({"epochs": 0}, "epochs"), ({"colour": 1}, "colour"), ({"width": 30, "heads": 4}, "no multiple of heads")],
)
def test_refuses_bad_settings(given: dict, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        settings_for("bert", **given)


def test_cancelling_leaves_nothing_behind(tmp_path: Path) -> None:
    def report(done: int, total: int, phase: str) -> None:
        if phase == "evaluation":
            raise Cancelled

    settings = settings_for("bert", **TINY | {"epochs": 1})
    with pytest.raises(Cancelled):
        train(sentences(), "bert", tmp_path / "out", settings, held_out=sentences(), report=report)
    assert not list(tmp_path.iterdir())


def test_refuses_more_work_than_the_longest_job_does(tmp_path: Path) -> None:
    """The default network reads 60 texts 1,000 times in about four minutes of a core."""
    settings, phases = settings_for("bert", epochs=1000, vocabulary=300), set[str]()
    limits = Limits(max_job_seconds=60, changed_by="whoever runs this instance")
    with pytest.raises(RequestError) as refused:
        train(
            sentences(),
            "bert",
            tmp_path / "out",
            settings,
            limits=limits,
            report=lambda done, total, phase: phases.add(phase),
        )
    assert re.fullmatch(r"This training would take about \d{3} s\.", refused.value.problem)
    assert "fewer epochs, rows or tokens" in refused.value.remedy
    assert "EXPLAINLAB_MAX_JOB_SECONDS" in refused.value.remedy
    assert phases == {"tokenizer"}, "before the first step"
    train(sentences(), "bert", tmp_path / "out", settings_for("bert", **TINY), limits=limits)
