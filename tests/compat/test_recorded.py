"""What the command line prints is what it printed before results became typed records, or more fields and warnings."""

from __future__ import annotations

import gzip
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from explainlab.cli import main
from explainlab.settings import settings
from tests.compat.cases import cases
from tests.tiers import first

RECORDED: dict[str, Any] = json.loads(gzip.decompress((Path(__file__).parent / "recorded.json.gz").read_bytes()))
TOLERANCE = 1e-5
"""Of logits of about 1 in float32, which other kernels and numbers of threads round differently by up to 4e-6."""
IGNORED = {"definition", "seconds", "device", "torch", "transformers", "tokenizers", "numpy", "scipy", "captum"}
"""Sentences, and fields that say how long a result took, on which device and by which libraries."""
GONE = {"warned"}
"""Fields that nothing read: what they held is among the warnings."""
RAISED = {"rpi_candidates": "3", "ablation": "4", "evaluation": "3", "mistake_drivers": "2", "trust": "2"}
"""Versions of studies that have risen since; what they printed stays the same but for :data:`CHOICES`."""
CHOICES = {"held_out", "agreement"}
"""What other metrics choose: since then nothing where they cannot tell the maps of a text apart."""


def differences(recorded: Any, printed: Any, where: str = "") -> list[str]:
    """Where ``printed`` differs from ``recorded``; floats differ by rounding, sentences by their words.

    Fields and warnings may be added.
    """
    if isinstance(recorded, dict) and isinstance(printed, dict):
        kept = [name for name in printed if name in recorded]
        order = (
            []
            if kept == [name for name in recorded if name not in GONE]
            else [f"{where}: fields {list(recorded)} are now {list(printed)}"]
        )
        names = [name for name in kept if name not in IGNORED]
        return order + [d for name in names for d in differences(recorded[name], printed[name], f"{where}.{name}")]
    if where.endswith(".warnings"):
        fewer = len(printed) < len(recorded)
        return [f"{where}: {len(recorded)} warnings are now {len(printed)}"] if fewer else []
    if isinstance(recorded, list) and isinstance(printed, list):
        if len(recorded) != len(printed):
            return [f"{where}: {len(recorded)} entries are now {len(printed)}"]
        pairs = enumerate(zip(recorded, printed, strict=True))
        return [d for i, pair in pairs for d in differences(*pair, f"{where}[{i}]")]
    if isinstance(recorded, float) and isinstance(printed, float):
        same = math.isclose(recorded, printed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    else:
        same = type(recorded) is type(printed) and recorded == printed
    return [] if same else [f"{where}: {recorded!r} is now {printed!r}"]


def without(names: set[str], value: Any) -> Any:
    """``value`` without the fields ``names`` of any record in it."""
    if isinstance(value, dict):
        return {name: without(names, part) for name, part in value.items() if name not in names}
    return [without(names, part) for part in value] if isinstance(value, list) else value


def without_controls(value: Any) -> Any:
    """An evaluation without its controls: what is said of the reversed maps of all methods, since version 2."""
    if isinstance(value, dict):
        return {name: without_controls(part) for name, part in value.items() if not name.startswith("reversed:")}
    if isinstance(value, list):
        kept = [
            part for part in value if not str(isinstance(part, dict) and part.get("method")).startswith("reversed:")
        ]
        return [without_controls(part) for part in kept]
    return value


def test_a_difference_is_seen() -> None:
    recorded = {"a": 1, "b": [0.5, {"c": None}], "seconds": 1.0}
    assert differences(recorded, {"a": 1, "new": 0, "b": [0.5 + 1e-6, {"c": None, "d": 2}], "seconds": 9.0}) == []
    for other in (
        {"b": recorded["b"], "a": 1, "seconds": 1.0},
        {"a": 1, "b": recorded["b"]},
        {**recorded, "a": 1.0},
        {**recorded, "a": True},
        {**recorded, "b": [0.5]},
        {**recorded, "b": [0.5001, {"c": None}]},
        {**recorded, "b": [0.5, {"c": 0}]},
    ):
        assert len(differences(recorded, other)) == 1


def test_every_command_was_recorded() -> None:
    assert cases().keys() == RECORDED.keys()


FIRST = {
    *(f"explain {name}" for name in ("gradient", "integrated_gradients", "occlusion", "lrp", "gae", "rpi", "sp_pi")),
    *(f"study {name}" for name in ("integration_error", "path_gradients", "rpi_candidates", "trust", "judged_map")),
    *(f"study {name}" for name in ("activation", "intermediate_predictions", "evaluation", "predictions")),
    "explain a pair",
    "evaluate",
}
"""Commands of the first tier: a method of each kind of pass, every study of a text, and studies of data sets."""


@pytest.mark.parametrize("name", first(FIRST, cases(), "80 s: like those of the first tier"))
def test_a_command_prints_what_it_printed(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    monkeypatch.setattr(sys, "argv", ["explainlab", *cases()[name], "--device", "cpu", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    recorded, printed = RECORDED[name], json.loads(capsys.readouterr().out)
    if recorded.get("study") in RAISED:
        recorded = {**recorded, "versions": {**recorded["versions"], "study": RAISED[recorded["study"]]}}
        recorded, printed = without(CHOICES, recorded), without(CHOICES, printed)
    if recorded.get("study") == "ablation":
        for part in (recorded, *recorded.get("texts", ())):
            part["methods"][0]["cost"]["forward"] -= 1  # the prediction, which is no method's since version 3
    if recorded.get("study") == "evaluation":
        printed = without_controls(printed)
        recorded["cost"]["forward"] = printed["cost"]["forward"]  # what the controls need more
    if recorded.get("study") == "mistake_drivers":  # since version 2 fewer drivers are clear, and these stand first
        recorded, printed = without({"clear"}, recorded), without({"clear"}, printed)
        for part in (recorded, printed):
            for kind in ("words", "pairs"):
                part[kind].sort(key=lambda driver: (driver["words"], driver["predicted"]))
    if recorded.get("study") == "judged_map":
        recorded["cost"]["forward"] -= 1  # the pass over the text, which a metric counted again
    assert differences(recorded, printed) == []
