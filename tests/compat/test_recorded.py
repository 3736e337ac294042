"""The command line prints the recorded numbers, or more fields.

They are those of the build before the redesign of the house. ``python -m tests.compat.builds`` compares two builds on
one machine more closely. A change that changes numbers on purpose records them anew by ``--record``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explainlab.analyses.registry import studies
from explainlab.attribution.registry import methods
from explainlab.metrics.registry import metrics
from explainlab.settings import settings
from tests.compat.builds import RECORDED, arguments, portable
from tests.compat.cases import METRICS, TRAINED, cases, make
from tests.compat.differences import differences
from tests.compat.printing import printed
from tests.tiers import first

TOLERANCE = 1e-5
"""Tolerance for logits of about 1 in float32, which other kernels and numbers of threads round differently by up to
4e-6."""
ELSEWHERE = {"planted", "roar_estimate", "training"}
"""Analyses that need a model made for them, or that measure time: their own tests have their numbers."""
FIRST = {
    *(f"{name} on bert" for name in ("gradient", "integrated_gradients", "occlusion", "lrp", "gae", "rpi", "alti")),
    *("sp_pi on gpt2", "occlusion on gpt2", "llm_ranking on prompt", "gradient of a pair", "lime by word"),
    *("gradient of the other logit", "random by another seed", "every metric by token", "integration_error"),
    *("path_gradients", "rpi_candidates", "trust", "judged_map", "activation of rows", "predictions"),
    *("intermediate_predictions", "attack", "precision", "substitution"),
}
"""Commands of the first tier: a method of each kind of pass, every metric, and most analyses once."""


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    bodies: dict[str, Any] = json.loads(gzip.decompress(RECORDED.read_bytes()))
    return bodies


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make the files that the commands read, and a home of their own."""
    files = tmp_path_factory.mktemp("compat")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXPLAINLAB_HOME", str(files / "home"))
        settings.cache_clear()
        make(files)
        yield files
    settings.cache_clear()


def test_a_difference_is_seen() -> None:
    before = {"a": 1, "b": [0.5, {"c": None}], "seconds": 1.0}
    same = {"a": 1, "new": 0, "b": [0.5 + 1e-6, {"c": None, "d": 2}], "seconds": 9.0}
    assert differences(before, same, within=TOLERANCE) == []
    for other in (
        {"b": before["b"], "a": 1, "seconds": 1.0},
        {"a": 1, "b": before["b"]},
        {**before, "a": 1.0},
        {**before, "a": True},
        {**before, "b": [0.5]},
        {**before, "b": [0.5001, {"c": None}]},
        {**before, "b": [0.5, {"c": 0}]},
    ):
        assert len(differences(before, other, within=TOLERANCE)) == 1


def test_scores_differ_by_a_share_of_the_largest_of_them() -> None:
    assert differences([100.0, 1e-4], [100.0, 1.5e-4], within=1e-6) == []
    assert len(differences([1.0, 1e-4], [1.0, 2e-4], within=1e-6)) == 1


def test_every_method_metric_and_analysis_is_recorded(recorded: dict[str, Any]) -> None:
    assert recorded.keys() == cases().keys()
    asked = [*cases().values(), *TRAINED.values()]
    assert {command[command.index("--method") + 1] for command in asked if "--method" in command} == set(methods())
    assert {command[1] for command in asked if command[0] == "study"} | ELSEWHERE == set(studies())
    assert {name.split(":")[0] for name in METRICS} == set(metrics())


@pytest.mark.parametrize("name", first(FIRST, cases(), "100 s: like those of the first tier"))
def test_a_command_prints_what_it_printed(name: str, folder: Path, recorded: dict[str, Any]) -> None:
    now = portable(printed(arguments(cases()[name], folder)), folder)
    assert differences(recorded[name], now, within=TOLERANCE) == []
