"""Models of common shapes, short and long texts: speed beside a bare loop of full batches, memory, where time goes.

Most weights are random: they change neither. On a GPU the largest has the shape of Llama 2 7B, in bfloat16; a CPU gets
one of its proportions that it can run, and fewer passes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedConfig

from benchmarks.bare import bare_logits
from benchmarks.runner import Row, fastest
from benchmarks.studies.training import epoch_row
from explainlab.analyses.registry import new_request
from explainlab.attribution.explain import attribute_many
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, get_method, parse_spec
from explainlab.attribution.selection import case_of
from explainlab.attribution.subject import Subject
from explainlab.metrics.evaluate import evaluate
from explainlab.metrics.registry import parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.models.devices import choose_device
from explainlab.models.loading import load_model
from explainlab.models.modes import BUILDING
from explainlab.service.resolved import resolve
from explainlab.settings import ROOT
from explainlab.text.encoding import Encoding
from explainlab.training import Examples, settings_for

MAPS, METRICS = 24, ("comprehensiveness", "sufficiency")
_LABELS = ("negative", "positive")
_COSTS, _REPEATS = 3, 3
_MB = 2**20
_WORDS = "the camera never hurries and every small gesture counts in a film about what families owe each other"
"""Words of this make texts of any length."""


@dataclass(frozen=True)
class Work:
    """The work on texts of a length: ``passes`` of each method on one, and ``texts`` for gradients and for training.

    A training takes ``step`` texts at a time.
    """

    passes: int
    texts: int
    step: int
    batches: tuple[int, ...]
    """The tried sizes of bare batches, in tokens."""

    @property
    def methods(self) -> dict[str, int]:
        """Each method with its parameters, and how many texts it explains."""
        return {
            f"integrated_gradients:rule=gauss_legendre:steps={self.passes}": 1,
            f"rpi:samples={max(2, self.passes // 10)}:steps=10": 1,
            f"kernel_shap:samples={self.passes}": 1,
            "input_x_gradient": self.texts,
        }


@dataclass(frozen=True)
class Shape:
    """A configuration with the tokenizer of a model that comes with the project; ``lengths`` in tokens."""

    name: str
    config: PreTrainedConfig
    tokenizer: str
    lengths: tuple[int, ...]
    dtype: str = "float32"


def rows() -> Iterator[Row]:
    """Yield a row for each model, length and piece of work."""
    device = choose_device()
    shared = ROOT.parent / "shared" / "models" / "minilm-sst2"
    known = load_model(str(shared) if shared.is_dir() else "embedded:bert-mini-sst2")
    yield from _of(known, shared.name if shared.is_dir() else known.id, 128)
    for shape in shapes(device):
        with TemporaryDirectory() as folder:
            drawn = drawn_model(shape, Path(folder), device)
            for length in shape.lengths:
                yield from _of(drawn, shape.name, length)


def shapes(device: torch.device) -> list[Shape]:
    """Return BERT-base, and a decoder with the shape of Llama 2 7B, or one of its proportions for a CPU."""
    base = Shape("BERT-base's shape", AutoConfig.for_model("bert"), "embedded:bert-mini-sst2", (128, 512))
    if device.type == "cuda":
        return [
            base,
            Shape(
                "Llama 7B's shape", AutoConfig.for_model("llama"), "embedded:gpt2-mini-ag-news", (128, 2048), "bfloat16"
            ),
        ]
    smaller = {"hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 8, "num_attention_heads": 8}
    small = AutoConfig.for_model("llama", **smaller)
    return [replace(base, lengths=(128,)), Shape("a small Llama", small, "embedded:gpt2-mini-ag-news", (128, 2048))]


def work_of(device: torch.device, length: int) -> Work:
    """Return the work on texts of ``length`` tokens that a device can do in about a minute."""
    if device.type == "cuda":
        return Work(256, 256, max(4, 4_096 // length), (4_096, 16_384, 65_536))
    return Work(max(10, 4_096 // length), max(4, 2_048 // length), max(2, 1_024 // length), (512, 2_048))


def drawn_model(shape: Shape, folder: Path, device: torch.device) -> Classifier:
    """Return a model of a ``shape`` with random weights on ``device``, whose files are in ``folder``."""
    tokenizer = copy.deepcopy(load_model(shape.tokenizer).tokenizer)
    tokenizer.model_max_length = max(shape.lengths)
    tokenizer.save_pretrained(folder)
    names = {"id2label": dict(enumerate(_LABELS)), "label2id": {label: i for i, label in enumerate(_LABELS)}}
    shape.config.update({**names, "pad_token_id": tokenizer.pad_token_id or tokenizer.eos_token_id})
    torch.manual_seed(0)
    with BUILDING, device:
        network = AutoModelForSequenceClassification.from_config(shape.config, dtype=getattr(torch, shape.dtype))
    network.save_pretrained(folder)
    return load_model(str(folder), str(device), shape.dtype)


def _of(classifier: Classifier, name: str, length: int) -> Iterator[Row]:
    """Yield the rows of texts of ``length`` tokens."""
    work = work_of(classifier.device, length)
    text = _text(classifier, length)
    encoding = classifier.encode(text)
    bare = _Bare.of(classifier, encoding, work.batches)
    for method, texts in work.methods.items():
        yield _method(bare, name, [encoding] * texts, parse_spec(method))
    yield _judged(bare, name, encoding)
    examples = Examples([text] * work.texts, [_LABELS[row % len(_LABELS)] for row in range(work.texts)])
    lora = classifier.architecture.causal
    settings = settings_for(classifier.id, epochs=1, batch_size=work.step, max_tokens=length, lora=lora)
    told = f"{name}, {work.texts} x {len(encoding)} tokens{', LoRA' if lora else ''}"
    yield epoch_row(classifier.id, told, examples, settings)


def _text(classifier: Classifier, length: int) -> str:
    """Return words that make ``length`` tokens, or a few less."""
    words = _WORDS.split() * length
    most = next(n for n in range(length, 0, -1) if len(classifier.encode(" ".join(words[:n]))) <= length)
    return " ".join(words[:most])


@dataclass(frozen=True)
class _Bare:
    """Full batches of transformers' own passes over one text, of the sizes that are fastest here."""

    classifier: Classifier
    ids: Tensor
    sizes: tuple[int, int]
    """Texts in a batch there, and there and back."""

    @classmethod
    def of(cls, classifier: Classifier, encoding: Encoding, batches: tuple[int, ...]) -> _Bare:
        """Return the passes with the best of these sizes in tokens that fit into memory."""
        ids, best = torch.as_tensor(encoding.ids, device=classifier.device)[None], []
        for gradients in (False, True):
            rates: dict[int, float] = {}
            for size in sorted({max(1, tokens // len(encoding)) for tokens in batches}):
                one = cls(classifier, ids, (size, size))
                with suppress(torch.OutOfMemoryError):
                    run = partial(one.run, 0 if gradients else size, size if gradients else 0)
                    rates[size] = fastest({"bare": run}, 2)["bare"] / size
            best.append(min(rates, key=rates.__getitem__))
        return cls(classifier, ids, (best[0], best[1]))

    def run(self, forward: int, backward: int) -> None:
        """Run ``forward`` passes, and ``backward`` passes with gradients of the word embeddings."""
        for size in _batches(forward, self.sizes[0]):
            with torch.no_grad():
                bare_logits(self.classifier, {"input_ids": self.ids.expand(size, -1)}).cpu()
        for size in _batches(backward, self.sizes[1]):
            points = self.classifier.embed(self.ids.expand(size, -1)).requires_grad_()
            value = bare_logits(self.classifier, {"inputs_embeds": points}).softmax(-1)[:, 0]
            torch.autograd.grad(value.sum(), points)[0].sum(dim=-1).cpu()


def _batches(count: int, size: int) -> list[int]:
    return [min(size, count - start) for start in range(0, count, size)]


def _method(bare: _Bare, name: str, encodings: list[Encoding], run: MethodSpec) -> Row:
    """Measure a method on texts together, with its peak memory."""
    classifier, method = bare.classifier, get_method(run.method)
    parameters = run.parameters.model_dump()
    request = new_request(question=run.method, model=classifier.id, text=encodings[0].text, parameters=parameters)
    asked = resolve(request).request

    def ours() -> list[Attribution]:
        return attribute_many(classifier, encodings, method, [asked] * len(encodings))

    cost = ours()[0].cost
    floor = partial(bare.run, len(encodings) * (cost.forward - cost.backward), len(encodings) * cost.backward)
    return _row(classifier, f"{name}, {len(encodings)} x {len(encodings[0])} tokens", run.method, ours, floor, {})


def _judged(bare: _Bare, name: str, encoding: Encoding) -> Row:
    """Measure random maps by two metrics; each distinct text is a pass."""
    subject, metrics = Subject(bare.classifier, encoding), [parse_metric(metric) for metric in METRICS]
    case = case_of(subject, np.random.default_rng(0).random((MAPS, len(subject.units.features))))

    def ours() -> int:
        batcher = Batcher(bare.classifier, RunContext())
        evaluate([case], metrics, batcher)
        return batcher.passes

    passes = ours()
    work, facts = f"{name}, {MAPS} maps of {len(encoding)} tokens", {"distinct texts": passes}
    return _row(bare.classifier, work, "judge", ours, partial(bare.run, passes, 0), facts)


def _row(
    classifier: Classifier,
    work: str,
    name: str,
    ours: Callable[[], object],
    bare: Callable[[], None],
    facts: Mapping[str, float],
) -> Row:
    fast = fastest({"ours": ours, "bare": bare}, _REPEATS, warm_up=False)
    seconds, floor = fast["ours"], fast["bare"]
    peak, costs = _profiled(ours, classifier.device)
    return Row(
        name=name,
        work=work,
        device=classifier.device.type,
        seconds=seconds,
        floor_seconds=floor,
        ratio_to_floor=seconds / floor,
        peak_memory_mb=peak,
        facts={"share of the bare speed": floor / seconds, "MB measured": peak, **facts, **costs},
    )


def _profiled(run: Callable[[], object], device: torch.device) -> tuple[float, dict[str, float]]:
    """Return the MB of tensors at once, beyond those before, and the shares of the slowest operations."""
    cuda = device.type == "cuda"
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if cuda else [])]
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device) if cuda else 0
    with profile(activities=activities, profile_memory=not cuda) as seen:
        run()
    spent = {row.key: row.self_device_time_total if cuda else row.self_cpu_time_total for row in seen.key_averages()}
    whole = sum(spent.values())
    costs = {f"{name}, share": spent[name] / whole for name in sorted(spent, key=spent.__getitem__)[-_COSTS:][::-1]}
    return ((torch.cuda.max_memory_allocated(device) if cuda else _allocated(seen)) - before) / _MB, costs


def _allocated(seen: profile) -> int:
    """Return the most bytes that torch had allocated at once on a CPU."""
    assert seen.profiler is not None, "it has ended"
    results: Any = seen.profiler.kineto_results
    steps = sorted((event.start_ns(), event.nbytes()) for event in results.events() if event.name() == "[memory]")
    return int(np.cumsum([size for _, size in steps]).max())
