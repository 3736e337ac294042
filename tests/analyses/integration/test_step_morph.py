"""The step morph's payload: one scale, one set of tokens, a frame a step count."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

from explainlab.analyses.integration.figures import step_morph
from explainlab.attribution.path import nodes
from explainlab.figures.heatmap import heatmap
from explainlab.request import Request
from tests.analyses.bodies import STEPS, WORDS, integration_body


@pytest.fixture(scope="module")
def body():
    return integration_body()


@pytest.fixture(scope="module")
def request_():
    return Request(model="tiny", text=" ".join(WORDS), question="integrated_gradients")


def test_a_frame_a_step_count_and_the_adaptive_map_last(body, request_):
    morph = step_morph(request_, body, "midpoint", 0.05)
    assert [frame.label for frame in morph.frames[:-1]] == [f"{n} steps" for n in STEPS]
    assert morph.frames[-1].label == "adaptive, 31 evaluations"
    np.testing.assert_allclose(morph.frames[0].alphas, nodes("midpoint", 10)[0], atol=1e-4)
    assert [frame.within for frame in morph.frames[:3]] == [
        row.approximation_error <= 0.05 for row in body.rows if row.rule == "midpoint"
    ][:3]


def test_a_frame_drawn_into_the_tokens_is_the_map_of_its_scores(body, request_):
    morph = step_morph(request_, body, "right", 0.05)
    row = next(row for row in body.rows if row.rule == "right" and row.steps == 50)
    alone = heatmap(body.integral(request_, row.scores), scale=morph.heatmap.limit)
    frame = next(frame for frame in morph.frames if frame.label == "50 steps")
    merged = [
        {**token.model_dump(), **change.model_dump()}
        for token, change in zip(morph.heatmap.tokens, frame.tokens, strict=True)
    ]
    assert merged == [token.model_dump() for token in alone.tokens]


def test_all_frames_share_the_largest_scale(body, request_):
    morph = step_morph(request_, body, "left", 0.05)
    assert max(t.strength for frame in morph.frames for t in frame.tokens) == 1
    assert morph.heatmap.shared
    assert not any(t.clipped for frame in morph.frames for t in frame.tokens if t.rank is not None)


def test_the_payload_is_plain_json(body, request_):
    morph = step_morph(request_, body, "gauss_legendre", 0.05)
    assert json.loads(morph.model_dump_json()) == morph.model_dump(mode="json")
    assert all(frame.svg.startswith("<svg") for frame in morph.frames)


def test_a_long_text_brings_no_pictures():
    words = WORDS * 40
    request = Request(model="tiny", text=" ".join(words), question="integrated_gradients")
    assert {frame.svg for frame in step_morph(request, integration_body(words), "right", 0.05).frames} == {""}


def test_without_a_relative_error_a_frame_says_so(request_):
    frame = step_morph(request_, integration_body(cancels=True), "right", 0.05).frames[0]
    assert "too small" in frame.error
    assert not frame.within


def test_what_the_model_did_not_read_is_shown_as_such(body):
    request = Request(model="tiny", text=" ".join(WORDS) + " and more", question="integrated_gradients")
    drawn = step_morph(request, body.model_copy(update={"cut": 2}), "right", 0.05).heatmap
    assert drawn.cut.startswith("2 more tokens were cut")
    assert drawn.paragraphs[0].cut


def test_all_frames_are_saved_as_a_table_a_record_and_a_page(body, request_):
    morph = step_morph(request_, body, "midpoint", 0.05)
    table = pd.read_csv(io.StringIO(morph.to_csv()), keep_default_na=False, float_precision="round_trip")
    assert len(table) == len(morph.frames) * len(morph.heatmap.tokens)
    of_50 = table[table["steps"] == "50 steps"]
    row = next(row for row in body.rows if row.rule == "midpoint" and row.steps == 50)
    np.testing.assert_array_equal(of_50["score"].astype(float), row.scores)
    saved = json.loads(morph.to_json())
    assert [frame["label"] for frame in saved["frames"]] == [frame.label for frame in morph.frames]
    page = morph.to_html()
    assert "<b>but</b>" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page
