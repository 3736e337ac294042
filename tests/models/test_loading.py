"""Loading: every kind of bad model is refused with one clear line, and the digest knows the very files."""

from __future__ import annotations

import copy
import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer, BertConfig, BertForMaskedLM

from explainlab.attribution.explain import explain
from explainlab.errors import MemoryShortage, ModelError, RequestError, UnsupportedError
from explainlab.models import loading
from explainlab.models.classifier import Classifier
from explainlab.models.loading import (
    describe,
    in_dtype,
    known_digest,
    load_model,
    model_digest,
    model_name,
    outline,
)
from explainlab.models.stored.base import load_base
from explainlab.models.stored.places import embedded_models, locate
from explainlab.testing.observation import unchanged
from tests.conftest import Zoo
from tests.tiers import first
from tests.toys import with_network
from tests.zoo import LABELS, RECURRENT, ZOO, build, model_of


@pytest.fixture
def folder(zoo_path: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of the tiny BERT that a test may break."""
    return Path(shutil.copytree(zoo_path("bert"), tmp_path / "model"))


def _configure(folder: Path, **values: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def _refused(model_id: str | Path, pattern: str) -> None:
    """Loading fails with one line that holds ``pattern`` and a remedy or a reason."""
    with pytest.raises(ModelError, match=pattern) as caught:
        load_model(str(model_id), device="cpu")
    assert "\n" not in str(caught.value)


# Accepted models -----------------------------------------------------------------------------------------------------


def test_a_directory(classifier: Classifier) -> None:
    assert classifier.source == "directory"
    assert classifier.labels == LABELS
    assert classifier.model.network.config.model_type in {species.model_type for species in ZOO.values()}
    assert classifier.max_tokens == 48
    card = describe(classifier.id)
    assert (card.architecture, card.labels, card.source) == (classifier.architecture, LABELS, "directory")


def test_a_card_follows_the_files(zoo_path, tmp_path: Path) -> None:
    folder = shutil.copytree(zoo_path("bert"), tmp_path / "model")
    assert describe(str(folder)).labels == LABELS
    config = json.loads((folder / "config.json").read_text())
    config["id2label"]["0"] = "other"
    (folder / "config.json").write_text(json.dumps(config))
    assert describe(str(folder)).labels == ("other", *LABELS[1:])


def test_embedded_models_load() -> None:
    for model_id in embedded_models():
        classifier = load_model(model_id, device="cpu")
        assert classifier.source == "embedded"
        assert len(describe(model_id).labels) == len(classifier.labels) >= 2
        assert classifier.predict(classifier.encode("A stirring, funny film.")).label in classifier.labels


@pytest.mark.parametrize("model", ["embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"])
def test_an_outline_reads_texts_as_the_model_does_and_has_no_weights(model: str) -> None:
    unread, loaded = outline(model), load_model(model)
    assert unread is not None
    assert unread.encode("A film.").ids.tolist() == loaded.encode("A film.").ids.tolist()
    assert (unread.labels, unread.model.depth) == (loaded.labels, loaded.model.depth)
    assert all(own.is_meta for own in unread.model.network.parameters())


def test_a_hub_model_that_is_not_here_has_no_outline() -> None:
    assert outline("nobody/no-such-model") is None


def test_weights_stored_as_float16_are_computed_in_float32(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    halves = {name: weight.half() for name, weight in weights.items()}
    save_file(halves, folder / "model.safetensors", {"format": "pt"})
    _configure(folder, dtype="float16")
    assert load_model(str(folder), device="cpu").dtype == torch.float32
    assert load_model(str(folder), device="cpu", dtype="bfloat16").dtype == torch.bfloat16


def test_a_tokenizer_without_a_limit_reads_what_the_positions_hold(folder: Path) -> None:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": 10**30}))
    classifier = load_model(str(folder), device="cpu")
    assert classifier.max_tokens == 48
    assert classifier.encode("film " * 100).cut == 54


def test_a_model_without_any_limit_reads_everything(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(zoo_path("t5"), tmp_path / "model"))
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": 10**30}))
    assert load_model(str(folder), device="cpu").encode("film " * 100).cut == 0


# Names -------------------------------------------------------------------------------------------------------------


def test_an_unknown_embedded_model_names_the_nearest() -> None:
    near = embedded_models()[:1]
    _refused(near[0][:-1] if near else "embedded:nothing", rf"no embedded model.*{near[0] if near else 'Did you mean'}")


@pytest.mark.parametrize(
    "model_id",
    ["", "bert", "a/b/c", "/no/such/folder", "./missing", "~/missing", "~no-such-user/missing", "a\\b", "a b/c",
     "-a/b--c", "a/b\0c", pytest.param("x" * 5000, id="long"), pytest.param("owner/" + "x" * 5000, id="long name"),
     "embedded:", "embedded:../models", "https://huggingface.co/a/b"],
)  # fmt: skip
def test_malformed_names(model_id: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    _refused(model_id, "no model|not a model id|no embedded model|no config.json")


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    _refused("explainlab-tests/not-here", "hub cannot be reached and explainlab-tests/not-here is not stored here")
    assert describe("explainlab-tests/not-here") is None
    assert known_digest("explainlab-tests/not-here") is None


# Files -------------------------------------------------------------------------------------------------------------


def test_a_directory_without_configuration(tmp_path: Path) -> None:
    _refused(tmp_path, "has no config.json.*save_pretrained")


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"bert"', "{}", '{"model_type": 7}', "\xff\xfe"])
def test_a_corrupt_configuration(folder: Path, content: str) -> None:
    (folder / "config.json").write_bytes(content.encode("latin-1"))
    _refused(folder, "configuration of .* cannot be read")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id2label": {"0": "bad", "5": "good"}}, "numbered from 0 without gaps"),
        ({"id2label": {"0": "bad", "-1": "good"}}, "numbered from 0 without gaps"),
        ({"id2label": {str(i): "a" for i in range(150_000)}}, ""),
        ({"id2label": 7}, ""),
        ({"id2label": [1, 2]}, ""),
        ({"architectures": 5}, "names no architecture"),
        ({"architectures": [5]}, "names no architecture"),
        ({"architectures": {"a": 1}}, "names no architecture"),
        ({"num_hidden_layers": 10**6}, "the most is 1,000"),
        ({"model_type": "qwen2", "num_hidden_layers": 10**9}, "the most is 1,000"),
        ({"text_config": {"num_hidden_layers": 10**9}}, "the most is 1,000"),
        ({"num_labels": 10**9, "id2label": None}, "num_labels = 1000000000; the most is 100,000"),
        ({"num_hidden_layers": -1}, ""),
        ({"num_hidden_layers": "many"}, ""),
        ({"vocab_size": 10**12}, "vocab_size of its configuration"),
        ({"hidden_size": 10**9, "num_attention_heads": 1}, "hidden_size of its configuration"),
        ({"intermediate_size": 10**12}, ""),
        ({"max_position_embeddings": 10**12}, "the most is 16,777,216"),
        ({"max_position_embeddings": -1}, "does not say how many tokens"),
        ({"max_position_embeddings": ["a"]}, ""),
        ({"hidden_size": [[1], 2]}, ""),
        ({"type_vocab_size": ["a"]}, ""),
        ({"num_attention_heads": 0}, ""),
        ({"hidden_act": "exec"}, ""),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_hostile_configuration_is_refused(folder: Path, changes: dict[str, Any], problem: str) -> None:
    _configure(folder, **changes)
    _refused(folder, problem)


@pytest.mark.parametrize("changes", [{"return_dict": False}, {"chunk_size_feed_forward": 2}])
def test_a_configuration_does_not_change_how_layers_are_run(folder: Path, changes: dict[str, Any]) -> None:
    expected = load_model(str(folder), device="cpu")
    expected = expected.predict(expected.encode("a good film"))
    _configure(folder, **changes)
    classifier = load_model(str(folder), device="cpu")
    assert classifier.predict(classifier.encode("a good film")) == expected


@pytest.mark.parametrize("most", ["many", [1], -1, 0])
def test_a_tokenizer_that_does_not_say_how_many_tokens_it_reads(folder: Path, most: Any) -> None:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_max_length": most}))
    _refused(folder, "does not say how many tokens it reads")


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "model.safetensors", "more.txt", "chat_template.jinja"]
)
def test_pipes_and_devices_are_not_opened(folder: Path, name: str) -> None:
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    for ask in (describe, known_digest, model_digest, lambda model_id: load_model(model_id, device="cpu")):
        with pytest.raises(ModelError, match="has no config.json" if name == "config.json" else f"{name} of .* cannot"):
            ask(str(folder))


@pytest.mark.parametrize("form", ["folder", "dangling", "endless", "huge"])
def test_files_that_are_no_ordinary_ones(folder: Path, form: str) -> None:
    path = folder / "added.json"
    if form == "folder":
        path.mkdir()
    elif form == "huge":
        path.touch()
        os.truncate(path, 17 * 2**20)
    else:
        path.symlink_to("nowhere" if form == "dangling" else "/dev/zero")
    with pytest.raises(ModelError, match="larger than 16 MB" if form == "huge" else "added.json of .* cannot be read"):
        model_digest(str(folder))


def test_an_adapter_nested_too_deeply(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("[" * 200_000)
    _refused(folder, "does not name the model that it changes")


def test_an_unsupported_model_type(folder: Path) -> None:
    config = {"model_type": "xlnet", "architectures": ["XLNetForSequenceClassification"]}
    (folder / "config.json").write_text(json.dumps(config))
    _refused(folder, "type 'xlnet' are not supported.*bert")


def test_a_model_type_nobody_knows(folder: Path) -> None:
    _configure(folder, model_type="no-such-type")
    _refused(folder, "cannot be read|not supported")


def test_pickled_weights_are_not_read(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    _refused(folder, "no safetensors weights.*pickled")


def test_damaged_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    _refused(folder, "cannot be loaded")


def test_a_directory_without_tokenizer(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()
    _refused(folder, "no tokenizer that can be read.*save_pretrained")


def test_a_damaged_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")
    _refused(folder, "no tokenizer that can be read")


def test_a_tokenizer_with_more_tokens_than_the_model(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["zebra"])
    tokenizer.save_pretrained(folder)
    _refused(folder, r"tokenizer of .* has \d+ tokens, its model only \d+")


# Heads -------------------------------------------------------------------------------------------------------------


def test_a_model_without_head(folder: Path) -> None:
    AutoModel.from_pretrained(folder).save_pretrained(folder)
    _refused(folder, "BertModel, not a classifier")


def test_a_model_with_another_head(folder: Path) -> None:
    BertForMaskedLM(BertConfig.from_pretrained(folder)).save_pretrained(folder)
    _refused(folder, "BertForMaskedLM, not a classifier")


def test_missing_weights_of_the_head_are_named(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    kept = {name: weight for name, weight in weights.items() if not name.startswith("classifier")}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    _refused(folder, "lacks trained weights for classifier.bias, classifier.weight")


@pytest.mark.parametrize(
    "name", first(["bert", "gpt2", "t5"], [name for name in ZOO if name not in ("albert", *RECURRENT)], "other models")
)
def test_layers_that_the_configuration_leaves_out_are_named(
    name: str, zoo_path: Callable[[str], Path], tmp_path: Path
) -> None:
    """Without its last layer a model says something else, and transformers only logs that it left it out."""
    shutil.copytree(zoo_path(name), tmp_path, dirs_exist_ok=True)
    fields = json.loads((tmp_path / "config.json").read_text())
    key = next(own for own in ("num_hidden_layers", "num_layers", "n_layer", "n_layers") if own in fields)
    fewer = {key: fields[key] - 1} | ({"layer_types": fields["layer_types"][:-1]} if "layer_types" in fields else {})
    _configure(tmp_path, **fewer)
    _refused(tmp_path, r"layers that its configuration leaves out, such as .*\.2\.")
    with pytest.raises(ModelError, match="leaves out"):
        load_base(str(tmp_path), {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1}})


def test_what_a_classifier_never_had_may_be_left_over(folder: Path) -> None:
    """Heads of the training before, and positions, which are no weights."""
    before = load_model(str(folder), device="cpu")
    weights = load_file(folder / "model.safetensors")
    other = {"cls.predictions.bias": torch.ones(3), "bert.embeddings.position_ids": torch.arange(9),
             "cls.predictions.transform.dense.weight": torch.ones(2, 2), "extra.0.weight": torch.ones(1)}  # fmt: skip
    save_file({**weights, **other}, folder / "model.safetensors", {"format": "pt"})
    after = load_model(str(folder), device="cpu")
    assert after.predict(after.encode("a film")) == before.predict(before.encode("a film"))


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    _configure(folder, id2label={"0": "a", "1": "b"}, label2id={"a": 0, "b": 1})
    _refused(folder, "classifier|cannot be loaded")


@pytest.mark.parametrize(
    "options",
    [
        {"id2label": {0: "score"}, "label2id": {"score": 0}},
        {"id2label": {0: "score"}, "label2id": {"score": 0}, "problem_type": "regression"},
        {"problem_type": "multi_label_classification"},
        {"problem_type": "regression"},
    ],
)
def test_heads_that_choose_no_class_are_refused(folder: Path, options: dict[str, Any]) -> None:
    model_of("bert", **options).save_pretrained(folder)
    _refused(folder, "does not choose one of several classes.*single-label")


SIGMOID, IDENTITY = "torch.nn.modules.activation.Sigmoid", "torch.nn.modules.linear.Identity"


@pytest.mark.parametrize("version", [3, 4, 6])
@pytest.mark.parametrize(
    ("activation", "told"),
    [(SIGMOID, True), ("films.Curve", True), (IDENTITY, False), ("torch.nn.modules.activation.Softmax", False)],
)
def test_the_activation_of_a_cross_encoder_is_told(folder: Path, version: int, activation: str, told: bool) -> None:
    """Three versions of sentence-transformers write it in three places; probabilities stay the softmax."""
    before = load_model(str(folder), device="cpu")
    _activate(folder, version, activation)
    classifier = load_model(str(folder), device="cpu")
    name = activation.rpartition(".")[2]
    assert [f"applies '{name}'" in note and "softmax" in note for note in classifier.notes] == [True] * told
    assert classifier.predict(classifier.encode("a film")) == before.predict(before.encode("a film"))
    assert classifier.digest != before.digest


@pytest.mark.parametrize("version", [3, 4, 6])
def test_a_single_output_is_refused_with_its_activation(folder: Path, version: int) -> None:
    model_of("bert", id2label={0: "score"}, label2id={"score": 0}).save_pretrained(folder)
    _activate(folder, version, SIGMOID)
    _refused(folder, "a single output, to which sentence-transformers applies 'Sigmoid'")


def test_a_damaged_file_of_sentence_transformers_names_no_activation(folder: Path) -> None:
    for content in ("{", "[]", '{"activation_fn": 3}', '{"activation_fn": null}'):
        (folder / "config_sentence_transformers.json").write_text(content)
        assert load_model(str(folder), device="cpu").notes == ()


def _activate(folder: Path, version: int, activation: str) -> None:
    if version == 6:
        written = {"activation_fn": activation, "model_type": "CrossEncoder"}
        (folder / "config_sentence_transformers.json").write_text(json.dumps(written))
    elif version == 4:
        _configure(folder, sentence_transformers={"activation_fn": activation, "version": "4.1.0"})
    else:
        _configure(folder, sbert_ce_default_activation_function=activation)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["A", "A", "B"], ["A", "A (2)", "B"]),
        (["A", "B", "A"], ["A", "B", "A (2)"]),
        (["A", "A", "A"], ["A", "A (2)", "A (3)"]),
        (["A", "A", "A (2)"], ["A", "A (3)", "A (2)"]),
        (["A", "a", "A "], ["A", "a", "A "]),
        (["", "", "B"], ["", " (2)", "B"]),
    ],
)
def test_classes_of_one_name_stay_apart(folder: Path, written: list[str], read: list[str]) -> None:
    names = {str(number): name for number, name in enumerate(written)}
    _configure(folder, id2label=names, label2id={name: int(number) for number, name in names.items()})
    classifier = load_model(str(folder), device="cpu")
    assert list(classifier.labels) == read == list(describe(str(folder)).labels)
    found = classifier.predict(classifier.encode("a film")).probabilities
    assert list(found) == read
    assert sum(found.values()) == pytest.approx(1)
    result = explain(classifier, "a film", method="occlusion", target=read[2])
    changed = [number for number in range(3) if written[number] != read[number]]
    told = [line for line in result.warnings if "calls its classes" in line]
    for number, line in zip(changed, told, strict=True):
        assert f"class {number} is {read[number]} here" in line
    assert result.target.index == 2


def test_weights_that_are_no_numbers_are_named_at_the_prediction(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    name = "bert.encoder.layer.1.output.dense.weight"
    weights[name][0, 0] = torch.nan
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    classifier = load_model(str(folder), device="cpu")
    with pytest.raises(ModelError, match=f"'{name}' is not finite"):
        classifier.predict(classifier.encode("a film"))


@pytest.mark.parametrize("dtype", ["float99", "nn", "int8", ""])
def test_unknown_dtypes_are_refused(folder: Path, dtype: str) -> None:
    with pytest.raises(RequestError, match="dtype"):
        load_model(str(folder), device="cpu", dtype=dtype)


# Digests -----------------------------------------------------------------------------------------------------------


def test_a_copy_has_the_same_digest(folder: Path, zoo: Zoo) -> None:
    assert model_digest(str(folder)) == zoo("bert").digest == known_digest(str(folder))
    (folder / "README.md").write_text("not read by the model")
    assert model_digest(str(folder)) == zoo("bert").digest


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_the_digest_knows_every_file(folder: Path, zoo: Zoo, name: str) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:-1] + b" ")
    assert model_digest(str(folder)) != zoo("bert").digest


def test_different_models_have_different_digests(zoo: Zoo) -> None:
    assert len({zoo(name).digest for name in ZOO}) == len(ZOO)


def test_real_models_load(shared_models: Path) -> None:
    classifier = load_model(str(shared_models / "minilm-sst2"), device="cpu")
    assert classifier.predict(classifier.encode("a stirring, funny film")).index == 1
    assert locate(classifier.id)[1] == "directory"


@pytest.mark.parametrize(
    ("model_id", "name"),
    [
        ("embedded:bert-mini-sst2", "bert-mini-sst2"),
        ("/home/ann/models/mine", "mine"),
        ("./mine", "mine"),
        ("textattack/bert-base-uncased-SST-2", "textattack/bert-base-uncased-SST-2"),
        ("completion:sst2:/home/ann/gpt2", "gpt2 (sst2)"),
    ],
)
def test_readers_call_a_model_by_its_name(model_id: str, name: str) -> None:
    assert model_name(model_id) == name


# Another number format -----------------------------------------------------------------------------------------------


def test_the_same_model_in_another_number_format(zoo: Zoo) -> None:
    classifier = zoo("bert")
    with unchanged(classifier, "loading another"):
        half = in_dtype(classifier, "bfloat16")
    assert (half.dtype, half.digest, half.labels) == (torch.bfloat16, classifier.digest, classifier.labels)
    pairs = zip(classifier.model.network.parameters(), half.model.network.parameters(), strict=True)
    assert all(torch.equal(own.bfloat16(), rounded) for own, rounded in pairs)


def test_weights_in_few_bits_or_on_several_devices_have_no_other_format(zoo: Zoo) -> None:
    def changed(change: Callable[[Any], object]) -> Classifier:
        network = copy.deepcopy(zoo("bert").model.network)
        change(network)
        return with_network(zoo("bert"), network)

    def quantise(network: Any) -> None:
        network.classifier.weight = torch.nn.Parameter(torch.ones(3, 32, dtype=torch.int8), requires_grad=False)

    with pytest.raises(UnsupportedError, match="quantised"):
        in_dtype(changed(quantise), "bfloat16")
    with pytest.raises(UnsupportedError, match="spread over several devices"):
        in_dtype(changed(lambda network: network.classifier.to("meta")), "bfloat16")


def test_no_room_for_another_format_is_told(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 13 GiB.")

    monkeypatch.setattr(loading, "load_weights", full)
    with pytest.raises(MemoryShortage, match=r"no memory .* float16"):
        in_dtype(zoo("bert"), "float16")


@pytest.mark.parametrize("field", ["type_vocab_size", "intermediate_size", "max_position_embeddings"])
def test_a_size_that_the_weights_do_not_have_is_refused_before_it_is_allocated(field: str, tmp_path: Path) -> None:
    build("bert", tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: 16_000_000}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelError, match="numbers; its weights are"):
        load_model(str(tmp_path), device="cpu")
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 100 * 2**20
