"""Methods with equal budgets: every number again by single runs; a method with nothing random has one map."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from explainlab import explain, study
from explainlab.analyses.ablation.figures import ablation
from explainlab.analyses.ablation.result import AblationData, AblationText, MeanMethodChoices, MethodChoices, Passes
from explainlab.analyses.attributions import text_seed
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import studies
from explainlab.attribution.subject import Subject
from explainlab.errors import RequestError
from explainlab.metrics.comparison import bootstrap
from explainlab.metrics.evaluate import Case, evaluate
from explainlab.metrics.registry import parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from tests.attribution.plain import close

TEXT = "A funny film. It isn't good, and the plot is thin!"
METRICS = "comprehensiveness,sufficiency"
METHODS = "rpi,kernel_shap,integrated_gradients"
SETTINGS = {
    "rpi": {"steps": 3, "layers": "all"},
    "kernel_shap": {"samples": "4n"},
    "integrated_gradients": {"rule": "midpoint", "steps": 4},
}
R = 5

Body = AblationText | AblationData


@pytest.fixture(scope="module")
def body(encoder: Classifier) -> AblationText:
    return study(encoder, "ablation", TEXT, methods=METHODS, metrics=METRICS, samples=R, settings=SETTINGS).body


def values(classifier: Classifier, maps: list[np.ndarray], metric: str) -> list[float]:
    subject = Subject(classifier, classifier.encode(TEXT))
    case = Case(subject.encoding, subject.units, subject.original, subject.target.index, np.stack(maps))
    (rows,) = evaluate([case], [parse_metric(metric)], Batcher(classifier, RunContext()))
    return [row[0].value for row in rows]


def of(body: Body, method: str) -> MethodChoices | MeanMethodChoices:
    return next(one for one in body.methods if one.method == method)


def test_random_is_always_there_and_one_map_where_nothing_is_random(body: Body) -> None:
    assert [one.method for one in body.methods] == [*METHODS.split(","), "random"]
    assert [one.maps for one in body.methods] == [R, R, 1, R]
    own = of(body, "integrated_gradients").selection["comprehensiveness"]
    assert own.first == own.mean == own.best == own.held_out["sufficiency"]


@pytest.mark.parametrize("method", ["kernel_shap", "random"])
def test_a_method_is_run_once_for_every_seed(encoder: Classifier, body: Body, method: str) -> None:
    seed = text_seed(Subject(encoder, encoder.encode(TEXT)))
    seeds = [seed, *map(int, np.random.SeedSequence(seed).generate_state(R - 1))]
    maps = [explain(encoder, TEXT, method, seed=each, **SETTINGS.get(method, {})).scores for each in seeds]
    found = of(body, method).selection
    comprehensive, sufficient = (values(encoder, maps, metric) for metric in METRICS.split(","))
    told = found["comprehensiveness"]
    assert told.first == pytest.approx(comprehensive[0], abs=1e-6)
    assert told.mean == pytest.approx(np.mean(comprehensive), abs=1e-6)
    assert told.best == pytest.approx(max(comprehensive), abs=1e-6)
    assert told.held_out == {"sufficiency": pytest.approx(comprehensive[int(np.argmin(sufficient))], abs=1e-6)}
    assert found["sufficiency"].best == pytest.approx(min(sufficient), abs=1e-6)


def test_rpi_gives_the_first_draws_of_its_candidates(encoder: Classifier, body: Body) -> None:
    seed = text_seed(Subject(encoder, encoder.encode(TEXT)))
    drawn = study(encoder, "rpi_candidates", TEXT, samples=R, steps=3, layers="all", metrics=METRICS, seed=seed).body
    maps = [one.metrics for one in drawn.candidates[:R]]
    for metric, choose in (("comprehensiveness", max), ("sufficiency", min)):
        told = of(body, "rpi").selection[metric]
        assert told.first == pytest.approx(maps[0][metric], abs=1e-6)
        assert told.best == pytest.approx(choose(one[metric] for one in maps), abs=1e-6)


def test_costs_are_those_of_single_runs(encoder: Classifier, body: Body) -> None:
    alone = explain(encoder, TEXT, "integrated_gradients", **SETTINGS["integrated_gradients"]).cost
    assert of(body, "integrated_gradients").cost == Passes(forward=alone.forward, backward=alone.backward)
    alone = explain(encoder, TEXT, "kernel_shap", **SETTINGS["kernel_shap"]).cost
    assert of(body, "kernel_shap").cost.forward == R * alone.forward


def test_the_pass_of_the_prediction_is_no_cost_of_the_first_method(encoder: Classifier) -> None:
    body = study(encoder, "ablation", TEXT, methods="occlusion", metrics=METRICS, samples=2).body
    alone = explain(encoder, TEXT, "occlusion").cost
    assert body.methods[0].cost == Passes(forward=alone.forward, backward=alone.backward)


def test_warnings_of_a_method_are_told_once_with_its_name(encoder: Classifier) -> None:
    narrow = {"kernel_width": 0.01, "samples": 20}
    asked = {"methods": "occlusion,lime", "settings": {"lime": narrow}, "metrics": METRICS, "samples": 3}
    result = study(encoder, "ablation", TEXT, **asked)
    (alone,) = explain(encoder, TEXT, "lime", **narrow).warnings
    assert result.warnings == (f"LIME: {alone}",)


def test_where_a_seed_changes_nothing_there_is_one_map(encoder: Classifier) -> None:
    """KernelSHAP at 2n reads the same coalitions whatever the seed: they are run once, for its only map."""
    asked = {"methods": "occlusion,kernel_shap", "metrics": METRICS, "samples": 24}
    result = study(encoder, "ablation", TEXT, **asked)
    shap = of(result.body, "kernel_shap")
    alone = explain(encoder, TEXT, "kernel_shap", seed=5)
    assert shap.maps == 1
    assert shap.cost == Passes(forward=alone.cost.forward, backward=0)
    told = shap.selection["comprehensiveness"]
    assert (
        told.first
        == told.mean
        == told.best
        == pytest.approx(values(encoder, [alone.scores], METRICS.split(",")[0])[0], abs=1e-6)
    )
    drawn = ablation(result.body, "comprehensiveness").figure.data[0]
    assert any("KernelSHAP" in name and "1 map," in name for name in drawn.y)


def test_texts_of_a_data_set_may_differ_in_what_a_seed_changes(encoder: Classifier, tmp_path) -> None:
    """Twelve samples are 2n for the text of 6 tokens only."""
    path = tmp_path / "rows.csv"
    path.write_text('text\n"a film a film a film"\n"a good film, a good film"\n', encoding="utf-8")
    asked = {"methods": "kernel_shap", "settings": {"kernel_shap": {"samples": 12}}, "metrics": METRICS, "samples": 3}
    body = study(encoder, "ablation", data=str(path), **asked).body
    assert [row.methods[0].maps for row in body.texts] == [1, 3]
    assert of(body, "kernel_shap").maps == 3


def test_no_method_is_ahead_where_the_metric_cannot_tell(encoder: Classifier) -> None:
    result = study(encoder, "ablation", "A good film.", methods="occlusion", metrics="comprehensiveness", samples=3)
    told = studies()["ablation"].report(result).headline
    none = "none is ahead: it is 0.000 for all of them"
    maps = f"with their first maps {none}; with the best of all their maps {none}"
    assert told == f"By Comprehensiveness (RPI) on this text, {maps}."


def test_a_data_set_has_means_with_intervals(encoder: Classifier, tmp_path) -> None:
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text",), (TEXT,), ("A warm film.",), ("Dull and slow!",)])
    asked = {"methods": "occlusion", "metrics": METRICS, "samples": 3}
    result = study(encoder, "ablation", data=str(path), **asked)
    alone = [study(encoder, "ablation", text.text, **asked).body for text in result.body.texts]
    assert result.body.summary.n == len(alone) == 3
    for method in ("occlusion", "random"):
        told = of(result.body, method).selection["comprehensiveness"]
        for part in ("first", "mean", "best"):
            each = [getattr(of(one, method).selection["comprehensiveness"], part) for one in alone]
            close(np.array([getattr(told, part).mean]), np.array([np.mean(each)]), 1e-5)
            assert getattr(told, part).low == pytest.approx(bootstrap(each)[1], abs=1e-6)


def test_what_cannot_be_is_refused(encoder: Classifier) -> None:
    with pytest.raises(RequestError, match="samples"):
        study(encoder, "ablation", TEXT, samples=0)
    with pytest.raises(RequestError, match="no_method"):
        study(encoder, "ablation", TEXT, methods="no_method")


def test_the_second_text_of_a_pair_is_kept(encoder: Classifier, tmp_path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("text,text_b,label\na good film,a bad plot,0\n")
    asked = {
        "ablation": {"methods": "occlusion", "samples": 2, "metrics": "log_odds"},
        "evaluation": {"methods": "occlusion", "metrics": "log_odds"},
        "judged_map": {"scores": list(range(len(encoder.encode("a good film", "a bad plot"))))},
        "trust": {"method": "occlusion"},
    }
    for name, parameters in asked.items():
        (row,) = study(encoder, name, data=str(path), **parameters).body.texts
        assert (row.text, row.text_pair) == ("a good film", "a bad plot"), name


def test_a_data_set_leaves_out_texts_that_are_too_short(encoder: Classifier, tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f'text\n"{TEXT}"\nA good film.\n', encoding="utf-8")
    result = study(encoder, "ablation", data=str(path), methods="gradient", metrics="comprehensiveness", samples=2)
    body, key = result.body, "comprehensiveness"
    assert [text.counted[key] > 0 for text in body.texts] == [True, False]
    for place, own in enumerate(body.methods):
        assert own.selection[key].first.mean == pytest.approx(body.texts[0].methods[place].selection[key].first)
        assert body.values(own.method, key, "best") == [body.texts[0].methods[place].selection[key].best]
    study_ = studies()["ablation"]
    assert {number.n for number in study_.report(result).numbers} == {1}
    assert "1 of 2 texts, as 20% of a text is less than one feature" in study_.report(result).headline


def test_a_data_set_of_short_texts_alone_has_no_mean(encoder: Classifier, tmp_path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text\ngood film\ndull\n", encoding="utf-8")
    result = study(
        encoder, "ablation", data=str(path), methods="gradient", metrics="comprehensiveness,sufficiency", samples=2
    )
    for own in result.body.methods:
        assert own.selection["comprehensiveness"].best.mean is None
    said = studies()["ablation"].report(result).headline
    assert said.startswith("Left out by ")
    assert "2 of 2 texts" in said
    assert json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert figures_of(result).charts
    assert studies()["ablation"].report(result).lines
