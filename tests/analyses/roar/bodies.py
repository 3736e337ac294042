"""Answers of ROAR made by hand: plausible curves of five seeds, and the other states of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from explainlab.analyses.base import AnalysisResult, Sampled
from explainlab.analyses.registry import complete
from explainlab.analyses.roar.result import RoarData
from explainlab.request import Request
from explainlab.result import Cost

Fields = dict[str, Any]

MEASURES = {
    "attention_last": "Attention, last layer",
    "gradient:norm=one_hot": "Gradient (one-hot)",
    "integrated_gradients:rule=right:baseline=zero": "Integrated gradients",
    "random": "Random",
}
STRENGTHS = {
    (True, "attention_last"): 0.55,
    (True, "gradient:norm=one_hot"): 0.45,
    (True, "integrated_gradients:rule=right:baseline=zero"): 0.01,
    (False, "attention_last"): 0.25,
    (False, "gradient:norm=one_hot"): 0.0,
    (False, "integrated_gradients:rule=right:baseline=zero"): -0.15,
}
"""The bend of a curve from that of random words towards the lower bound."""
RATIOS = tuple(range(0, 101, 10))
WORDS = [
    "A",
    "<b>but</b>",
    "<script>alert(1)</script>",
    "warm",
    "שלום",
    "\u202efilm\u202c",
    "<img src=x onerror=alert(2)>",
]
TEXT = " ".join(WORDS)
_NOISE = 0.012


def roar_body(
    seeds: int = 5,
    recursive: Sequence[bool] = (True,),
    counted: bool = False,
    leaks: bool = False,
    done: int | None = None,
    failed: bool = False,
    text: str = TEXT,
    labels: Sequence[str] = ("negative", "positive"),
) -> RoarData:
    """Return a whole grid; ``done`` keeps its first ratios only, ``failed`` adds a model that cannot be made."""
    ratios = [0, *range(1, 11), 100] if counted else list(RATIOS)
    grid = _performances(ratios, seeds, recursive, leaks)
    known = len(ratios) if done is None else done
    for key, values in grid.items():
        values[:, known:] = np.nan
        if failed and key == (True, "attention_last"):
            values[1, 4:-1] = np.nan
    shared = grid[False, "random"]
    nodes = [node for key in grid for node in _nodes(key, grid[key], ratios, failed)]
    kinds = [key for key in grid if key[1] != "random"]
    fields: Fields = {
        "base": "bilstm_attention",
        "labels": list(labels),
        "metric": "macro_f1",
        "seeds": list(range(seeds)),
        "measures": [{"name": name, "label": label, "random": name == "random"} for name, label in MEASURES.items()],
        "recursive": list(recursive),
        "ratios": ratios,
        "counted": counted,
        "performance": _estimated(shared[:, 0]),
        "lower_bound": _estimated(shared[:, -1]),
        "curves": [point for key in grid for point in _curve(key, grid[key], shared, ratios)],
        "faithfulness": [
            _faithful(key, grid[key], shared, ratios, upto)
            for key in kinds
            for upto in (ratios[2], ratios[5], ratios[-1])
        ],
        "leakage": [
            {"measure": name, "recursive": kind, "before": ratios[5], "ratio": ratios[6], "rise": 0.12}
            for kind, name in kinds
            if leaks and name == "gradient:norm=one_hot"
        ],
        "sparsity": [
            {
                "measure": name,
                "tokens": [round(1 - 0.7 ** ((i + 1) * pace), 4) for i in range(10)],
                "percents": [round(1 - 0.5 ** ((i + 1) * pace), 4) for i in range(9)] + [1.0],
            }
            for name, pace in zip(MEASURES, (1.5, 0.8, 0.6), strict=False)
        ],
        "lengths": [
            {"split": "train", "texts": 400, "mean": 18.4, "deviation": 8.1},
            {"split": "validation", "texts": 70, "mean": 18.1, "deviation": 8.4},
            {"split": "test", "texts": 120, "mean": 19.0, "deviation": 7.9},
        ],
        "nodes": nodes,
        "costs": [
            {
                "measure": name,
                "recursive": kind,
                "training": 31.0 * seeds,
                "importance": 0.0 if name == "random" else 4.0 * seeds * (place + 1),
            }
            for place, (kind, name) in enumerate(grid)
        ],
        "unfinished": sum(node["status"] in ("waiting", "running") for node in nodes),
        "failed": sum(node["status"] in ("failed", "not run") for node in nodes),
        "short": 3 if counted else 0,
        "texts": [_text(row, text, list(grid), ratios) for row in range(1, 5)],
    }
    return RoarData.model_validate(fields)


def roar_result(body: RoarData, **fields: Any) -> AnalysisResult[RoarData]:
    """Return ``body`` as the answer to a request for it."""
    kinds = {(True,): "true", (False,): "false"}.get(tuple(body.recursive), "both")
    measures = [measure.name for measure in body.measures if not measure.random]
    parameters: Fields = {"test": "embedded:sentiment", "measures": measures, "recursive": kinds}
    parameters |= {"seeds": len(body.seeds)}
    parameters |= {"counts": body.ratios[1:-1]} if body.counted else {"ratios": body.ratios}
    request = Request(model=body.base, data="embedded:sentiment", question="roar", parameters={**parameters, **fields})
    return AnalysisResult(
        request=complete(request),
        body=body,
        sample=Sampled(drawn="all", rows=470, total=470, seed=0),
        cost=Cost(0, 0, 812.0),
        warnings=(),
        versions={"model": f"architecture:{body.base}"},
    )


def _performances(
    ratios: Sequence[int], seeds: int, recursive: Sequence[bool], leaks: bool
) -> dict[tuple[bool, str], np.ndarray]:
    """Return float64 [seeds, ratios] for each kind and measure; all share the models of whole and of masked texts."""
    rng = np.random.default_rng(5)
    x = np.linspace(0, 1, len(ratios))
    random = 0.82 - 0.47 * x**3 + rng.normal(0, _NOISE, (seeds, len(ratios)))
    grid = {(False, "random"): random}
    for kind in recursive:
        for name in MEASURES:
            if name == "random":
                continue
            bend = STRENGTHS[kind, name] * (4 * x * (1 - x)) * (random - random[:, -1:])
            values = random - bend + rng.normal(0, _NOISE, random.shape)
            values[:, [0, -1]] = random[:, [0, -1]]
            if leaks and name == "gradient:norm=one_hot":
                values[:, 6:-1] += 0.12
            grid[kind, name] = values
    return grid


def _estimated(values: np.ndarray) -> Fields:
    """Return the mean over seeds with an interval as wide as twice its standard error."""
    known = values[~np.isnan(values)]
    listed = [None if np.isnan(value) else float(value) for value in values]
    if not len(known) or len(known) < len(values):
        return {"mean": None if not len(known) else float(known.mean()), "low": None, "high": None, "seeds": listed}
    mean, half = float(known.mean()), float(2 * known.std() / np.sqrt(len(known)))
    ends = (mean - half, mean + half) if len(known) >= 3 else (None, None)
    return {"mean": mean, "low": ends[0], "high": ends[1], "seeds": listed}


def _verdict(difference: Fields) -> str | None:
    low, high = difference["low"], difference["high"]
    if low is None or high is None:
        return None
    return "below random" if low > 0 else "above random" if high < 0 else "not told apart"


def _curve(key: tuple[bool, str], values: np.ndarray, shared: np.ndarray, ratios: Sequence[int]) -> list[Fields]:
    points = []
    for i, ratio in enumerate(ratios):
        point: Fields = {"measure": key[1], "recursive": key[0], "ratio": ratio, **_estimated(values[:, i])}
        if key[1] != "random" and 0 < i < len(ratios) - 1:
            difference = _estimated(shared[:, i] - values[:, i])
            point |= {"difference": difference, "verdict": _verdict(difference)}
        points.append(point)
    return points


def _faithful(
    key: tuple[bool, str], values: np.ndarray, shared: np.ndarray, ratios: Sequence[int], upto: int
) -> Fields:
    last = list(ratios).index(upto) + 1
    x = np.array(ratios[:last], dtype=np.float64)
    over = np.trapezoid(shared[:, :last] - values[:, :last], x, axis=1)
    whole = np.trapezoid(shared[:, :last] - shared[:, -1:], x, axis=1)
    return {
        "measure": key[1],
        "recursive": key[0],
        "upto": upto,
        **_estimated(over / whole),
        "verdict": _verdict(_estimated(over)),
    }


def _nodes(key: tuple[bool, str], values: np.ndarray, ratios: Sequence[int], failed: bool) -> list[Fields]:
    kind, name = key
    nodes = []
    for seed in range(len(values)):
        for i, ratio in enumerate(ratios):
            if name != "random" and i in (0, len(ratios) - 1):
                continue
            value = float(values[seed, i])
            node: Fields = {"seed": seed, "measure": name, "recursive": kind, "ratio": ratio, "status": "done"}
            if not np.isnan(value):
                node |= {"seconds": 3.1, "importance": 0.4, "epochs": 8, "best_epoch": 5, "performance": value}
            elif failed and key == (True, "attention_last") and seed == 1:
                reason = "The loss of the training is not a number." if i == 4 else "The model at 40% failed."
                node |= {"status": "failed" if i == 4 else "not run", "reason": reason}
            else:
                before = np.isnan(values[seed, i - 1])
                node["status"] = "waiting" if before or seed else "running"
            nodes.append(node)
    return nodes


def _text(row: int, text: str, kinds: Sequence[tuple[bool, str]], ratios: Sequence[int]) -> Fields:
    """Return a text of class positive, whose ``row`` decides from which ratio on each measure's model is wrong."""
    tokens, end = [], 0
    for word in text.split(" "):
        tokens.append({"start": end, "end": end + len(word)})
        end += len(word) + 1
    masked = []
    for place, (kind, name) in enumerate(kinds):
        first_wrong = row + place if row < 4 else 0
        rng = np.random.default_rng(row * 10 + place)
        order = rng.permutation(len(tokens))
        at = [1 + int(rank) * (len(ratios) - 2) // len(tokens) for rank in order]
        right = [i < first_wrong for i in range(len(ratios))]
        masked.append(
            {
                "measure": name,
                "recursive": kind,
                "at": at,
                "predicted": [int(ok) for ok in right],
                "probability": [round(0.95 - 0.04 * i if ok else 0.4 - 0.02 * i, 3) for i, ok in enumerate(right)],
            }
        )
    return {"row": row, "text": text, "text_pair": None, "label": 1, "tokens": tokens, "masked": masked}
