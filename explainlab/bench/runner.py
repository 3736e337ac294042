"""The parts of the benchmark, the machine they ran on, and the clock they share."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch

from explainlab.attribution.explain import versions
from explainlab.errors import RequestError
from explainlab.models.classifier import Classifier
from explainlab.models.devices import choose_device
from explainlab.models.loading import load_model
from explainlab.settings import ROOT

Say = Callable[[str], None]
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
    """One measurement.

    ``seconds``, ``floor_seconds`` and ``rival_seconds`` are the fastest of several runs taken in turns;
    ``difference`` is the largest difference between our scores and the rival's relative to the largest score, None
    unless both compute the same quantity; ``error`` and ``rival_error`` are means against exact values, where the row
    is about exactness; ``facts`` are further figures by name.
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


def run_bench(names: list[str], say: Say) -> dict[str, Any]:
    """Run the parts called ``names`` (all if empty) and return ``{"machine", "rows"}``; ``say`` gets a line a row.

    Raises :class:`RequestError` for a part that does not exist.
    """
    from explainlab.bench import (
        batched,
        faithfulness,
        integration,
        methods,
        opening,
        predictions,
        progressive,
        runs,
        shapley,
    )

    parts = {
        "methods": methods.rows,
        "batched": batched.rows,
        "shapley": shapley.rows,
        "integration": integration.rows,
        "faithfulness": faithfulness.rows,
        "progressive": progressive.rows,
        "predictions": predictions.rows,
        "opening": opening.rows,
        "runs": runs.rows,
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
    """The models measured on: the shared development models where they are, else the embedded ones; on every device."""
    pairs = (("minilm-sst2", "bert-mini-sst2"), ("gpt2-mini-ag-news", "gpt2-mini-ag-news"))
    devices = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    for device in devices:
        for shared, embedded in pairs:
            directory = ROOT.parent / "shared" / "models" / shared
            yield load_model(str(directory) if directory.is_dir() else f"embedded:{embedded}", device)


def model_name(classifier: Classifier) -> str:
    """The model's short name."""
    return classifier.id.rsplit("/", 1)[-1].removeprefix("embedded:")


def text_of(classifier: Classifier, tokens: int) -> str:
    """The longest beginning of our text, cut at a blank, of at most ``tokens`` tokens, special ones included."""
    words = _TEXT.split()
    count = next(n for n in range(len(words), 0, -1) if len(classifier.encode(" ".join(words[:n]))) <= tokens)
    return " ".join(words[:count])


def quickest(candidates: dict[int, Callable[[], object]]) -> int:
    """The key of the function that is done first, each run once: good enough to choose a batch size."""
    seconds = {key: fastest({"it": run}, 1, warm_up=False)["it"] for key, run in candidates.items()}
    return min(seconds, key=seconds.__getitem__)


def fastest(runs: dict[str, Callable[[], object]], repeats: int, warm_up: bool = True) -> dict[str, float]:
    """Seconds of the fastest of ``repeats`` runs of each function, taken in turns so that all meet the same machine."""
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
    """Peak memory so far in MB: of the GPU's allocator, or of this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def machine() -> dict[str, Any]:
    """Where the figures come from."""
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
