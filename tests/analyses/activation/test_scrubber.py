"""The activation scrubber's payload against the study's result: every map, both orders, the classes, and its files."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from explainlab import load_model, study
from explainlab.analyses.activation.figures import MOST_CLASSES, OTHERS, ActivationScrubber, activation_scrubber
from explainlab.analyses.activation.result import ActivationText
from explainlab.attribution.records import Target
from explainlab.figures.heatmap import number
from explainlab.models.classifier import Prediction
from explainlab.request import Request

TEXT = "<b>A champion</b> sued the phone maker 🙂, and the court agreed."
MODEL = "embedded:gpt2-mini-ag-news"
ASKED = {"methods": ["occlusion", "input_x_gradient:reduction=l2"], "unit": "word"}
REQUEST = Request(model=MODEL, text=TEXT, unit="word", question="occlusion")


@pytest.fixture(scope="module")
def body() -> ActivationText:
    return study(load_model(MODEL, device="cpu"), "activation", TEXT, **ASKED).body


@pytest.fixture(scope="module")
def scrubber(body) -> ActivationScrubber:
    return activation_scrubber(REQUEST, body)


def test_every_method_brings_its_own_map(body, scrubber) -> None:
    assert [method.label for method in scrubber.methods] == [one.label for one in body.methods]
    for method, one in zip(scrubber.methods, body.methods, strict=True):
        top = max(abs(score) for score in one.scores)
        assert [token.score for token in method.tokens] == one.scores
        assert [token.strength for token in method.tokens] == pytest.approx([abs(s) / top for s in one.scores])
        assert method.limit_value == number(top, signed=False)
        assert method.signed == one.signed
    assert [method.signed for method in scrubber.methods] == [True, False, False], "an L2 norm and random have no sign"
    assert not any(token.value.startswith(("+", "−")) for token in scrubber.methods[-1].tokens)


def test_every_order_tells_what_each_class_has_after_each_feature(body, scrubber) -> None:
    labels, shown = list(body.prediction.probabilities), scrubber.classes
    assert sorted(shown) == sorted(labels)
    assert shown[0] == body.prediction.label
    assert shown[scrubber.target] == body.target.label
    reveals = [(method.name, reveal) for method in scrubber.methods for reveal in method.reveals]
    assert len(reveals) == len(body.curves) == 6
    for (name, reveal), curve in zip(reveals, body.curves, strict=True):
        assert (name, reveal.direction) == (curve.method, curve.direction)
        assert (reveal.order, reveal.flip) == (curve.order, curve.flip)
        assert reveal.auc.endswith(f"AUC {curve.auc:.3f}")
        for told, row in zip(reveal.probabilities, curve.probabilities, strict=True):
            assert dict(zip(shown, told, strict=True)) == pytest.approx(dict(zip(labels, row, strict=True)), abs=1e-5)
        assert len(reveal.probabilities) == len(reveal.order) + 1


@pytest.mark.parametrize(("flip", "start"), [(4, 4), (0, 6), (None, 6), (1, 1)])
def test_it_opens_where_the_prediction_flips_or_after_a_third(body, flip, start) -> None:
    first, *others = body.curves
    turned = body.model_copy(update={"curves": [first.model_copy(update={"flip": flip}), *others]})
    assert len(first.order) == 20
    assert activation_scrubber(REQUEST, turned).start == start


def test_of_many_classes_the_rest_is_one(body) -> None:
    rng = np.random.default_rng(0)
    labels = [f"class {i}" for i in range(20)]
    likely = rng.dirichlet(np.ones(20))
    least = int(likely.argmin())
    drawn = [rng.dirichlet(np.ones(20), size=len(curve.k)).tolist() for curve in body.curves]
    pairs = zip(body.curves, drawn, strict=True)
    many = body.model_copy(
        update={
            "prediction": Prediction(0, labels[0], dict(zip(labels, likely, strict=True))),
            "target": Target(least, labels[least]),
            "curves": [curve.model_copy(update={"probabilities": values}) for curve, values in pairs],
        }
    )
    found = activation_scrubber(REQUEST, many)
    assert len(found.classes) == MOST_CLASSES
    assert found.classes[found.target] == labels[least]
    assert found.classes[-1] == OTHERS
    row, told = many.curves[0].probabilities[3], found.methods[0].reveals[0].probabilities[3]
    for label, value in zip(found.classes[:-1], told, strict=False):
        assert value == pytest.approx(row[labels.index(label)], abs=1e-5)
    assert sum(told) == pytest.approx(1, abs=1e-4)


def test_the_files_hold_all_of_it_and_need_no_network(body, scrubber) -> None:
    table = pd.read_csv(io.StringIO(scrubber.to_csv()), keep_default_na=False)
    assert len(table) == sum(len(curve.k) for curve in body.curves)
    curve = body.curves[3]
    part = table[(table.method == curve.method) & (table.direction == curve.direction)]
    assert part["feature"].tolist() == ["", *map(str, curve.order)]
    target = np.array(curve.probabilities)[:, body.target.index]
    assert part[f"p({body.target.label})"].tolist() == pytest.approx(target, abs=1e-5)
    assert json.loads(scrubber.to_json()) == scrubber.model_dump(mode="json")
    page = scrubber.to_html()
    assert "<b>A" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page
