"""Requests of rpi_candidates: their cost, the command line, and refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explainlab import cli, study
from explainlab.analyses.registry import complete, requirements, studies
from explainlab.errors import RequestError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.reader import ANYBODY
from explainlab.request import Request
from tests.conftest import Zoo

TEXT = "A funny film. It isn't good, and the plot is thin!"
SEED = 7
FIVE = ("sufficiency", "comprehensiveness", "log_odds", "aopc_sufficiency", "aopc_comprehensiveness")
CHEAP = {"samples": 4, "steps": 3, "seed": SEED}


def test_costs_are_told_before() -> None:
    asked = {"question": "rpi_candidates", "model": "any", "text": TEXT}
    few = {"samples": 2, "steps": 5, "metrics": "aopc_sufficiency"}
    assert requirements(Request(**asked, parameters=few)).gradients == 2 * (5 + 5)
    assert requirements(Request(**asked, parameters={**few, "layers": "2,3"})).gradients == 4 * (5 + 5)
    assert requirements(Request(**asked, parameters={**few, "metrics": "log_odds"})).gradients == 2 * (5 + 3)
    assert requirements(Request(**asked, parameters={**few, "family": "rpi_sig"})).gradients > 200


def test_equal_questions_are_one_and_versions_are_stamped() -> None:
    asked = {"question": "rpi_candidates", "model": "any", "text": TEXT}
    usual, written = (
        complete(Request(**asked, parameters=parameters))
        for parameters in ({}, {"metrics": ",".join(FIVE), "layers": ["last"], "samples": "24"})
    )
    assert usual == written
    analysis = studies()["rpi_candidates"]
    parameters = [{}, {"family": "rpi_g"}, {"metrics": "log_odds"}]
    chosen = [analysis.Parameters(**values) for values in parameters]
    fingerprints = {analysis.requirements(own).fingerprint(own, ANYBODY) for own in chosen}
    assert len(fingerprints) == 3


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"layers": "4"}, "Its layers are 1 to 3"),
        ({"samples": 0}, "samples = 0 is not accepted"),
        ({"steps": 0}, "steps = 0 is not accepted"),
        ({"metrics": "comprehensivness"}, "comprehensiveness"),
        ({"metrics": "log_odds:k=101"}, "k = '101'"),
        ({"metrics": "log_odds,log_odds:k=20"}, "each once"),
        ({"metrics": []}, "one or more metrics"),
        ({"family": "rpi_ig", "layers": "2"}, "rpi_ig has no layers"),
        ({"family": "rpi_sig", "preset": "reference"}, "rpi_sig has no preset"),
        ({"family": "gradient"}, "family = 'gradient' is not accepted"),
        ({"samples": 9_000, "steps": 100}, "The limit is"),
    ],
    ids=str,
)
def test_a_bad_question_is_refused_in_words(encoder: Classifier, wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(RequestError, match=told):
        study(encoder, "rpi_candidates", TEXT, **wrong)


def test_a_model_whose_attention_cannot_be_replaced_is_refused(zoo: Zoo) -> None:
    with pytest.raises(UnsupportedError, match="not replaced"):
        study(zoo("deberta"), "rpi_candidates", TEXT, **CHEAP)


def test_the_command_line_prints_the_contract(monkeypatch, capsys) -> None:
    options = ["--model", "embedded:bert-mini-sst2", "--text", "A warm and funny film.", "--seed", "3"]
    chosen = [part for value in ("samples=4", "steps=3", "layers=all") for part in ("--set", value)]

    def printed(*more: str) -> str:
        monkeypatch.setattr("sys.argv", ["explainlab", "study", "rpi_candidates", *options, *chosen, *more])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
        return capsys.readouterr().out

    found = json.loads(printed("--json"))
    values = found["selection"]["comprehensiveness"]
    told = [line.split() for line in printed().splitlines()]
    for choice in ("first", "best"):
        assert ["comprehensiveness", choice, f"{values[choice]:.4f}"] in told
    assert found.keys() >= {"study", "parameters", "seed", "features", "candidates", "winners", "prediction", "target"}
    assert (found["study"], found["seed"], found["parameters"]["samples"]) == ("rpi_candidates", 3, 4)
    for candidate in found["candidates"]:
        assert candidate.keys() == {"layer", "draw", "timestep", "scores", "metrics"}
        assert candidate["metrics"].keys() == set(FIVE) == found["winners"].keys()
        assert len(candidate["scores"]) == len(found["features"])


def test_a_preset_explains_its_own_output_unless_it_is_told(encoder: Classifier) -> None:
    asked = {"samples": 1, "steps": 2, "metrics": "sufficiency", "preset": "reference"}
    assert study(encoder, "rpi_candidates", TEXT, **asked).request.output == "logit"
    assert study(encoder, "rpi_candidates", TEXT, output="probability", **asked).request.output == "probability"
    assert study(encoder, "rpi_candidates", TEXT, **{**asked, "preset": "paper"}).request.output == "probability"
