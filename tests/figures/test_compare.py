"""The comparison of two results, beside a slow loop and scipy; and zips that hold all of a result."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from markupsafe import escape

from explainlab import Attribution, explain, study
from explainlab.analyses.registry import get_analysis, get_study, read_result
from explainlab.app.pages.runs.bundle import map_bundle, study_bundle
from explainlab.figures.compare import compare, map_difference, table_difference
from explainlab.figures.export import to_json
from explainlab.figures.heatmap import agreement
from explainlab.models.classifier import Classifier

TEXT = "A funny film. It isn't good!"


@pytest.fixture(scope="module")
def first(encoder: Classifier) -> Attribution:
    return explain(encoder, TEXT, "occlusion", unit="word")


def content(one: Attribution) -> list[tuple[str, float]]:
    """The words and their scores."""
    return [(f.text, float(s)) for f, s in zip(one.features, one.scores, strict=True) if not f.special]


def test_two_methods_of_one_text_agree_as_on_the_explain_page(encoder: Classifier, first: Attribution) -> None:
    second = explain(encoder, TEXT, "kernel_shap", unit="word")
    found, (expected,) = compare(first, second), agreement([first, second])
    assert found.rank_correlation == expected.rank_correlation
    assert list(found.conflicts) == [first.features[i].text for i in expected.conflicts]
    assert found.shared == found.sizes[0] == found.sizes[1] == len(content(first))
    assert found.one_scale
    assert found.maps[0].limit == found.maps[1].limit == max(abs(s) for one in (first, second) for _, s in content(one))


def test_two_models_are_compared_word_by_word(encoder: Classifier, decoder: Classifier, first: Attribution) -> None:
    second = explain(decoder, TEXT, "occlusion", unit="word", target=first.target.label)
    found = compare(first, second)
    ours, theirs = content(first), content(second)
    assert [text for text, _ in ours] == [text for text, _ in theirs]
    expected = scipy.stats.spearmanr([s for _, s in ours], [s for _, s in theirs]).statistic
    assert found.rank_correlation == pytest.approx(expected)
    limits = [max(abs(s) for _, s in one) for one in (ours, theirs)]
    clear = [
        text
        for (text, a), (_, b) in zip(ours, theirs, strict=True)
        if a * b < 0 and abs(a) >= 0.1 * limits[0] and abs(b) >= 0.1 * limits[1]
    ]
    assert list(found.conflicts) == clear
    assert [t.name for t in found.maps[1].tokens if t.conflict] == clear != []
    assert found.maps[1].mark == "the other map gives the opposite sign"
    of_another_class = compare(first, explain(decoder, TEXT, "occlusion", unit="word", target=2 - first.target.index))
    assert of_another_class.conflicts == ()
    assert not any(drawn.has_conflicts for drawn in of_another_class.maps)


def test_two_texts_are_compared_where_they_are_the_same(encoder: Classifier, first: Attribution) -> None:
    second = explain(encoder, "A really funny film. It is good!", "occlusion", unit="word")
    found = compare(first, second)
    theirs = dict(content(second))
    both = [(s, theirs[text]) for text, s in content(first) if text in theirs]
    assert found.shared == len(both) < min(found.sizes)
    assert found.rank_correlation == pytest.approx(scipy.stats.spearmanr(*zip(*both, strict=True)).statistic)


def test_texts_with_nothing_in_common_have_no_correlation(encoder: Classifier, first: Attribution) -> None:
    found = compare(first, explain(encoder, "Oil prices rose", "occlusion", unit="word"))
    assert (found.shared, found.rank_correlation, found.conflicts) == (0, None, ())


def test_maps_of_other_scales_keep_their_own(encoder: Classifier, first: Attribution) -> None:
    for method, output in (("gradient", "probability"), ("occlusion", "logit")):
        found = compare(first, explain(encoder, TEXT, method, unit="word", output=output))
        assert not found.one_scale
        assert not found.maps[0].shared


def test_the_difference_is_that_of_a_loop(first: Attribution) -> None:
    noise = np.random.default_rng(0).standard_normal(len(first.scores)) * 1e-3
    again = replace(first, scores=first.scores + noise)
    expected = max(abs(n) for n in noise) / max(abs(s) for s in first.scores)
    assert map_difference(first, again).relative == pytest.approx(expected)
    assert map_difference(first, first).relative == 0
    zero = replace(first, scores=np.zeros(len(first.scores)))
    assert map_difference(zero, zero).relative == 0
    assert map_difference(zero, first).relative == np.inf


def test_maps_of_other_features_have_no_difference(encoder: Classifier, first: Attribution) -> None:
    assert map_difference(first, explain(encoder, TEXT, "occlusion")) is None


def test_tables_differ_in_the_column_that_differs_most() -> None:
    stored = {
        "rows": [{"steps": 10, "error": 0.5, "name": "a"}, {"steps": 20, "error": 0.1}],
        "ok": True,
        "deep": {"x": [1, 2]},
    }
    again = json.loads(json.dumps(stored))
    assert table_difference(stored, again).relative == 0
    again["rows"][1]["error"] = 0.15
    again["deep"]["x"][0] = 1.01
    found = table_difference(stored, again)
    assert found.name == "rows.error"
    assert found.relative == pytest.approx(0.05 / 0.5)
    again["deep"]["x"].append(3)
    assert table_difference(stored, again) is None
    assert table_difference({}, {}).relative == 0


# Bundles -------------------------------------------------------------------------------------------------------------


def unzipped(body: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_a_maps_bundle_has_all_of_it(first: Attribution) -> None:
    files = unzipped(map_bundle(first))
    assert set(files) == {"report.html", "map.svg", "scores.csv", "result.json"}
    words = get_analysis(first.request.question).report(first).headline
    assert json.loads(files["result.json"]) == json.loads(to_json([first], words))
    assert files["report.html"].index(str(escape(words))) < files["report.html"].index("<section>")
    assert pd.read_csv(io.StringIO(files["scores.csv"]))["score"].tolist() == first.scores.tolist()
    assert files["map.svg"].startswith("<svg")
    for told in (*first.versions.values(), "baseline = mask", "explainlab.load_model"):
        assert told in files["report.html"]
    assert map_bundle(first) == map_bundle(first)


def test_a_studys_bundle_has_a_table_for_each_of_its_own(encoder: Classifier) -> None:
    found = study(encoder, "integration_error", "<b>a film</b>", steps=[2, 4])
    files = unzipped(study_bundle(found))
    rows = pd.read_csv(io.StringIO(files["rows.csv"]))
    assert rows["approximation_error"].tolist() == [row["approximation_error"] for row in found.body_json()["rows"]]
    words = get_study("integration_error").report(found).headline
    assert json.loads(files["result.json"]) == {"verdict": words, **found.to_json()}
    assert read_result(json.loads(files["result.json"])).body == found.body
    assert files["report.html"].index(words) < files["report.html"].index("Model</th>")
    assert "<b>a film" not in files["report.html"]
    assert "&lt;b&gt;a film" in files["report.html"]
    for told in (*found.versions.values(), "tolerance = 0.05", "forward and"):
        assert told in files["report.html"]


def test_what_a_file_adds_is_left_out_and_formulas_are_inert(encoder: Classifier, tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("text\n=cmd()\n")
    record = study(encoder, "integration_error", data=str(data), steps=[2]).to_json()
    files = unzipped(study_bundle(read_result({**record, "../../evil": [{"=1+1": "<b>"}], "/rooted": [{"x": None}]})))
    own = {name for name in files if not name.startswith("figures/")}
    assert own == {"report.html", "texts.csv", "result.json"}
    assert "'=cmd()" in files["texts.csv"]
    assert "<b>" not in files["report.html"].split("<script")[0]
