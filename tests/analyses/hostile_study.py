"""Requests of every study on texts, classes and words that try to break out of a page, before tiny models."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from explainlab import load_model, study
from explainlab.analyses.base import Analysis, AnalysisResult, TrainsModels
from explainlab.analyses.data_analysis import DataAnalysis
from explainlab.analyses.registry import studies
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.reader import Reader
from tests.zoo import model_of, tokenizer_of

TEXT = "<script>alert(1)</script> a good </script><img src=x onerror=alert(2)> film &amp; more"
LABELS = ("<script>alert(3)</script>", "</script><img src=x onerror=alert(4)>", "%{x} <b>bold</b>")
TEXTS = [TEXT, "the plot is thin and the acting is worse", "a great story", "it isn't good!", "a <b>film</b> = 2+2"]

GRID = {"measures": ["gradient"], "ratios": [0, 50, 100], "seeds": 1, "validation": "0.4", "settings": {"epochs": 1}}
PARAMETERS: dict[str, dict[str, Any]] = {
    "ablation": {"methods": ["input_x_gradient"], "samples": 3, "metrics": ["sufficiency", "log_odds"]},
    "activation": {"methods": ["occlusion", "attention_average"], "reference": "input_x_gradient"},
    "attack": {"epsilon": ["0.1s", "1s"], "steps": 2, "k": 50},
    "axioms": {"methods": ["input_x_gradient"], "positions": 1},
    "evaluation": {"methods": ["occlusion", "attention_average"]},
    "integration_error": {"steps": [2, 4], "rules": ["right", "midpoint"]},
    "intermediate_predictions": {},
    "judged_map": {},
    "layer_randomisation": {"methods": ["gradient"], "draws": 2},
    "masked_distribution": {"ratios": [50], "baselines": ["mask", "delete"]},
    "mistake_drivers": {"right": 3},
    "path_gradients": {"steps": [3, 6]},
    "planted": {},
    "precision": {"methods": ["gradient", "lime:samples=20"], "dtypes": ["bfloat16"]},
    "predictions": {},
    "roar": GRID,
    "roar_estimate": GRID,
    "training": {"settings": {"epochs": 2}, "validation_share": 0.4},
    "substitution": {"neighbours": 2, "k": 50},
    "synthetic_roar": {"draws": 2, "rows": 100},
    "three_answers": {**GRID, "measures": ["gradient", "input_x_gradient"]},
    "rpi_candidates": {"samples": 3, "steps": 2, "layers": "all", "metrics": ["sufficiency", "log_odds"]},
    "trust": {"method": "occlusion"},
}
"""Little work for each."""


def _kinds(study: Analysis) -> tuple[str, ...]:
    if study.self_contained:
        return ("nothing",)
    return ("data",) if isinstance(study, DataAnalysis | TrainsModels) else ("text", "data")


CASES = [(name, kind) for name, one in studies().items() for kind in _kinds(one)]
"""Every study, of a text where it has an answer to that, and of a data set; or of neither."""

Found = Callable[[str, str], AnalysisResult[Any]]


def models(directory: Path, labels: Sequence[str] = LABELS) -> dict[str, Classifier]:
    """Build an encoder and a decoder with these classes, by name."""
    classes = {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
    found = {}
    for name in ("bert", "gpt2"):
        model_of(name, **classes).save_pretrained(directory / name)
        tokenizer_of(name).save_pretrained(directory / name)
        found[name] = load_model(str(directory / name), device="cpu")
    return found


def write_data(path: Path, times: int = 1) -> str:
    """Write a file of :data:`TEXTS`, each with every label, repeated ``times``."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [(text, i, "[[0, 2]]") for text in TEXTS for i in range(len(LABELS))]
        csv.writer(file).writerows([("text", "label", "rationale"), *(times * rows)])
    return str(path)


def answer(model: Classifier, data: str, name: str, kind: str, text: str = TEXT) -> AnalysisResult[Any]:
    """Return the result of the study ``name`` of ``text``, or of the file ``data``; or of neither (``nothing``)."""
    parameters = dict(PARAMETERS[name])
    if name == "judged_map":
        n = len(model.encode(text))
        parameters["scores"] = [(-1) ** i * i / n for i in range(n)]
    if "test" in studies()[name].Parameters.model_fields:
        parameters["test"] = data
    if name == "masked_distribution":
        data = write_data(Path(data).with_name("many.csv"), times=3)
    context = RunContext(Reader(made=Path(data).parent / "made"))
    source = {"text": {"text": text}, "data": {"data": data}, "nothing": {}}[kind]
    return study(model if source else None, name, **source, context=context, **parameters)
