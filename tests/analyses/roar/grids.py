"""Tiny grids for tests: their data, the settings of their models, and measures whose quality is known."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import answer_alone, complete, new_request
from explainlab.analyses.roar.result import RoarData
from explainlab.attribution import registry
from explainlab.attribution.method import Method, Outcome
from explainlab.attribution.subject import Subject
from explainlab.errors import Cancelled
from explainlab.limits import DEFAULT_LIMITS
from explainlab.models.context import Receivers, RunContext
from explainlab.reader import Reader
from explainlab.training import Examples

BASE = "bilstm_attention"
SETTINGS = {"width": 16, "embedding_size": 12, "learning_rate": 0.02, "batch_size": 10}


def written(path: Path, examples: Examples) -> str:
    """Write the examples to a CSV file, and return its path."""
    columns = {
        "text": examples.texts,
        "label": examples.labels,
        **({"text_b": examples.pairs} if examples.pairs else {}),
    }
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([tuple(columns), *zip(*columns.values(), strict=True)])
    return str(path)


@contextmanager
def measure(name: str, score: Callable[[str, str, float], float]) -> Iterator[str]:
    """Register a method that scores words by themselves, the class explained and chance, under this id."""

    class Known(Method):
        id, label, family, source, definition, plain = name, name, "Control", "-", "-", "-"
        random = True

        def attribute(self, subject: Subject, parameters: Any) -> Outcome:
            words, label = [feature.text.lower() for feature in subject.units.features], subject.target.label
            chances = np.random.default_rng(subject.seed).random(len(words)).tolist()
            return Outcome(np.array([score(word, label, own) for word, own in zip(words, chances, strict=True)]))

    known: Mapping[str, Method] = registry.methods()
    assert isinstance(known, dict)
    known[name] = Known()
    try:
        yield name
    finally:
        del known[name]


class Watching:
    """A run whose ``context`` counts the batches of trainings and the texts that measures read, and stops."""

    def __init__(self, made: Path, most: int = 10**6, phase: str = "training") -> None:
        progress = Receivers(self.report, self.expect, spend=self.spend, show=self.show)
        self.context = RunContext(Reader(made=made), progress, self.check_cancelled)
        self.most, self.phase, self.seen = most, phase, 0
        self.trained = set[str]()
        self.shown: list[RoarData] = []
        self.expected = self.spent = 0.0

    def report(self, done: int, total: int, phase: str) -> None:
        self.seen += self.phase in phase
        if phase.endswith(": training"):
            self.trained.add(phase)

    def expect(self, work: float, exact: bool = True) -> None:
        self.expected = work

    def spend(self, work: float) -> None:
        self.spent += work

    def show(self, result: Any) -> None:
        self.shown.append(result().body)

    def check_cancelled(self) -> None:
        if self.seen >= self.most:
            raise Cancelled


def ask(
    watching: Watching, files: dict[str, str], base: str = BASE, seed: int = 0, **given: Any
) -> AnalysisResult[Any]:
    parameters = {"settings": {**SETTINGS, "epochs": 2}, "seeds": 1, "ratios": [0, 40, 70, 100], **given}
    parameters = {"test": files["test"], "validation": files["validation"], "measures": "gradient", **parameters}
    request = new_request(question="roar", model=base, data=files["train"], seed=seed, parameters=parameters)
    result = answer_alone(complete(request), watching.context, "cpu", DEFAULT_LIMITS)
    assert isinstance(result, AnalysisResult)
    return result
