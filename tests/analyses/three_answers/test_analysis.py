"""The study on a tiny grid: its answers, its reuse of stored results, its drawings and its refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import answer_alone, complete, get_study, new_request, read_result
from explainlab.analyses.three_answers import analysis
from explainlab.analyses.three_answers.analysis import about_grid, grid_of
from explainlab.analyses.three_answers.result import ThreeAnswersData
from explainlab.errors import Cancelled, RequestError, UnsupportedError
from explainlab.limits import DEFAULT_LIMITS
from explainlab.request import CompleteRequest
from tests.analyses.roar.grids import SETTINGS, Watching, measure, written
from tests.training.test_train import sentences

CLASS_WORDS = {"negative": {"dull", "awful", "boring"}, "positive": {"bright", "lovely", "moving"}}
MASKED = "masked model"
FIRST, SECOND = "told+others", "told+others+noise"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("data")
    parts = {"train": sentences(120, 1), "validation": sentences(30, 2), "test": sentences(40, 3)}
    return {name: written(folder / f"{name}.csv", part) for name, part in parts.items()}


def asked(
    files: dict[str, str], question: str = "three_answers", model: str = "bilstm_attention", **given: Any
) -> CompleteRequest:
    parameters = {"settings": {**SETTINGS, "epochs": 2}, "seeds": 2, "ratios": [0, 50, 100], **given}
    parameters = {"test": files["test"], "validation": files["validation"], "measures": SECOND, **parameters}
    return complete(new_request(question=question, model=model, data=files["train"], parameters=parameters))


def answered(request: CompleteRequest, watching: Watching) -> AnalysisResult[Any]:
    result = answer_alone(complete(request), watching.context, "cpu", DEFAULT_LIMITS)
    assert isinstance(result, AnalysisResult)
    return result


def _remember(run: Watching, earlier: Watching) -> None:
    """Copy the memory of an ``earlier`` run."""
    for own, known in ((run.context.cache, earlier.context.cache), (run.context.results, earlier.context.results)):
        own.put_many(known.bodies)


class Run:
    """A stopped run, what went on after it, and both contexts."""

    def __init__(self, files: dict[str, str], folder: Path) -> None:
        told = measure("told", lambda word, label, _: float(word in CLASS_WORDS[label]))
        others = measure("others", lambda word, label, _: float(word not in CLASS_WORDS[label]))
        noise = measure("noise", lambda word, label, chance: chance)
        with told, others, noise:
            self.request = asked(files)
            self.before = Watching(folder, most=1, phase=f"{MASKED}: told")
            with pytest.raises(Cancelled):
                answered(self.request, self.before)
            self.after = Watching(folder)
            _remember(self.after, self.before)
            self.result = answered(self.request, self.after)
            self.body: ThreeAnswersData = self.result.body
            self.again = Watching(folder)
            _remember(self.again, self.after)
            self.same = answered(self.request, self.again)
            self.grid = answered(asked(files, "roar"), self.again)
            self.fewer = answered(asked(files, measures=FIRST), self.again)
            knows = {"settings": {"epochs": 1}, "recipe": "bilstm", "seeds": 1, "measures": FIRST}
            (base, *_) = folder.glob("*/masked/model")
            self.of_masked = answered(asked(files, model=str(base), **knows), Watching(folder))
            shutil.rmtree(folder)
            self.lost = Watching(folder)
            _remember(self.lost, self.again)
            self.other = answered(asked(files, measures=FIRST, erasure="log_odds"), self.lost)


@pytest.fixture(scope="module")
def run(files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(analysis, "RESAMPLES", 100)
        return Run(files, tmp_path_factory.mktemp("made"))


def test_what_points_at_the_class_is_first_by_every_answer(run: Run) -> None:
    best = {place.answer: place.measure for place in run.body.places if place.rank.mean == 1}
    assert best == {"plain": "told", "masked": "told", "roar": "told"}
    assert [fact.name for fact in run.body.measures] == ["told", "others", "noise", "random"]
    assert [(tau.first, tau.second) for tau in run.body.taus] == [
        ("plain", "masked"),
        ("plain", "roar"),
        ("masked", "roar"),
    ]
    assert all(tau.mean is not None and -1 <= tau.mean <= 1 for tau in run.body.taus)
    assert run.body.n == 40


def test_the_answer_of_recursive_roar_is_that_of_its_own_study(run: Run) -> None:
    told = {place.measure: place.mean for place in run.body.places if place.answer == "roar"}
    own = {area.measure: area.mean for area in run.grid.body.faithfulness if area.upto == 100}
    assert told == {**own, "random": 0.0}


def test_the_plain_model_is_the_grid_s_and_the_masked_one_learned_from_masks(run: Run) -> None:
    assert run.body.plain.seeds == run.grid.body.performance.seeds
    cards = list(Path(run.after.context.reader.made or "").glob("*/masked/model/config.json"))
    masks = [json.loads(card.read_text())["explainlab_masks"]["masking"] for card in cards]
    assert masks == [True, True]


def test_nothing_is_trained_or_asked_twice(run: Run) -> None:
    assert len(run.before.trained | run.after.trained) == 2 * (3 + 3 + 1)
    assert not run.before.trained & run.after.trained
    assert not run.again.trained, "also with fewer measures, and asked for the grid alone"
    assert run.same.body == run.body
    assert run.fewer.body.plain == run.body.plain
    assert 0.5 < (run.before.spent + run.after.spent) / run.before.expected <= 1.1


def test_models_whose_weights_are_gone_are_made_once_more(run: Run) -> None:
    made = [f"seed {seed}, {which}: training" for seed in (0, 1) for which in ("random, 0% masked, once more", MASKED)]
    assert run.lost.trained == set(made)
    assert run.other.body.masked == run.body.masked
    assert not run.other.body.higher_is_better
    best = {place.answer: place.measure for place in run.other.body.places if place.rank.mean == 1}
    assert best == {"plain": "told", "masked": "told", "roar": "told"}


def test_a_base_that_has_learned_from_masks_is_told(run: Run) -> None:
    assert not [words for words in run.result.warnings if "masked texts before" in words]
    assert [words for words in run.of_masked.warnings if "learned from masked texts" in words]


def test_it_is_read_as_it_was_written_and_drawn(run: Run) -> None:
    record = json.loads(json.dumps(run.result.to_json()))
    assert read_result(record).to_json() == record
    study = get_study("three_answers")
    assert "rank the 4 measures alike" in study.report(run.result).headline
    assert (
        "by Kendall's tau: erasure on the plain model and erasure on the masked model, 1.00"
        in study.report(run.result).headline
    )
    assert "fewer than three seeds" in study.report(run.result).headline
    assert "the masked model" in "\n".join(study.report(run.result).lines)
    charts = figures_of(run.result).charts
    assert [*charts] == ["ranks", "agreement"]
    assert len(charts["ranks"].rows) == 3 * 4
    assert {number.of for number in study.report(run.result).numbers} == {"plain-masked", "plain-roar", "masked-roar"}


def test_a_grid_and_the_question_about_it_lead_to_each_other(files: dict[str, str]) -> None:
    request = asked(files, measures="gradient,input_x_gradient")
    assert grid_of(request) == asked(files, "roar", measures="gradient,input_x_gradient")
    assert about_grid(grid_of(request)) == request


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"measures": "gradient"}, "name one more"),
        ({"measures": "gradient,random"}, "An order needs 3 measures"),
        ({"recursive": "false"}, "recursive=true or both"),
        ({"settings": {"masking": True}}, "leave masking out of the settings"),
        ({"erasure": "plausibility"}, "erasure"),
        ({"erasure": "auprc"}, "compares with a rationale"),
    ],
)
def test_what_cannot_be_compared_is_refused(files: dict[str, str], given: dict[str, Any], told: str) -> None:
    with pytest.raises(RequestError) as refused:
        asked(files, **{"measures": "gradient,input_x_gradient", **given})
    assert told in str(refused.value)


def test_a_metric_that_the_models_cannot_be_asked_by_is_refused_before_any_is_trained(
    files: dict[str, str], tmp_path: Path
) -> None:
    context = Watching(tmp_path)
    request = asked(
        files, model="gpt2", settings={}, measures="gradient,input_x_gradient", erasure="activation_auc:baseline=unk"
    )
    with pytest.raises(UnsupportedError, match="no unk token"):
        answered(request, context)
    assert not context.trained
