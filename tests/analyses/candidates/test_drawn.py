"""Maps in portions: a cancelled study of one text goes on where it was; a larger request takes the stored ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explainlab import study
from explainlab.analyses.candidates.analysis import PORTION
from explainlab.errors import Cancelled
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.testing.observation import Recorder

TEXT = "a good film"
ASKED = {"text": TEXT, "steps": 3, "layers": "1,3", "metrics": "log_odds"}
POINTS = 2 * 3
"""Points of one draw, in both layers."""


def scores(found) -> np.ndarray:
    return np.array([candidate.scores for candidate in found.body.candidates])


@pytest.mark.parametrize("family", ["rpi", "rpi_g"])
def test_a_cancelled_study_goes_on_where_it_was(encoder: Classifier, family: str) -> None:
    recorder, samples = Recorder(), PORTION + 2
    context = recorder.context

    def stop() -> None:
        """Stop the run when the maps of the second layer begin."""
        if recorder.seen and recorder.seen[-1][2] == "layer 3":
            raise Cancelled

    stopping = replace(context, check_cancelled=stop)
    with pytest.raises(Cancelled):
        study(encoder, "rpi_candidates", context=stopping, samples=samples, family=family, **ASKED)
    again = study(encoder, "rpi_candidates", context=context, samples=samples, family=family, **ASKED)
    whole = study(encoder, "rpi_candidates", samples=samples, family=family, **ASKED)
    assert np.array_equal(scores(again), scores(whole))
    assert whole.cost.backward == samples * POINTS
    assert again.cost.backward <= whole.cost.backward - samples * POINTS // 2


@pytest.mark.parametrize("more", [{"samples": 2 * PORTION}, {"metrics": "sufficiency"}, {"layers": "1,2,3"}])
def test_what_is_there_is_not_drawn_again(encoder: Classifier, more: dict[str, object]) -> None:
    context, first = RunContext(), {**ASKED, "samples": PORTION}
    study(encoder, "rpi_candidates", context=context, **first)
    found = study(encoder, "rpi_candidates", context=context, **first | more)
    fresh = study(encoder, "rpi_candidates", **first | more)
    assert np.array_equal(scores(found), scores(fresh))
    assert found.cost.backward == fresh.cost.backward - PORTION * POINTS


@pytest.mark.parametrize(
    "other",
    [
        {"family": "rpi_g"},
        {"steps": 4},
        {"timesteps": 7},
        {"preset": "reference", "output": "probability"},
        {"seed": 1},
        {"unit": "word"},
        {"output": "logit"},
        {"target": "1"},
        {"target": "0"},
        {"text": "a bad film"},
    ],
)
def test_another_question_draws_its_own(encoder: Classifier, other: dict[str, object]) -> None:
    context, first = RunContext(), {**ASKED, "samples": 2}
    known = study(encoder, "rpi_candidates", context=context, **first)
    found = study(encoder, "rpi_candidates", context=context, **first | other)
    fresh = study(encoder, "rpi_candidates", **first | other)
    assert scores(found).tolist() == scores(fresh).tolist()
    same = other.get("target") == str(known.body.target.index)
    assert found.cost.backward == (0 if same else fresh.cost.backward)
