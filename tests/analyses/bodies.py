"""Results made by hand: of integration from functions whose integrals are known, and of layer randomisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from explainlab.analyses.integration.result import IntegrationErrorData, IntegrationErrorText
from explainlab.analyses.layer_randomisation.result import (
    Control,
    OriginalMap,
    RandomisationText,
    RandomMap,
    Survival,
)
from explainlab.analyses.path_gradients.result import PathGradientsText
from explainlab.analyses.records import Interval
from explainlab.analyses.summary import quartiles
from explainlab.attribution.path import nodes

WORDS = ["The", "first", "act", "drags", ",", "<b>but</b>", "the", "ending", "is", "beautiful", "."]
RULES = ("right", "left", "midpoint", "trapezoid", "gauss_legendre")
STEPS = (10, 20, 30, 50, 70, 100, 140, 200, 300)

Fields = dict[str, Any]


def features(words: list[str]) -> list[Fields]:
    """Return the words between two special tokens."""
    spans, end = [], 0
    for word in words:
        spans.append((end, end + len(word)))
        end += len(word) + 1
    special = {"start": 0, "end": 0, "special": True, "part": 0}
    content = [
        {"text": w, "start": a, "end": b, "special": False, "part": 0, "pieces": [w.lower()], "ids": [100 + i]}
        for i, (w, (a, b)) in enumerate(zip(words, spans, strict=True))
    ]
    first = {"text": "[CLS]", "pieces": ["[CLS]"], "ids": [1], **special}
    return [first, *content, {"text": "[SEP]", "pieces": ["[SEP]"], "ids": [2], **special}]


def derivatives(alphas: np.ndarray, words: list[str], scale: float = 1.0) -> np.ndarray:
    """Return [features, points]: for each word a bump somewhere on the path, none for the special tokens."""
    rng = np.random.default_rng(7)
    heights, centres = rng.normal(size=len(words)) * scale, rng.uniform(0.05, 0.95, len(words))
    widths = rng.uniform(0.01, 0.2, len(words))
    bumps = heights[:, None] * np.exp(-(((alphas[None] - centres[:, None]) / widths[:, None]) ** 2))
    return np.pad(bumps, ((1, 1), (0, 0)))


def _common(words: list[str], expected: float) -> Fields:
    return {
        "prediction": {"index": 1, "label": "positive", "probabilities": {"negative": 0.1, "positive": 0.9}},
        "target": {"index": 1, "label": "positive"},
        "features": features(words),
        "cut": 0,
        "start": 0.9 - expected,
        "end": 0.9,
        "expected": expected,
    }


def _exact(words: list[str], scale: float) -> np.ndarray:
    alphas, weights = nodes("midpoint", 20_000)
    return derivatives(alphas, words, scale) @ weights


def integration_body(
    words: list[str] = WORDS, cancels: bool = False, scale: float = 1.0, steps: Sequence[int] = STEPS
) -> IntegrationErrorText:
    """Return ``integration_error`` of one text."""
    exact = _exact(words, scale)
    expected = float(exact.sum())

    def row(rule: str, n: int) -> Fields:
        alphas, weights = nodes(rule, n)
        scores = derivatives(alphas, words, scale) @ weights
        error = None if cancels else float(abs(scores.sum() - expected) / abs(expected))
        return {
            "rule": rule,
            "steps": n,
            "evaluations": len(alphas),
            "approximation_error": error,
            "scores": scores.tolist(),
        }

    rows = [row(rule, n) for rule in RULES for n in steps]
    ideal = {rule: _ideal({r["steps"]: r["approximation_error"] for r in rows if r["rule"] == rule}) for rule in RULES}
    schedule = [row("right", 2**k) for k in range(3, 10)]
    trace = [
        {"evaluations": n, "approximation_error": None if cancels else e, "estimated_error": 2 * e}
        for n, e in ((9, 0.3), (17, 0.04), (31, 0.002))
    ]
    fields = {
        **_common(words, expected),
        "cancels": cancels,
        "rows": rows,
        "ideal_steps": ideal,
        "adaptive": {
            "trace": trace,
            "scores": exact.tolist(),
            "errors": [0.001] * len(exact),
            "alphas": np.linspace(0, 1, 31).tolist(),
        },
        "doubling": None
        if cancels
        else {
            "schedule": [{key: r[key] for key in ("steps", "approximation_error")} for r in schedule],
            "evaluations": 1016,
            "steps": 512,
        },
    }
    return IntegrationErrorText.model_validate(fields)


def path_body(
    steps: tuple[int, ...] = (27, 270), rule: str = "right", words: list[str] = WORDS, cancels: bool = False
) -> PathGradientsText:
    """Return ``path_gradients`` of one text."""
    paths = []
    for n in steps:
        alphas, _ = nodes(rule, n)
        values = derivatives(alphas, words)
        paths.append(
            {
                "steps": n,
                "rule": rule,
                "alphas": alphas.tolist(),
                "total": values.sum(axis=0).tolist(),
                "per_feature": values.tolist(),
            }
        )
    expected = float(_exact(words, 1.0).sum())
    return PathGradientsText.model_validate({**_common(words, expected), "cancels": cancels, "paths": paths})


def data_body(n: int = 40, steps: Sequence[int] = STEPS) -> IntegrationErrorData:
    """Return ``integration_error`` of a data set: errors that fall with the step count, at a pace of each text."""
    rng = np.random.default_rng(3)
    texts = []
    for i in range(n):
        paces = {rule: 10 ** rng.uniform(-1, 1.5) for rule in RULES}
        errors = {r: {str(s): float(paces[r] / s * rng.uniform(0.5, 1.5)) for s in steps} for r in RULES}
        cancels = i == n - 1
        if cancels:
            errors = {r: dict.fromkeys(e) for r, e in errors.items()}
        texts.append(
            {
                "row": i + 1,
                "text": f"<script>text</script> number {i}",
                "text_pair": None,
                "label": "positive",
                "expected": 0.001 if cancels else 0.6,
                "cancels": cancels,
                "errors": errors,
                "ideal_steps": {r: _ideal({int(s): e for s, e in errors[r].items()}) for r in RULES},
                "adaptive": {
                    "evaluations": 40,
                    "approximation_error": None if cancels else 0.004,
                    "estimated_error": 0.01,
                },
            }
        )
    return IntegrationErrorData.model_validate({"texts": texts, "summary": _summary(texts, steps)})


def _summary(texts: list[Fields], steps: Sequence[int]) -> Fields:
    relative = [text for text in texts if not text["cancels"]]
    mean, ideal = {}, {}
    for rule in RULES:
        columns = {str(s): [e for t in relative if (e := t["errors"][rule][str(s)]) is not None] for s in steps}
        mean[rule] = {
            s: {"mean": (m := float(np.mean(v))), "low": 0.8 * m, "high": 1.3 * m, **quartiles(v).model_dump()}
            for s, v in columns.items()
        }
        counted = [t["ideal_steps"][rule] for t in relative]
        ideal[rule] = {**{str(s): counted.count(s) for s in steps}, "none": counted.count(None)}
    within = {rule: sum(v for s, v in ideal[rule].items() if s != "none") for rule in RULES}
    return {
        "mean": mean,
        "ideal_steps": ideal,
        "within_1000": within,
        "adaptive": {key: {"mean": 1.0, "low": None, "high": None} for key in ("evaluations", "approximation_error")},
        "n": len(relative),
        "cancelled": len(texts) - len(relative),
    }


def _ideal(errors: dict[int, float | None], tolerance: float = 0.05) -> int | None:
    return next((n for n, e in sorted(errors.items()) if e is not None and e <= tolerance), None)


def randomisation_body(words: list[str] = WORDS) -> RandomisationText:
    """Return two methods on three units, three draws; the second has no map where everything is random."""
    rng = np.random.default_rng(3)
    units, methods, modes = ["head", "block 1", "embeddings"], ("gradient", "lime"), ("cascading", "independent")
    scores = {method: rng.normal(size=len(words) + 2).tolist() for method in methods}
    none = Interval(mean=0.0, low=-0.3, high=0.3)
    rows, maps = [], []
    for method in methods:
        for mode in modes:
            for unit in units:
                absent = (method, mode, unit) == ("lime", "cascading", "embeddings")
                if not absent:
                    own = rng.normal(size=len(words) + 2).tolist()
                    maps.append(RandomMap(mode=mode, unit=unit, method=method, scores=own))
                for absolute in (False, True):
                    draws = [None] * 3 if absent else rng.uniform(-1, 1, 3).tolist()
                    mean = None if absent else float(np.mean(draws))
                    fields = {"mean": mean, "low": None, "high": None, "n": int(not absent), "undefined": int(absent)}
                    key = {"method": method, "mode": mode, "unit": unit, "absolute": absolute}
                    rows.append(Survival(**key, **fields, draws=draws))
    return RandomisationText(
        **{name: value for name, value in _common(words, 0.5).items() if name not in ("start", "end", "expected")},
        text_seed=0,
        units=units,
        methods=[
            OriginalMap(method=name, id=name, label=name.upper(), signed=name == "lime", scores=np.abs(own).tolist())
            for name, own in scores.items()
        ],
        rows=rows,
        controls=[
            Control(method=name, absolute=absolute, random=none, order=none)
            for name in methods
            for absolute in (False, True)
        ],
        texts=[],
        maps=maps,
    )
