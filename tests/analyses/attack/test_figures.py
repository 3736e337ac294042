"""Pictures of attacks draw the result's own numbers."""

from __future__ import annotations

import numpy as np
import pytest

from explainlab import study
from explainlab.analyses.attack.verdict import sentence_row
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import get_study
from explainlab.models.classifier import Classifier

TEXT = "A funny film. It isn't good!"
ASKED = {"steps": 12, "epsilon": "0.1s,1s", "k": 30}


@pytest.fixture(scope="module")
def of_text(encoder: Classifier) -> AnalysisResult:
    return study(encoder, "attack", TEXT, **ASKED)


def test_the_course_of_every_attack_is_a_line(of_text: AnalysisResult) -> None:
    charts = figures_of(of_text).charts
    for name, values in (("attack-course-share", "top_k_sum"), ("attack-course-probability", "probability")):
        lines = charts[name].figure.data
        assert len(lines) == 4
        for line, course in zip(lines, of_text.body.trajectory, strict=True):
            assert (list(line.x), list(line.y)) == (course.step, getattr(course, values))
            assert line.name == f"{course.objective}, {course.epsilon}"


def test_maps_are_shares_with_the_top_features_framed(of_text: AnalysisResult) -> None:
    maps = list(figures_of(of_text).maps.values())
    body = of_text.body
    assert len(maps) == 5
    listed = [i for i, token in enumerate(maps[0].drawn.tokens) if token.top]
    assert sorted(body.original.listed) == listed
    content = [i for i, feature in enumerate(body.features) if not feature.special]
    for shown, scores in zip(maps, [body.original.scores, *(text.scores for text in body.texts)], strict=True):
        sizes = np.abs(scores)
        assert [token.score for token in shown.drawn.tokens] == pytest.approx(sizes / sizes[content].sum())


def test_a_data_set_has_its_means_by_radius_and_a_point_a_text(encoder: Classifier, tmp_path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text(f'text\n"{TEXT}"\nthe plot is thin and the acting is worse\n', encoding="utf-8")
    result = study(encoder, "attack", data=str(path), **ASKED)
    charts, body = figures_of(result).charts, result.body
    lines = {line.name: line for line in charts["attack-by-radius"].figure.data}
    own = [row for row in body.rows if row.objective == "constrained"]
    assert list(lines["Rank Change, constrained"].x) == ["0.1s", "1s"]
    assert list(lines["Rank Change, constrained"].y) == [row.rank_change.mean for row in own]
    points = charts["attack-objectives"].figure.data
    taken = {(text.epsilon, text.row, text.objective): text.measures.top_k_sum_change for text in body.texts}
    for radius in points:
        for row, x, y in zip(radius.customdata, radius.x, radius.y, strict=True):
            assert (x, y) == tuple(taken[radius.name, row, kind] for kind in ("unconstrained", "constrained"))
    assert sentence_row(body.rows) is own[0]
    said = get_study("attack").report(result).headline
    assert said.startswith("Over 2 texts, a constrained attack within 0.1 ")
    assert said.endswith(f"; {own[0].failed} of 2 attacks failed.")
