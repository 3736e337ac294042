"""The unit morph's payload: every method's map on the model and on every random model, with their captions."""

from __future__ import annotations

import csv
import io
import json

import numpy as np

from explainlab.analyses.layer_randomisation.figures import UnitMorph, unit_morph
from explainlab.figures.heatmap import heatmap
from explainlab.request import Request
from tests.analyses.bodies import WORDS, randomisation_body

BODY = randomisation_body()
MORPH = unit_morph(Request(model="tiny", text=" ".join(WORDS), question="layer_randomisation"), BODY)


def test_every_unit_of_every_mode_has_a_frame_or_says_that_there_is_none() -> None:
    assert MORPH.units == BODY.units
    assert [method.name for method in MORPH.methods] == ["gradient", "lime"]
    frames = [frame for method in MORPH.methods for mode in method.frames.values() for frame in mode]
    assert len(frames) == 2 * 2 * 3
    (absent,) = [frame for frame in frames if frame.map is None]
    assert absent is MORPH.methods[1].frames["cascading"][2]
    assert absent.words.startswith("no rank correlation")


def test_a_frame_is_the_map_of_its_scores_with_the_first_draws_rho() -> None:
    random = next(own for own in BODY.maps if (own.method, own.mode, own.unit) == ("lime", "independent", "block 1"))
    frame = MORPH.methods[1].frames["independent"][1]
    assert frame.map is not None
    assert [token.score for token in frame.map.tokens] == random.scores
    alone = heatmap(BODY.attribution(Request(model="tiny", text="", question="lime"), random.scores))
    assert frame.map.limit_value == alone.limit_value, "a scale of its own"
    first = [
        row.draws[0]
        for row in BODY.rows
        if (row.method, row.mode, row.unit) == ("lime", "independent", "block 1") and not row.absolute
    ]
    assert f"{first[0]:+.3f}"[1:5] in frame.words.replace("−", "-")
    assert MORPH.methods[0].signed is False
    assert MORPH.methods[1].signed is True


def test_its_files_hold_every_map() -> None:
    rows = list(csv.DictReader(io.StringIO(MORPH.to_csv())))
    maps = len(BODY.methods) + len(BODY.maps)
    assert len(rows) == maps * (len(WORDS) + 2)
    own = [float(row["score"]) for row in rows if (row["method"], row["mode"]) == ("gradient", "")]
    np.testing.assert_array_equal(own, BODY.methods[0].scores)
    assert UnitMorph.model_validate(json.loads(MORPH.to_json())) == MORPH
    page = MORPH.to_html()
    assert "<b>but</b>" not in page
    assert "https://" not in page
