"""Damaged model directories are loaded or refused: nothing uncaught, quickly, in little memory, and no code is run."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import huggingface_hub.constants
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from explainlab.errors import ExplainLabError
from explainlab.models.loading import answer_pieces, changed_model, describe, known_digest, load_model, model_digest
from explainlab.models.prompting import split_id
from explainlab.settings import settings
from explainlab.training import Examples, settings_for, starting_point
from tests.conftest import ASKED
from tests.fuzz import bounded, changed, changes, damaged, inputs, steps, values
from tests.zoo import model_of, tokenizer_of

CONFIG, TOKENIZER, OPTIONS, WEIGHTS = "config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"
TEMPLATE, ADAPTER = "template.json", "adapter_config.json"
CODE = "import pathlib; pathlib.Path(__file__).with_name('executed').touch()\nclass Evil: pass\n"
AUTO_MAP = {
    name: "evil.Evil"
    for name in ("AutoConfig", "AutoModel", "AutoModelForSequenceClassification", "AutoModelForCausalLM")
} | {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}

FIELDS = {
    CONFIG: [
        "architectures", "model_type", "num_hidden_layers", "n_layer", "hidden_size", "n_embd", "vocab_size", "n_head",
        "num_attention_heads", "intermediate_size", "type_vocab_size", "max_position_embeddings", "n_positions",
        "pad_token_id", "eos_token_id", "id2label", "label2id", "num_labels", "problem_type", "quantization_config",
        "auto_map", "dtype", "torch_dtype", "hidden_act", "activation_function", "layer_norm_eps", "rope_scaling",
        "attn_implementation", "_attn_implementation", "tie_word_embeddings", "is_decoder", "chunk_size_feed_forward",
        "is_encoder_decoder", "add_cross_attention", "base_model_tp_plan", "transformers_weights", "use_cache",
        "attention_probs_dropout_prob", "initializer_range", "output_attentions", "return_dict", "_name_or_path",
    ],
    OPTIONS: [
        "model_max_length", "tokenizer_class", "auto_map", "chat_template", "extra_special_tokens", "mask_token",
        "added_tokens_decoder", "pad_token", "unk_token", "padding_side", "truncation_side", "do_lower_case",
        "backend", "model_input_names", "tokenizer_file", "additional_special_tokens", "vocab_file",
    ],
    TOKENIZER: ["truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor", "model"],
    TEMPLATE: ["name", "instruction", "text", "separator", "labels", "examples"],
    ADAPTER: [
        "base_model_name_or_path", "peft_type", "task_type", "target_modules", "r", "lora_alpha", "auto_mapping",
        "modules_to_save", "layers_to_transform", "rank_pattern", "init_lora_weights", "lora_dropout", "bias",
    ],
}  # fmt: skip
HOSTILE: list[Any] = [
    10**9, 999, 48, 2, 1.5, float("nan"), float("inf"), "a" * 10_000, "../../etc/passwd", "\ud800", AUTO_MAP,
    ["GPT2LMHeadModel"], ["BertModel"], ["XForSequenceClassification"], [None], "bert", "gpt2", "llama", "t5", "qwen2",
    "deberta-v2", "modernbert", "bfloat16", "float8_e4m3fn", {"quant_method": "bitsandbytes", "load_in_8bit": True},
    {"quant_method": "gptq", "bits": 4}, {"0": "a", "1": "b"}, {"0": "a", "2": "b"}, {"a": "b"},
    dict.fromkeys("012", "a"), {"x": [{"y": "z"}] * 99}, "LlamaTokenizer", "BertTokenizer", "evil.Evil",
    "{{ cycler.__init__.__globals__.os.system('touch executed') }}", "eager", "flash_attention_2", "gelu_new",
    "regression", "LORA", "PROMPT_TUNING", ["query"], "all-linear",
]  # fmt: skip

fields = st.sampled_from([(file, name) for file, names in FIELDS.items() for name in names])
FORMS = ("gone", "empty", "folder", "loop", "dangling", "fifo", "zeros", "forbidden", "sparse", "deep")
parts = st.integers(0, 9)
damages = st.lists(
    st.one_of(
        st.tuples(st.just("field"), fields, st.sampled_from(HOSTILE) | values),
        st.tuples(st.just("field"), fields, st.sampled_from(HOSTILE) | values),
        st.tuples(st.just("json"), parts, steps),
        st.tuples(st.just("bytes"), parts, changes),
        st.tuples(st.just("form"), parts, st.sampled_from(FORMS)),
        st.tuples(st.just("header"), steps, values),
        st.tuples(st.just("numbers"), st.sampled_from([np.nan, np.inf, 3e38]), parts),
    ),
    min_size=1,
    max_size=3,
)


@pytest.fixture(scope="module", autouse=True)
def _offline() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        yield


@cache
def seeds() -> dict[str, dict[str, bytes]]:
    """Return the files by kind: of a classifier, of a language model and its template, and of two adapters of the
    classifier.

    One adapter is like those of trainings: it has a head and a configuration of its own.
    """
    import peft  # takes 150 MB

    root = Path(mkdtemp())
    small = {"num_hidden_layers": 1, "hidden_size": 4, "num_attention_heads": 1, "intermediate_size": 4}
    classifier = model_of("bert", **small)
    speaker = model_of("gpt2", is_generative=True, n_embd=4, n_layer=1, n_head=1)
    for name, model, tokenizer in (("classifier", classifier, "bert"), ("speaker", speaker, "gpt2")):
        model.save_pretrained(root / name)
        tokenizer_of(tokenizer).save_pretrained(root / name)
    lora = peft.LoraConfig(task_type="SEQ_CLS", r=1, target_modules=["query"])
    adapter = peft.get_peft_model(classifier, lora)
    adapter.save_pretrained(root / "adapter")
    torch.manual_seed(0)
    about = settings_for(str(root / "classifier"), lora=True, lora_rank=1)
    trained = starting_point(str(root / "classifier"), Examples([], []), ("a", "b"), about)
    trained.adapter.save_pretrained(root / "trained")
    trained.tokenizer.save_pretrained(root / "trained")
    found = {
        kind.name: {p.name: p.read_bytes() for p in kind.iterdir() if p.suffix != ".md"} for kind in root.iterdir()
    }
    named = json.loads(found["adapter"][ADAPTER]) | {"base_model_name_or_path": str(root / "classifier")}
    found["adapter"][ADAPTER] = json.dumps(named).encode()
    found["speaker"][TEMPLATE] = ASKED.model_dump_json().encode()
    return found


def header_changed(weights: bytes, damage: list) -> bytes:
    """Weights whose header, JSON after its length, is changed."""
    length = struct.unpack("<Q", weights[:8])[0]
    header = json.loads(weights[8 : 8 + length])
    for path, change, value in damage:
        changed(header, path, change, value)
    written = json.dumps(header).encode()
    return struct.pack("<Q", len(written)) + written + weights[8 + length :]


def take_form(path: Path, form: str) -> None:
    """Put something else in the place of a file."""
    path.unlink(missing_ok=True)
    if form == "empty":
        path.touch()
    elif form == "folder":
        path.mkdir()
    elif form == "fifo":
        os.mkfifo(path)
    elif form == "sparse":
        path.touch()
        os.truncate(path, 17 * 2**20)  # above the limit of a configuration
    elif form == "deep":
        path.write_bytes(b"[" * 200_000)
    elif form == "forbidden":
        path.touch(mode=0)
    elif form != "gone":
        path.symlink_to({"loop": path.name, "dangling": "nowhere", "zeros": "/dev/zero"}[form])


def content_changed(content: bytes, kind: str, where: Any, what: Any) -> bytes:
    """The content of a file with a damage of this kind."""
    if kind == "field":
        return json.dumps({**json.loads(content), where[1]: what}).encode()
    if kind == "json":
        body = json.loads(content)
        for path, change, value in what:
            changed(body, path, change, value)
        return json.dumps(body).encode()
    if kind == "bytes":
        return damaged(content, what)
    if kind == "header":
        return header_changed(content, where)
    return content[: -40 * what - 4] + np.float32(where).tobytes() * (10 * what + 1)


def write(folder: Path, files: dict[str, bytes], damage: list) -> None:
    """Write ``files`` into ``folder`` with the damage, beside code that nobody may run."""
    files, forms, names = dict(files), {}, sorted(files)
    weights = next(name for name in names if name.endswith(".safetensors"))
    for kind, where, what in damage:
        on_weights = kind in ("header", "numbers")
        name = weights if on_weights else where[0] if kind == "field" else names[where % len(names)]
        if kind == "form":
            forms[name] = what
        else:
            with suppress(KeyError, ValueError, AttributeError, TypeError):  # damaged before, or not there
                files[name] = content_changed(files[name], kind, where, what)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    for name, form in forms.items():
        take_form(folder / name, form)
    (folder / "evil.py").write_text(CODE)


def listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((p.name, p.lstat().st_size, p.lstat().st_mtime_ns) for p in folder.iterdir())


def use(model_id: str) -> None:
    """Everything that a page and the worker do with a model."""
    calls: list[Callable[[], Any]] = [
        partial(describe, model_id),
        partial(known_digest, model_id),
        partial(changed_model, model_id),
        partial(model_digest, model_id),
    ]
    if model_id.startswith("completion:"):
        calls.append(lambda: answer_pieces(split_id(model_id)[0], split_id(model_id)[1]))
    for call in calls:
        with suppress(ExplainLabError):
            call()
    with suppress(ExplainLabError):
        classifier = load_model(model_id, device="cpu")
        classifier.predict(classifier.encode("a good film"))


def place_template(folder: Path) -> str:
    """Make the template in ``folder`` one of this instance; the id of the model with it."""
    template = settings().home / "templates" / "fuzzed.json"
    template.parent.mkdir(exist_ok=True, parents=True)
    if template.is_dir() and not template.is_symlink():
        template.rmdir()
    template.unlink(missing_ok=True)
    if os.path.lexists(folder / TEMPLATE):
        (folder / TEMPLATE).rename(template)
    return f"completion:fuzzed:{folder}"


@given(st.sampled_from(["classifier", "classifier", "speaker", "adapter", "trained"]), damages)
@inputs(60)
def test_damaged_models_are_loaded_or_refused(kind: str, damage: list) -> None:
    with TemporaryDirectory() as place, bounded():
        write(Path(place), seeds()[kind], damage)
        model_id = place_template(Path(place)) if kind == "speaker" else place
        before = listing(Path(place))
        use(model_id)
        assert listing(Path(place)) == before
        assert "evil" not in sys.modules
