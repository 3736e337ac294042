"""The parts of the benchmark, the models and texts that they use, and how they measure time and memory."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

import psutil
import torch

from explainlab.attribution.explain import versions
from explainlab.data import examples_for
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from explainlab.models.devices import choose_device
from explainlab.models.loading import load_model
from explainlab.settings import ROOT
from explainlab.workers.worker import Worker

Say = Callable[[str], None]
T = TypeVar("T")
_TEXT = (
    "Although the opening scenes move slowly and the score is far too loud, the second half of this modest drama "
    "brings its two stubborn sisters together in a kitchen where every small gesture counts, and the long final shot, "
    "which could easily have been sentimental, turns out to be both funny and honest about what families owe each "
    "other when the money is gone. The camera never hurries, the dialogue sounds overheard rather than written, and "
    "even the minor roles are played with such care that nobody seems to be there only to move the story along, which "
    "is more than can be said of most films that were shown at the festival in the spring of that rainy year."
)


@dataclass(frozen=True)
class Row:
    """A measurement.

    ``seconds``, ``floor_seconds`` and ``rival_seconds`` are each the fastest of several alternating runs;
    ``difference`` is the largest difference between our scores and the rival's relative to the largest score (None
    unless both compute the same quantity); ``error`` and ``rival_error`` are mean errors against exact values, in rows
    about accuracy; ``facts`` are further figures by name.
    """

    name: str
    work: str
    device: str
    seconds: float | None = None
    floor_seconds: float | None = None
    rival: str | None = None
    rival_seconds: float | None = None
    ratio_to_floor: float | None = None
    ratio_to_rival: float | None = None
    difference: float | None = None
    peak_memory_mb: float | None = None
    error: float | None = None
    rival_error: float | None = None
    facts: dict[str, float] | None = None


def run_bench(names: list[str], say: Say, fleet: Sequence[Worker] = ()) -> dict[str, Any]:
    """Run the parts called ``names`` (all if empty); returns ``{"machine", "rows"}``. ``say`` gets a line for each row.

    The part ``scale`` measures the workers of ``fleet``; where there are none, some that it starts.
    Raises :class:`RequestError` for a part that does not exist.
    """
    from benchmarks import (
        batched,
        cost_estimates,
        gpu,
        library,
        methods,
        neighbours,
        opening,
        predictions,
        runs,
        scale,
        shapes,
        shapley,
    )
    from benchmarks.studies import (
        benchmark,
        faithfulness,
        integration,
        masked,
        progressive,
        roar,
        sanity,
        training,
    )

    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "methods": methods.rows,
        "batched": batched.rows,
        "shapley": shapley.rows,
        "integration": integration.rows,
        "faithfulness": faithfulness.rows,
        "progressive": progressive.rows,
        "predictions": predictions.rows,
        "masked": masked.rows,
        "benchmark": benchmark.rows,
        "opening": opening.rows,
        "runs": runs.rows,
        "training": training.rows,
        "sanity": sanity.rows,
        "roar": roar.rows,
        "scale": partial(scale.rows, fleet),
        "cost_estimates": cost_estimates.rows,
        "neighbours": neighbours.rows,
        "shapes": shapes.rows,
        "library": library.rows,
        "gpu": partial(gpu.rows, say),
    }
    unknown = [name for name in names if name not in parts]
    if unknown:
        raise RequestError(f"There is no benchmark '{unknown[0]}'.", f"There are: {', '.join(parts)}.")
    rows = []
    for name in names or parts:
        for row in parts[name]():
            say(_line(row))
            rows.append(asdict(row))
    say(f"peak memory {peak_memory_mb(choose_device()):.0f} MB")
    return {"machine": machine(), "rows": rows}


def classifiers() -> Iterator[Classifier]:
    """Yield the models to measure, on every device: the shared development models, or the embedded ones."""
    pairs = (("minilm-sst2", "bert-mini-sst2"), ("gpt2-mini-ag-news", "gpt2-mini-ag-news"))
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for device in devices:
        for shared, embedded in pairs:
            directory = ROOT.parent / "shared" / "models" / shared
            yield load_model(str(directory) if directory.is_dir() else f"embedded:{embedded}", device)


def sentiment_classifiers() -> Iterator[Classifier]:
    """Return the classifiers that tell negative from positive."""
    return (classifier for classifier in classifiers() if classifier.labels == ("negative", "positive"))


def model_name(classifier: Classifier) -> str:
    """Return the model's short name."""
    return classifier.id.rsplit("/", 1)[-1].removeprefix("embedded:")


def examples(classifier: Classifier) -> str:
    """Return the id of the embedded examples with the model's classes."""
    fitting = examples_for(classifier.labels)
    assert fitting is not None, "every model of the benchmark has embedded examples"
    return fitting.id


def held_out(classifier: Classifier) -> str:
    """Return the shared test set for the model's classes if present, else the embedded examples: a path or an id."""
    name = "sst2" if "positive" in classifier.labels else "ag_news"
    path = ROOT.parent / "shared" / "data" / name / "test.csv.gz"
    return str(path) if path.is_file() else examples(classifier)


def text_of(classifier: Classifier, tokens: int) -> str:
    """Return the first words of our text that make at most ``tokens`` tokens, special ones included."""
    words = _TEXT.split()
    count = next(n for n in range(len(words), 0, -1) if len(classifier.encode(" ".join(words[:n]))) <= tokens)
    return " ".join(words[:count])


def quickest(candidates: Mapping[int, Callable[[], object]]) -> int:
    """Return the key of the fastest function, each run once, to choose a batch size."""
    seconds = {key: fastest({"run": run}, 1, warm_up=False)["run"] for key, run in candidates.items()}
    return min(seconds, key=seconds.__getitem__)


def timed(run: Callable[[], T]) -> tuple[T, float]:
    """Return the result of ``run``, and the seconds that it took."""
    start = time.perf_counter()
    return run(), time.perf_counter() - start


def fastest(runs: Mapping[str, Callable[[], object]], repeats: int, warm_up: bool = True) -> dict[str, float]:
    """Return the seconds of the fastest of ``repeats`` runs of each function.

    The functions alternate, to share disturbances.
    """
    best = dict.fromkeys(runs, float("inf"))
    for turn in range(0 if warm_up else 1, repeats + 1):
        for name, run in runs.items():
            _synchronise()
            start = time.perf_counter()
            run()
            _synchronise()
            if turn:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def peak_memory_mb(device: torch.device) -> float:
    """Return the peak memory until now in MB, of the GPU's allocator or of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory_beyond_mb(device: torch.device, run: Callable[[], object]) -> tuple[float, float]:
    """Return the MB of the result of ``run`` on ``device``, and the peak while it runs, beyond those in use before.

    Of a CPU it is what this process has in memory, seen every few milliseconds.
    """
    process, cuda = psutil.Process(), device.type == "cuda"

    def now() -> int:
        return torch.cuda.memory_allocated(device) if cuda else int(process.memory_info().rss)

    _give_back()
    before, peak, done = now(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, now())

    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        result = run()
    finally:
        done.set()
        watcher.join()
    _give_back()
    after = now()
    del result
    most = torch.cuda.max_memory_allocated(device) if cuda else max(peak, after)
    return (after - before) / 2**20, (most - before) / 2**20


def _give_back() -> None:
    """Give unused memory back to the system, so that it is not counted."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc keeps freed memory
    if trim is not None:
        trim(0)


def machine() -> dict[str, Any]:
    """Return the machine and the versions of the libraries."""
    device = choose_device()
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        **versions(),
    }


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _line(row: Row) -> str:
    facts = [f"{row.name:<24} {row.work:<34} {row.device:<5}"]
    if row.seconds is not None:
        facts.append(f"{1000 * row.seconds:8.1f} ms")
    if row.ratio_to_floor is not None:
        facts.append(f"{row.ratio_to_floor:5.2f} x the passes")
    if row.ratio_to_rival is not None:
        facts.append(f"{row.ratio_to_rival:5.2f} x {row.rival}")
    if row.difference is not None:
        facts.append(f"differs by {row.difference:.1e}")
    if row.error is not None:
        facts.append(f"error {row.error:.3f}, {row.rival} {row.rival_error:.3f}")
    facts += [f"{name} {value:.3g}" for name, value in (row.facts or {}).items()]
    return "  ".join(facts)
