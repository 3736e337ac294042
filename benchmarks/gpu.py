"""Every method and metric on a GPU: speed, memory, and the scores beside a CPU's.

``python -m benchmarks.gpu FOLDER`` leaves ``gpu.jsonl``, a line for each measurement, and ``gpu.md``, the page
for docs/gpu.md, in FOLDER. ``bash benchmarks/gpu.sh FOLDER`` does so on a machine that has PyTorch and nothing
else. ``python -m benchmarks gpu`` prints the rows and keeps no files.

* The models have the shapes of known ones and random weights, which change neither speed nor memory. The most useful
  measurements come first, so that an early end leaves a useful page.
* A method or metric is timed beside the same number of passes by transformers alone, in batches of the size that is
  fastest there. Of more than :data:`MOST_BARE` passes a part is timed, and its seconds are scaled up.
* The scores of the first text are compared with a CPU's in float32, from the same weights. The model of 8
  billion parameters is not compared, but one with two of its layers is.
* A finished measurement is in the file at once. A second run adds missing measurements, and repeats interrupted ones.
  A measurement that fails is in the file with its reason. One that does not fit into the remaining time is not begun.
* Without a GPU, tiny models on the CPU take their place. They show that all works, and no speed.

``llm_ranking`` is missing: it needs a language model, and these are classifiers.
"""

from __future__ import annotations

import argparse
import copy
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, PreTrainedConfig

from benchmarks.bare import bare_logits
from benchmarks.measurements import BEGUN, INTERRUPTED, Measurement, add, page, read
from benchmarks.runner import Row, peak_memory_mb, timed
from explainlab.analyses.reexplain import Repeater
from explainlab.attribution.explain import attribute_many
from explainlab.attribution.method import TextSize
from explainlab.attribution.passes import read_originals
from explainlab.attribution.registry import get_method, methods, parse_spec
from explainlab.attribution.subject import Subject
from explainlab.errors import ResourceError
from explainlab.files import write_file
from explainlab.metrics.evaluate import Case, evaluate
from explainlab.metrics.metric import StabilityMetric
from explainlab.metrics.registry import get_metric, metrics, parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount, Receivers, RunContext
from explainlab.models.devices import choose_device, free_cached, is_out_of_memory
from explainlab.models.loading import load_model
from explainlab.models.model_types import MODEL_TYPES
from explainlab.models.modes import BUILDING
from explainlab.request import CompleteRequest, Request
from explainlab.text.encoding import Encoding
from explainlab.text.units import marked_features

SECONDS, LONGEST = 540.0, 60.0
"""The usual budget, and the most for one measurement."""
RECORDS, PAGE = "gpu.jsonl", "gpu.md"
MOST_BARE = 1024
"""Most bare passes that are timed for a measurement."""
REPEATS, STEADY = 3, 1.0
"""Most repeats of a measurement, and the seconds of runs that are enough; the fastest counts."""
LABELS = ("negative", "positive")
_MAPS = "input_x_gradient"
"""The method that makes the maps that metrics judge."""
_WORDS = (
    "the camera never hurries and every small gesture counts in a film about what two stubborn sisters owe each other "
    "although the score is far too loud it turns out to be both funny and honest"
)
_OPTIONS = {
    "discretized_integrated_gradients": "steps=5",
    "integrated_gradients": "rule=gauss_legendre:steps=20",
    "sequential_integrated_gradients": "steps=1",
    "rpi": "samples=2:steps=10",
    "rpi_g": "samples=2:steps=10",
    "rpi_ig": "samples=2:steps=10",
    "rpi_sig": "samples=2:steps=2",
    "lime": "samples=50",
    "ensemble": "members=kernel_shap+input_x_gradient+attention_last",
}
"""Fewer passes than by default for methods that take most of the time, and a fixed number for one that adapts."""


@dataclass(frozen=True)
class Shape:
    """A model to draw: its type and ``sizes`` in transformers' configuration, and the tokenizer of an embedded model.

    ``methods``: their ids; empty: all that support it, and all metrics. ``compared``: with a CPU. ``seconds``: about
    how long it takes to draw the model on a GPU.
    """

    name: str
    model_type: str
    sizes: dict[str, Any] = field(default_factory=dict)
    tokenizer: str = "bert-mini-sst2"
    dtype: str = "float32"
    methods: tuple[str, ...] = ()
    compared: bool = True
    seconds: float = 5.0

    @property
    def tasks(self) -> list[tuple[str, str]]:
        """The kind (``method`` or ``metric``) and the name of all that is measured, first what beginners use."""
        able = [own for own in methods().values() if not own.unsupported(MODEL_TYPES[self.model_type].architecture)]
        chosen = sorted(
            (own for own in able if own.id in (self.methods or methods())), key=lambda own: not own.recommended
        )
        names = [parse_spec(":".join(filter(None, (own.id, _OPTIONS.get(own.id))))).name for own in chosen]
        judges = [] if self.methods else list(metrics())
        return [("method", name) for name in names] + [("metric", name) for name in judges]

    def config(self, **ids: int | None) -> PreTrainedConfig:
        """Make its configuration, with the ``ids`` of special tokens."""
        names = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
        return AutoConfig.for_model(self.model_type, **self.sizes, **names, **ids)


Phase = tuple[Shape, int]
"""A shape, and how many texts are explained together."""


def _sizes(vocabulary: int, hidden: int, layers: int, heads: int, intermediate: int, **more: Any) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": intermediate,
        **more,
    }


_BERT, _MODERN = Shape("BERT-base", "bert"), Shape("ModernBERT-base", "modernbert")
_POSITIONS = {"max_position_embeddings": 514, "type_vocab_size": 1}
_ROBERTA = Shape("RoBERTa-large", "roberta", _sizes(50_265, 1024, 24, 16, 4096, **_POSITIONS), seconds=15)
_LLAMA = Shape(
    "Llama 8B",
    "llama",
    _sizes(128_256, 4096, 32, 32, 14_336, num_key_value_heads=8),
    tokenizer="gpt2-mini-ag-news",
    dtype="bfloat16",
    methods=("input_x_gradient", "integrated_gradients", "kernel_shap", "attention_last", "sp_pi", "mp_pi"),
    compared=False,
    seconds=60,
)
_TWO_LAYERS = {**_LLAMA.sizes, "num_hidden_layers": 2}
_CUT = replace(_LLAMA, name="Llama 8B, 2 of 32 layers", sizes=_TWO_LAYERS, compared=True, seconds=30)
ON_A_GPU: tuple[Phase, ...] = (
    (_BERT, 1),
    (_LLAMA, 8),
    (_BERT, 256),
    (_MODERN, 1),
    (_ROBERTA, 1),
    (_CUT, 1),
    (_MODERN, 256),
    (_ROBERTA, 256),
)
"""The most useful first: the scores of all methods, a large model, full batches; then the same of other models."""


def _tiny(shape: Shape) -> Shape:
    heads = {"num_key_value_heads": 2} if shape.model_type == "llama" else {}
    sizes = _sizes(9_000, 32, 2, 4, 64, **heads)  # a larger vocabulary than the tokenizer's, as in the large shapes
    return replace(shape, name=f"tiny {shape.model_type}", sizes=sizes, compared=True, seconds=0)


ON_A_CPU: tuple[Phase, ...] = (
    (_tiny(_BERT), 1),
    (_tiny(_LLAMA), 2),
    (_tiny(_BERT), 4),
    (_tiny(_MODERN), 1),
    (_tiny(_ROBERTA), 1),
)
"""The same in small."""


def rows(say: Callable[[str], None]) -> Iterator[Row]:
    """Give a row for each measurement and keep no file. ``say`` gets the reasons where there is none."""
    with TemporaryDirectory() as folder:
        for own in run(Path(folder), SECONDS, say):
            if not own.problem:
                yield own.row


def run(
    folder: Path, seconds: float, say: Callable[[str], None], phases: Sequence[Phase] | None = None
) -> Iterator[Measurement]:
    """Make the measurements that the files in ``folder`` do not have, and add them there.

    After ``seconds`` none is begun, and one that runs is interrupted. ``phases``: by default those of the device.
    """
    end, device = time.monotonic() + seconds, choose_device()
    on_a_gpu = device.type == "cuda"
    if not on_a_gpu:
        device = torch.device("cpu")
        say("There is no GPU here: tiny models run on the CPU, and their times say nothing about a GPU.")
    name = torch.cuda.get_device_name(device) if on_a_gpu else device.type
    folder.mkdir(parents=True, exist_ok=True)
    known = read(folder / RECORDS)
    planned = [
        (shape, Measurement(shape.name, kind, task, texts, name, torch.__version__, shape.dtype, problem=BEGUN))
        for shape, texts in phases or (ON_A_GPU if on_a_gpu else ON_A_CPU)
        for kind, task in shape.tasks
    ]
    wanted = [(shape, own) for shape, own in planned if own.key not in known or known[own.key].interrupted]
    wanted.sort(key=lambda pair: pair[1].key in known)  # an interrupted one comes last: it may end the process again
    left = len(wanted)
    for shape, group in groupby(wanted, key=lambda pair: pair[0]):
        for own in _measured(shape, [own for _, own in group], device, folder / RECORDS, end):
            known[own.key] = own
            write_file(folder / PAGE, page(known.values()).encode())
            if own.problem:
                say(f"{own.name} on {own.model}, {own.texts} texts: {own.problem}")
            left -= 1
            yield own
    write_file(folder / PAGE, page(known.values()).encode())
    if left:
        say(f"{left} measurements did not fit into {seconds:.0f} s. The next run with these files makes them.")


def _measured(
    shape: Shape, wanted: Sequence[Measurement], device: torch.device, path: Path, end: float
) -> Iterator[Measurement]:
    """Make the measurements ``wanted`` of a model that fit until ``end``, and add them to the file at ``path``."""
    if time.monotonic() + shape.seconds > end:
        return
    try:
        drawn = _Drawn(shape, device)
    except Exception as error:
        yield from (add(path, replace(own, problem=_reason(error))) for own in wanted)
        return
    for own in wanted:
        now, expected = time.monotonic(), drawn.expected(own)
        if expected > LONGEST:
            yield add(path, replace(own, problem=f"not measured: it would take about {expected:.0f} s"))
        if expected > min(LONGEST, end - now):
            continue
        add(path, own)  # as begun: if the process ends in it, the next run knows
        try:
            done = drawn.measured(own, min(end, now + LONGEST))
        except _TimeIsUp:
            late = f"{INTERRUPTED}: the time was up" if time.monotonic() > end else f"longer than {LONGEST:.0f} s"
            done = replace(own, problem=late)
        except Exception as error:
            done = replace(own, problem=_reason(error))
            if "CUDA error" in str(error):  # no later call of this process would work
                add(path, done)
                raise
        yield add(path, done)
        if done.problem:
            free_cached()
    del drawn
    free_cached()


def _reason(error: Exception) -> str:
    if is_out_of_memory(error):
        return "out of memory"
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


class _TimeIsUp(ResourceError):
    """The time of a measurement is up."""


class _Watch:
    """A count of the texts that the model reads in a ``context``, which ends the run at ``end``."""

    def __init__(self, end: float) -> None:
        self.context = RunContext(progress=Receivers(read=self._read), check_cancelled=self._check)
        self.end, self.texts = end, 0

    def _read(self, texts: int) -> None:
        self.texts += texts

    def _check(self) -> None:
        if time.monotonic() > self.end:
            raise _TimeIsUp("The time is up.")


class _Done(NamedTuple):
    """The scores of the first text, or its value by a metric; the passes of every text, and those with gradients."""

    scores: np.ndarray
    passes: list[tuple[int, int]]


class _Drawn:
    """A model with random weights on a device, with the fastest sizes of its bare batches."""

    def __init__(self, shape: Shape, device: torch.device) -> None:
        tokenizer = copy.deepcopy(load_model(f"embedded:{shape.tokenizer}", "cpu").tokenizer)
        ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("bos", "eos", "cls", "sep")}
        pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        torch.manual_seed(0)
        with BUILDING, device:
            network = AutoModelForSequenceClassification.from_config(
                shape.config(pad_token_id=pad, **ids), dtype=getattr(torch, shape.dtype)
            )
        self.shape, self.device = shape, device
        self.classifier = load_model(network, tokenizer=tokenizer)
        self._on_cpu: dict[str, np.ndarray] = {}
        self._batches = {gradients: self._fastest_batch(gradients) for gradients in (False, True)}

    def expected(self, own: Measurement) -> float:
        """Estimate the seconds of a measurement, with its bare passes and the comparison."""
        extent = TextSize.of(self.classifier.encode(texts(1)[0]), "token")
        work = _expected_passes(own, extent, self.classifier.model.depth).work
        compared = self.shape.compared and own.name not in self._on_cpu
        on_cpu = work * self._seconds_on_cpu if compared else 0.0
        return STEADY + 2 * own.texts * work * self._batches[True][1] + on_cpu

    def measured(self, begun: Measurement, end: float) -> Measurement:
        """Make the measurement that has ``begun``; raises :class:`_TimeIsUp` after ``end``."""
        encodings = [self.classifier.encode(text) for text in texts(begun.texts)]
        maps = self._maps(encodings, end) if begun.kind == "metric" else []
        _run(begun, self.classifier, encodings[:1], maps[:1], end)  # loads what is loaded once
        ours = partial(_run, begun, self.classifier, encodings, maps, end)
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self.device)
        done, first = timed(ours)
        peak = peak_memory_mb(self.device)
        seconds, bare = [first], [self._bare(encodings, done.passes)]
        while len(seconds) < REPEATS and sum(seconds + bare) < STEADY:
            seconds.append(timed(ours)[1])
            bare.append(self._bare(encodings, done.passes))
        return replace(
            begun,
            tokens=sum(map(len, encodings)),
            passes=sum(forward for forward, _ in done.passes),
            seconds=min(seconds),
            bare_seconds=min(bare),
            peak_mb=peak,
            difference=self._difference(begun, done.scores, maps, end) if self.shape.compared else None,
            problem="",
        )

    def _difference(self, own: Measurement, scores: np.ndarray, maps: Sequence[np.ndarray], end: float) -> float | None:
        """Compare with the CPU (see :class:`Measurement`); None if a metric has no value for the text."""
        if own.name not in self._on_cpu:
            first = [self._reference.encode(texts(1)[0])]
            self._on_cpu[own.name] = _run(own, self._reference, first, maps[:1], end).scores
        reference = self._on_cpu[own.name]
        off = float(np.abs(scores - reference).max())
        return off / (float(np.abs(reference).max()) or 1.0) if math.isfinite(off) else None

    @cached_property
    def _reference(self) -> Classifier:
        """The same weights on the CPU in float32."""
        network: Any = copy.deepcopy(self.classifier.model.network)
        return load_model(network.to("cpu", torch.float32), tokenizer=self.classifier.tokenizer)

    @cached_property
    def _seconds_on_cpu(self) -> float:
        """Seconds of a pass with gradients there, alone: in a batch it takes less."""
        first = [self._reference.encode(texts(1)[0])]
        return min(timed(partial(_bare_passes, self._reference, first, 1, True))[1] for _ in range(2))

    def _maps(self, encodings: Sequence[Encoding], end: float) -> list[np.ndarray]:
        """Make a map of each text, for metrics to judge."""
        requests = [_request(self.classifier, own, _MAPS) for own in encodings]
        answers = attribute_many(self.classifier, encodings, get_method(_MAPS), requests, _Watch(end).context)
        return [own.scores for own in answers]

    def _fastest_batch(self, gradients: bool) -> tuple[int, float]:
        """Find the number of texts in the fastest bare batch, and its seconds for a text."""
        seconds: dict[int, float] = {}
        text = self.classifier.encode(texts(1)[0])
        for size in (32, 128, 512) if self.device.type == "cuda" else (8, 32):
            bare = partial(_bare_passes, self.classifier, [text] * size, size, gradients)
            try:
                seconds[size] = min(timed(bare)[1] for _ in range(2)) / size
            except torch.OutOfMemoryError:
                if not seconds:
                    raise
                break
        best = min(seconds, key=seconds.__getitem__)
        return best, seconds[best]

    def _bare(self, encodings: Sequence[Encoding], passes: Sequence[tuple[int, int]]) -> float:
        """Return the seconds of as many bare ``passes`` over each text."""
        seconds = 0.0
        for gradients, (size, _) in self._batches.items():
            counts = [backward if gradients else forward - backward for forward, backward in passes]
            wanted = [own for own, count in zip(encodings, counts, strict=True) for _ in range(count)]
            if wanted:
                some = wanted[:: math.ceil(len(wanted) / MOST_BARE)]
                spent = timed(partial(_bare_passes, self.classifier, some, size, gradients))[1]
                seconds += spent * len(wanted) / len(some)
        return seconds


def _bare_passes(classifier: Classifier, encodings: Sequence[Encoding], size: int, gradients: bool) -> None:
    """Make a pass by transformers alone over each of ``encodings``, the longest first, ``size`` in a batch."""
    ordered = sorted(encodings, key=len, reverse=True)
    for start in range(0, len(ordered), size):
        inputs = classifier.inputs(ordered[start : start + size])
        last = torch.arange(len(inputs.ids), device=classifier.device), inputs.attention.sum(dim=1) - 1
        mask = {"attention_mask": inputs.attention.long() if inputs.padded else None}
        if gradients:
            points = classifier.embed(inputs.ids).requires_grad_()
            value = bare_logits(classifier, {"inputs_embeds": points, **mask}, last).softmax(-1)[:, 0]
            torch.autograd.grad(value.sum(), points)[0].sum(dim=-1).cpu()
        else:
            with torch.no_grad():
                bare_logits(classifier, {"input_ids": inputs.ids, **mask}, last).cpu()


def _run(
    own: Measurement, classifier: Classifier, encodings: Sequence[Encoding], maps: Sequence[np.ndarray], end: float
) -> _Done:
    """Run the method on these texts, or the metric on their ``maps``; raises :class:`_TimeIsUp` after ``end``."""
    watch = _Watch(end)
    if own.kind == "method":
        requests = [_request(classifier, encoding, own.name) for encoding in encodings]
        answers = attribute_many(classifier, encodings, get_method(requests[0].question), requests, watch.context)
        return _Done(answers[0].scores, [(answer.cost.forward, answer.cost.backward) for answer in answers])
    batcher = Batcher(classifier, watch.context)
    subjects = [Subject(classifier, encoding, target=LABELS[0], batcher=batcher) for encoding in encodings]
    read_originals(subjects)
    cases = []
    for subject, scores in zip(subjects, maps, strict=True):
        first_word = (((0, subject.encoding.text.index(" ")),), None)
        marked = marked_features(subject.encoding, subject.units, first_word)
        target = subject.target.index
        cases.append(Case(subject.encoding, subject.units, subject.original, target, scores[None], marked))
    results = evaluate(cases, [parse_metric(own.name)], batcher, Repeater(subjects, [(_MAPS, {})], "own", [0]))
    share = math.ceil(watch.texts / len(subjects))  # the passes of a metric are not counted text by text
    passes = [(max(share, subject.backward), subject.backward) for subject in subjects]
    return _Done(np.array([results[0][0][0].value]), passes)


def _request(classifier: Classifier, encoding: Encoding, name: str) -> CompleteRequest:
    """Ask for a method by its name. The target is a fixed class, as rounding may change the predicted one."""
    chosen = parse_spec(name)
    request = Request(
        model=classifier.id,
        text=encoding.text,
        question=chosen.method,
        target=LABELS[0],
        output=get_method(chosen.method).default_output(chosen.parameters.model_dump(mode="json")),
    )
    return request.completed(chosen.parameters)


def _expected_passes(own: Measurement, text: TextSize, depth: int) -> PassCount:
    """Count the passes over a text of this extent, at most, that the method or metric declares."""
    if own.kind == "method":
        chosen = parse_spec(own.name)
        return get_method(chosen.method).passes(chosen.parameters, text, depth)
    judge = parse_metric(own.name)
    metric = get_metric(judge.metric)
    again = metric.explanations(judge.parameters) if isinstance(metric, StabilityMetric) else 0
    return PassCount(1 + metric.inputs(judge.parameters, text.features)) + PassCount.gradients(again)


def texts(count: int) -> list[str]:
    """Draw texts of 12 to 36 words. Fewer texts are the first ones of more."""
    draw = np.random.default_rng(0)
    return [" ".join(draw.choice(_WORDS.split(), size=draw.integers(12, 37))) for _ in range(count)]


def main() -> None:
    """Run ``python -m benchmarks.gpu``."""
    parser = argparse.ArgumentParser(description="Measure all methods and metrics on a GPU.")
    parser.add_argument("folder", type=Path, help=f"where {RECORDS} and {PAGE} are; it is made if it is not there")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the most time (default: %(default)s)")
    given = parser.parse_args()
    for own in run(given.folder, given.seconds, partial(print, flush=True)):
        if not own.problem:
            print(f"{own.model}, {own.texts}: {own.line}", flush=True)


if __name__ == "__main__":
    main()
