"""ROAR on a synthetic problem: the numbers by other code, what 40 draws show, and runs that are stopped."""

from __future__ import annotations

import json
import os
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import explainlab
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import get_analysis, new_request, read_result, request_key
from explainlab.analyses.synthetic_roar.figures import curves, shares, shown_draw
from explainlab.analyses.synthetic_roar.result import SyntheticRoarData
from explainlab.errors import Cancelled, RequestError
from explainlab.figures.declared import Figures
from explainlab.models.classifier import Classifier
from explainlab.models.context import Body, MemoryCache, Receivers, RunContext
from explainlab.testing import check_analysis

A, B = "recursive_roar", "roar"
DRAWS = int((os.environ.get("EXPLAINLAB_FUZZ") and 40) or 8)
"""Draws of the study: with EXPLAINLAB_FUZZ, as in ``.ci/run all``, the 40 on which the paper's claim was checked."""


def run(context: RunContext | None = None, **fields: Any) -> AnalysisResult[SyntheticRoarData]:
    result = explainlab.study(None, "synthetic_roar", context=context, **fields)
    assert isinstance(result, AnalysisResult)
    return result


@pytest.fixture(scope="module")
def many() -> AnalysisResult[SyntheticRoarData]:
    return run(draws=DRAWS)


# Numbers -------------------------------------------------------------------------------------------------------------


def test_recursive_roar_finds_what_the_class_depends_on(many: AnalysisResult[SyntheticRoarData]) -> None:
    body = many.body
    assert len(body.draws) == DRAWS
    assert body.share("ground_truth").found == DRAWS
    assert body.share("worst").found == 0
    recursive, plain = body.share("recursive_roar"), body.share("roar")
    assert recursive.found >= (35 if DRAWS == 40 else DRAWS - 2)
    assert recursive.found > plain.found
    assert recursive.area < plain.area < body.share("worst").area
    for draw in body.draws:
        areas = {order: np.trapezoid(values) for order, values in draw.accuracies.items()}
        assert areas["recursive_roar"] < areas["worst"]
        assert max(areas, key=lambda order: areas[order]) == "worst"
        for order, masked in draw.orders.items():
            assert sorted(masked) == list(range(16))
            assert len(draw.accuracies[order]) == 17
            assert draw.found[order] == (set(masked[:4]) == {0, 1, 2, 3})
        assert len({values[0] for values in draw.accuracies.values()}) == 1
        assert len({values[-1] for values in draw.accuracies.values()}) == 1
        together = {draw.accuracies[order][4] for order in draw.orders if draw.found[order]}
        assert len(together) == 1, "with the same features masked the models are the same"
    for share in body.shares:
        assert share.found == sum(draw.found[share.order] for draw in body.draws)
        assert share.area == pytest.approx(np.mean([np.trapezoid(draw.accuracies[share.order]) for draw in body.draws]))
        assert share.low <= share.mean <= share.high


def test_wilsons_interval(many: AnalysisResult[SyntheticRoarData]) -> None:
    share = many.body.share("roar")
    n, p, z = share.draws, share.found / share.draws, 1.959963984540054
    middle, half = p + z * z / 2 / n, z * (p * (1 - p) / n + z * z / 4 / n / n) ** 0.5
    assert (share.low, share.high) == pytest.approx(
        ((middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n))
    )


def test_one_draw_by_slow_code_of_its_own() -> None:
    """Process rows one by one, with Newton's method in place of scikit-learn."""
    seed, rows = 3, 800
    rng = np.random.default_rng(seed)
    a, d = rng.standard_normal(16), rng.standard_normal(16)

    def drawn(n: int) -> tuple[list[list[float]], list[int]]:
        z, eta, noise = rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal((n, 16))
        x = [
            [(a[j] * z[i] / 10 if j < 4 else 0) + d[j] * eta[i] + noise[i, j] / 10 for j in range(16)] for i in range(n)
        ]
        return x, [1 if z[i] > 0 else 0 for i in range(n)]

    (x, y), (test_x, test_y) = drawn(rows), drawn(200)

    def fitted(seen: list[int]) -> tuple[list[float], float]:
        inputs = np.array([[1.0, *(row[j] for j in seen)] for row in x])
        weights = np.zeros(1 + len(seen))
        for _ in range(30):
            p = np.array([1 / (1 + exp(-own)) for own in inputs @ weights])
            weights += np.linalg.solve((inputs * (p * (1 - p))[:, None]).T @ inputs, inputs.T @ (np.array(y) - p))
        right = 0
        for row, label in zip(test_x, test_y, strict=True):
            score = weights[0] + sum(w * row[j] for w, j in zip(weights[1:], seen, strict=True))
            right += (score > 0) == bool(label)
        return [abs(w) for w in weights[1:]], right / len(test_y)

    def left(masked: list[int]) -> list[int]:
        return [j for j in range(16) if j not in masked]

    full, _ = fitted(left([]))
    recursive: list[int] = []
    while len(recursive) < 16:
        seen = left(recursive)
        weights, _ = fitted(seen)
        recursive.append(seen[weights.index(max(weights))])
    orders = {
        "ground_truth": list(range(16)),
        "worst": [*range(4, 16), *range(4)],
        "roar": sorted(range(16), key=lambda j: -full[j]),
        "recursive_roar": recursive,
    }
    (draw,) = run(draws=1, rows=rows, seed=seed).body.draws
    assert draw.orders == orders
    for name, order in orders.items():
        expected = [fitted(left(order[:n]))[1] for n in range(17)]
        assert draw.accuracies[name] == pytest.approx(expected, abs=0.011)  # two rows on the border


# Runs ----------------------------------------------------------------------------------------------------------------


class Stopping(MemoryCache):
    """The memory of a ``context`` that cancels after ``most`` kept draws; it has plain JSON, and the progress."""

    def __init__(self, most: int) -> None:
        super().__init__()
        progress = Receivers(self.report, self.expect, spend=self.spend)
        self.context = RunContext(progress=progress, check_cancelled=self.check_cancelled, cache=self)
        self.most, self.kept, self.work, self.expected = most, 0, 0.0, 0.0
        self.seen: list[tuple[int, int]] = []

    def put_many(self, bodies: dict[str, Body], renew: bool = False) -> None:
        self.kept += len(bodies)
        super().put_many(json.loads(json.dumps(bodies, allow_nan=False)), renew)

    def check_cancelled(self) -> None:
        if self.kept >= self.most:
            raise Cancelled

    def expect(self, work: float, exact: bool = True) -> None:
        self.expected = work

    def spend(self, work: float) -> None:
        self.work += work

    def report(self, done: int, total: int, phase: str) -> None:
        self.seen.append((done, total))


def test_a_stopped_run_goes_on_to_the_same_result() -> None:
    whole = run(draws=4, rows=300)
    stopping = Stopping(2)
    with pytest.raises(Cancelled):
        run(stopping.context, draws=4, rows=300)
    assert stopping.kept == 2
    stopping.most, stopping.work = 10, 0.0
    rest = run(stopping.context, draws=4, rows=300)
    assert stopping.kept == 4
    assert stopping.work == stopping.expected == 2 * 300
    assert stopping.seen[-1] == (4, 4)
    assert rest.body == whole.body
    again = run(stopping.context, draws=3, rows=300, seed=1)  # of the same draws
    assert stopping.kept == 4
    assert again.body.draws == whole.body.draws[1:]


def test_the_seed_decides_and_nothing_else() -> None:
    first = run(draws=2, rows=200)
    assert run(draws=2, rows=200).body == first.body
    other = run(draws=2, rows=200, seed=1)
    assert other.body.draws[0] == first.body.draws[1]
    assert other.body.draws[1] not in first.body.draws
    assert run(draws=1, rows=201).body.draws[0].accuracies != first.body.draws[0].accuracies


def test_a_record_is_read_back(many: AnalysisResult[SyntheticRoarData]) -> None:
    record = json.loads(json.dumps(many.to_json(), allow_nan=False))
    assert {"model": "", "text": None, "data": None}.items() <= record.items()
    assert list(record["draws"][0]) == ["seed", "orders", "accuracies", "found"]
    assert {"skipped", "sample"}.isdisjoint(record)
    back = read_result(record)
    analysis = get_analysis("synthetic_roar")
    assert back.to_json() == record
    assert analysis.report(back).headline == analysis.report(many).headline
    assert analysis.report(back).lines == analysis.report(many).lines


@pytest.mark.parametrize(
    "damage",
    [
        {"draws": []},
        {"shares": []},
        {"draws": [{"seed": 0, "orders": {}, "accuracies": {}, "found": {}}]},
        {"draws": [{"orders": {"roar": [0] * 16}}]},
        {"draws": [{"accuracies": {"roar": [0.5]}}]},
    ],
)
def test_a_damaged_record_is_not_read(many: AnalysisResult[SyntheticRoarData], damage: dict[str, Any]) -> None:
    record = many.to_json()
    for part in damage.get("draws", ()):
        for name in part.keys() & {"orders", "accuracies"}:
            part[name] = {**record["draws"][0][name], **part[name]} if part[name] else {}
        damage = {"draws": [{**record["draws"][0], **part}]}
    with pytest.raises(ValueError, match="validation error"):
        read_result({**record, **damage})


def test_keys() -> None:
    analysis = get_analysis("synthetic_roar")

    def key(**fields: Any) -> str:
        return request_key(analysis.complete(new_request(question=analysis.id, model="", **fields)), "none")

    assert key() == key(parameters={"draws": 40, "rows": 20_000})
    others = [{"seed": 1}, {"parameters": {"draws": 41}}, {"parameters": {"rows": 200_000}}]
    assert len({key(), *(key(**other) for other in others)}) == 4


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"draws": 0}, "draws = 0"),
        ({"draws": 1_001}, "draws = 1001"),
        ({"rows": 99}, "rows = 99"),
        ({"rows": "many"}, "rows = 'many'"),
        ({"seed": -1}, "seed = -1"),
        ({"draws": 401}, "The limit is 200,000"),
        ({"text": "a film"}, "neither model nor text"),
        ({"data": "embedded:sentiment"}, "neither model nor text"),
        ({"text_pair": "a film"}, "either a text or a data set"),
        ({"columns": {"text": "a"}}, "either a text or a data set"),
        ({"base": "bert"}, "no parameter 'base'"),
    ],
)
def test_bad_input(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        run(**fields)


def test_the_contract_of_analyses(encoder: Classifier) -> None:
    check_analysis(get_analysis("synthetic_roar"), encoder, text=None, data=None, draws=2, rows=200)


# Words and figures ---------------------------------------------------------------------------------------------------


def test_the_headline_says_what_the_numbers_do(many: AnalysisResult[SyntheticRoarData]) -> None:
    words = get_analysis("synthetic_roar").report(many).headline
    recursive, plain = many.body.share("recursive_roar"), many.body.share("roar")
    assert f"first in {recursive.found} of {DRAWS} draws" in words
    apart = "Recursive ROAR finds them more often than ROAR"
    alone = [sum(draw.found[one] > draw.found[two] for draw in many.body.draws) for one, two in ((A, B), (B, A))]
    clear = bool(sum(alone)) and binomtest(alone[0], sum(alone)).pvalue < 0.05
    assert (apart in words) == (clear and recursive.found > plain.found)
    assert ("do not tell the two apart" in words) == (not clear)
    assert f"{recursive.area:.2f} with recursion and {plain.area:.2f} without" in words
    found = {**many.body.draws[0].found, A: False, B: True}
    draws = [draw.model_copy(update={"found": found}) for draw in many.body.draws]
    body = many.body.model_copy(update={"draws": draws})
    other = AnalysisResult(request=many.request, body=body, cost=many.cost)
    assert "ROAR finds them more often than Recursive ROAR" in get_analysis("synthetic_roar").report(other).headline


def test_lines_name_the_seeds_that_differ(many: AnalysisResult[SyntheticRoarData]) -> None:
    lines = get_analysis("synthetic_roar").report(many).lines
    apart = [str(draw.seed) for draw in many.body.draws if draw.found["roar"] != draw.found["recursive_roar"]]
    assert lines[-1].endswith(f": {', '.join(apart)}.")
    assert len(lines) == 6


def test_figures_show_a_draw_and_the_shares(many: AnalysisResult[SyntheticRoarData]) -> None:
    body = many.body
    drawn: Figures = figures_of(many)
    assert list(drawn.charts) == ["synthetic-curves", "synthetic-shares"]
    place = shown_draw(body)
    assert body.draws[place].found["roar"] != body.draws[place].found["recursive_roar"]
    assert all(draw.found["roar"] == draw.found["recursive_roar"] for draw in body.draws[:place])
    first = curves(body)
    assert first.rows == curves(body, place).rows
    assert f"seed {body.draws[place].seed}" in first.title
    other = curves(body, DRAWS - 1)
    assert [list(line.y) for line in other.figure.data] == list(body.draws[-1].accuracies.values())
    assert {row["seed"] for row in other.rows} == {body.draws[-1].seed}
    assert other.rows[1]["last_masked"] == "feature 1, informative"
    with pytest.raises(IndexError):
        curves(body, DRAWS)
    alike = body.model_copy(update={"draws": [body.draws[0].model_copy(update={
        part: {**getattr(body.draws[0], part), "roar": getattr(body.draws[0], part)["recursive_roar"]}
        for part in ("found", "accuracies")
    })]})  # fmt: skip
    assert shown_draw(alike) == 0
    (points,) = shares(body).figure.data
    assert list(points.x) == [share.mean for share in body.shares]
