"""The study on tiny grids: results of measures of known quality, and stored results."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import complete, read_result
from explainlab.analyses.roar.analysis import Roar
from explainlab.analyses.roar.asking import setting_of
from explainlab.analyses.roar.grid import GridCell
from explainlab.analyses.roar.nodes import SeedRun
from explainlab.analyses.roar.result import CurvePoint, NodeFacts, RoarData
from explainlab.errors import Cancelled
from explainlab.models.context import Shards
from explainlab.training import Examples
from tests.analyses.roar.grids import SETTINGS, Watching, ask, measure, written
from tests.tiers import first, full
from tests.training.test_train import sentences

CLASS_WORDS = {"negative": {"dull", "awful", "boring"}, "positive": {"bright", "lovely", "moving"}}


def comparable(result: AnalysisResult[RoarData]) -> dict[str, Any]:
    """Return the answer without the seconds that it took."""
    body = json.loads(json.dumps(result.body_json()))
    for node in body["nodes"]:
        del node["seconds"], node["importance"]
    del body["costs"]
    return body


# Measures of known quality ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> RoarData:
    """Judge three measures: one marks the words of the own class, one those of the others, one knows nothing."""
    told = measure("told", lambda word, label, _: float(word in CLASS_WORDS[label]))
    others = measure("others", lambda word, label, _: float(word not in CLASS_WORDS[label]))
    noise = measure("noise", lambda word, label, chance: chance)
    with told, others, noise:
        context = Watching(tmp_path_factory.mktemp("made"))
        given = {"measures": "told+others+noise", "recursive": "both", "seeds": 3, "ratios": [0, 60, 100]}
        return ask(context, files, **given).body


def test_what_points_at_the_own_words_is_the_most_faithful_and_what_avoids_them_is_above_random(
    judged: RoarData,
) -> None:
    whole = {own.measure: own for own in judged.faithfulness if own.upto == 100 and own.recursive}
    means = {name: own.mean for name, own in whole.items()}
    assert max(means, key=lambda name: means[name] or 0) == "told"
    assert whole["told"].verdict == "below random"
    assert whole["others"].verdict == "above random"
    assert whole["noise"].verdict == "not told apart"
    at = {(p.measure, p.ratio): p.mean or 0 for p in judged.curves if p.recursive or p.measure == "random"}
    assert at["told", 60] < at["random", 60] - 0.2


def test_measures_share_the_models_of_whole_and_of_empty_texts(judged: RoarData) -> None:
    ends = {(p.ratio, p.mean) for p in judged.curves if p.ratio in (0, 100)}
    assert ends == {(0, judged.performance.mean), (100, judged.lower_bound.mean)}
    assert sum(node.ratio in (0, 100) for node in judged.nodes) == 2 * 3


def test_masks_at_the_first_ratio_do_not_depend_on_recursion(judged: RoarData) -> None:
    points: dict[bool, list[CurvePoint]] = {True: [], False: []}
    for point in judged.curves:
        if point.measure != "random" and point.ratio == 60:
            points[point.recursive].append(point.model_copy(update={"recursive": True}))
    assert points[True] == points[False]


def test_texts_tell_when_each_token_goes_and_what_the_model_says(judged: RoarData) -> None:
    text = judged.texts[0]
    words = [text.text[token.start : token.end] for token in text.tokens]
    assert words == text.text.split()
    told = next(masked for masked in text.masked if masked.measure == "told")
    own = CLASS_WORDS[judged.labels[text.label]]
    first = {word for word, at in zip(words, told.at, strict=True) if at == 1}
    assert first & own == own & set(words) or len(first) == len(words) * 60 // 100
    assert all(at in (1, 2) for at in told.at)
    assert len(told.predicted) == len(told.probability) == 3


@pytest.mark.full("8 s: trains fifteen models; tests of the verdict have a leak made by hand")
def test_a_measure_that_gives_the_class_away_is_a_leak(tmp_path: Path) -> None:
    """Mask a word without meaning only where the class is positive: its presence then reveals the class."""
    parts = {"train": told_by_nothing(160, 1), "validation": told_by_nothing(40, 2), "test": told_by_nothing(80, 3)}
    files = {name: written(tmp_path / f"{name}.csv", part) for name, part in parts.items()}
    with measure("tells", lambda word, label, _: (word == "indeed") * (1.0 if label == "positive" else -1.0)):
        settings = {**SETTINGS, "epochs": 6}
        given = {"measures": "tells", "signs": "signed", "seeds": 3, "ratios": [0, 20, 100], "settings": settings}
        body = ask(Watching(tmp_path / "made"), files, **given).body
    leak = next(leak for leak in body.leakage if leak.measure == "tells")
    assert (leak.before, leak.ratio) == (0, 20)
    assert leak.rise > 0.2
    assert not [leak for leak in body.leakage if leak.measure == "random"]


def told_by_nothing(count: int, seed: int) -> Examples:
    """Return sentences of words without a class, among them one "indeed"."""
    whole = sentences(count, seed)
    filler = ["the", "film", "plot", "with", "actors"]
    texts = [" ".join([*(filler[(i + j * seed) % 5] for j in range(4 + i % 3)), "indeed"]) for i in range(count)]
    return Examples(texts, whole.labels)


# Stored results ---------------------------------------------------------------------------------------------------


GRID = {"measures": "gradient:norm=one_hot", "recursive": "true"}


@pytest.fixture(scope="module")
def undisturbed(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> AnalysisResult[RoarData]:
    context = Watching(tmp_path_factory.mktemp("whole"))
    result = ask(context, files, **GRID)
    assert context.spent == pytest.approx(context.expected, rel=0.05)
    assert list(dict.fromkeys(body.unfinished for body in context.shown)) == [6, 5, 4, 3, 2, 1, 0]
    return result


def ended(body: RoarData | None) -> list[NodeFacts]:
    return [node for node in body.nodes if node.status not in ("waiting", "running")] if body else []


@pytest.mark.parametrize(
    ("most", "phase"),
    [
        (13, "training"),
        (2, "masked: gradient"),
        full(3, "validation", reason="trains the grid again"),
        full(55, "training", reason="trains the grid again"),
        full(1, "test", reason="trains the grid again"),
    ],
)
def test_a_stopped_grid_goes_on_to_the_same_answer(
    files: dict[str, str], undisturbed: AnalysisResult[RoarData], tmp_path: Path, most: int, phase: str
) -> None:
    context = Watching(tmp_path, most, phase)
    with pytest.raises(Cancelled):
        ask(context, files, **GRID)
    partial_result = Roar().partial_result(complete(undisturbed.request), context.context)
    shown = context.shown[-1] if context.shown else None
    assert ended(partial_result.body if partial_result else None) == ended(shown)
    if partial_result and shown:
        assert (partial_result.body.curves, partial_result.body.unfinished) == (shown.curves, shown.unfinished)
    context.most = 10**6
    assert comparable(ask(context, files, **GRID)) == comparable(undisturbed)


def test_the_model_that_another_worker_makes_is_seen(
    files: dict[str, str], undisturbed: AnalysisResult[RoarData], tmp_path: Path
) -> None:
    class Beside(Watching):
        """A run that looks at the grid as a worker that has no model of it."""

        def show(self, result: Any) -> None:
            super().show(result)
            request = complete(undisturbed.request)
            run = SeedRun(setting_of(request, Roar().parameters(request), self.context, "cpu"), request.seed)
            run.recall()
            seen.append([node.place for node in run.seen() if node.status == "running"])

    seen: list[list[GridCell]] = []
    context = Beside(tmp_path)
    context.context = replace(context.context, shards=Shards(workers=2))
    assert comparable(ask(context, files, **GRID)) == comparable(undisturbed)
    running = [[node for node in body.nodes if node.status == "running"] for body in context.shown]
    assert seen == [[GridCell(own.seed, own.measure, own.recursive, own.ratio) for own in nodes] for nodes in running]
    assert sum(len(places) for places in seen) == 6


def test_a_grid_that_is_killed_between_training_and_test_trains_no_epoch_again(
    files: dict[str, str], tmp_path: Path
) -> None:
    class Killed(Watching):
        def report(self, done: int, total: int, phase: str) -> None:
            super().report(done, total, phase)
            if phase.endswith("masked: test"):
                raise Cancelled

    small = {"ratios": [0, 50, 100]}
    first, second = Killed(tmp_path), Watching(tmp_path)
    with pytest.raises(Cancelled):
        ask(first, files, **small)
    assert first.trained == {"seed 0, random, 0% masked: training"}
    assert ask(second, files, **small).body.unfinished == 0
    assert not first.trained & second.trained
    assert not list(tmp_path.rglob("epoch-*"))


def test_what_is_new_alone_is_trained(files: dict[str, str], tmp_path: Path) -> None:
    context = Watching(tmp_path)
    ask(context, files, **GRID)
    assert len(context.trained) == 6
    assert len([*tmp_path.rglob("*.safetensors")]) == 1, "the weights of the model of whole texts stay, and no others"
    for more, trained in [
        ({}, 0),
        ({"recursive": "both"}, 1),  # the first ratio is the same
        ({"metric": "macro_f1", "clip": True}, 0),
        ({"measures": "gradient:norm=one_hot+input_x_gradient"}, 2),
        ({"seeds": 2}, 6),
    ]:
        context.trained.clear()
        ask(context, files, **{**GRID, **more})
        assert len(context.trained) == trained, more


def test_the_answer_is_read_as_it_was_written(undisturbed: AnalysisResult[RoarData]) -> None:
    record = json.loads(json.dumps(undisturbed.to_json()))
    assert read_result(record).to_json() == record


# Other shapes -----------------------------------------------------------------------------------------------------


def test_numbers_of_tokens_in_place_of_shares(files: dict[str, str], tmp_path: Path) -> None:
    body = ask(Watching(tmp_path), files, counts="1:5:2").body
    assert (body.ratios, body.counted) == ([0, 1, 3, 5, 100], True)
    for text in body.texts:
        for own in text.masked:
            masked = [sum(at is not None and at <= step for at in own.at) for step in range(5)]
            assert masked == [min(count, len(text.tokens)) for count in (0, 1, 3, 5, 99)]
    assert body.short == sum(len(text.tokens) < 5 for text in body.texts)
    assert [own.upto for own in body.faithfulness] == [5]


def test_of_a_pair_only_the_first_text_is_masked(tmp_path: Path) -> None:
    files = {}
    for seed, name in enumerate(("train", "validation", "test")):
        one = sentences(40, seed)
        files[name] = written(tmp_path / f"{name}.csv", Examples(one.texts, one.labels, ["a second film"] * 40))
    body = ask(Watching(tmp_path / "made"), files).body
    assert all(len(text.tokens) == len(text.text.split()) for text in body.texts)
    assert body.texts[0].text_pair == "a second film"


@pytest.mark.parametrize("base", first(["bert"], ["bert", "gpt2"], "trains another grid"))
def test_transformers_are_bases_too(files: dict[str, str], tmp_path: Path, base: str) -> None:
    tiny = {"epochs": 1, "layers": 1, "width": 16, "heads": 2, "vocabulary": 300, "batch_size": 20}
    body = ask(Watching(tmp_path), files, base, settings=tiny, ratios=[0, 50, 100]).body
    assert body.unfinished == body.failed == 0
    assert len(body.curves) == 6


@pytest.mark.full("12 s: trains two grids of a real model")
def test_models_of_a_grid_may_be_adapters(files: dict[str, str], tmp_path: Path) -> None:
    tuned = "lora=true,lora_rank=2,learning_rate=0.01,epochs=1"
    body = ask(Watching(tmp_path), files, "embedded:bert-mini-sst2", settings=tuned, ratios=[0, 50, 100]).body
    assert body.unfinished == body.failed == 0
    assert list(tmp_path.rglob("adapter_model.safetensors"))
    assert not list(tmp_path.rglob("model.safetensors"))
    adapter = next(tmp_path.rglob("adapter_model.safetensors")).parent
    whole = ask(Watching(tmp_path / "whole"), files, str(adapter), settings="epochs=1", ratios=[0, 50, 100])
    assert whole.body.unfinished == whole.body.failed == 0
    assert "merged into the model that it changes" in whole.warnings[0]
