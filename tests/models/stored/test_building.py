"""Models that several threads read at once are those that one thread reads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import transformers

from explainlab.models.loading import load_model
from explainlab.models.stored.base import load_base
from explainlab.training import Examples, settings_for
from explainlab.training.start import starting_point

CLASSES: dict[str, Any] = {"id2label": {0: "a", 1: "b"}, "label2id": {"a": 0, "b": 1}}
EXAMPLES = Examples(["a good film", "a bad film"], ["a", "b"])


def test_threads_change_nothing_for_each_other_or_for_later(zoo_path: Callable[[str], Path]) -> None:
    """Reading ties no weights until the end, and another dtype is torch's default meanwhile: for the whole process."""
    tied = str(zoo_path("t5"))
    tying, gate = transformers.PreTrainedModel.tie_weights, threading.Barrier(4)
    work = [
        lambda: load_model(tied, "cpu"),
        lambda: load_model(tied, "cpu", "bfloat16"),
        lambda: load_base(tied, CLASSES),
        lambda: starting_point("t5_encoder", EXAMPLES, ("a", "b"), settings_for("t5_encoder", max_tokens=16)),
    ]

    def repeat(make: Callable[[], Any]) -> set[torch.dtype]:
        gate.wait(60)
        networks = [getattr(made, "network", None) or made.model.network for made in (make() for _ in range(8))]
        return {parameter.dtype for network in networks for parameter in network.parameters()}

    with ThreadPoolExecutor(4) as pool:
        dtypes = list(pool.map(repeat, work))
    assert dtypes == [{torch.float32}, {torch.bfloat16}, {torch.float32}, {torch.float32}]
    assert transformers.PreTrainedModel.tie_weights is tying
    assert torch.get_default_dtype() is torch.float32
