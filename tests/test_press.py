"""One press of *Explain* completes and hashes each of its requests once, in server and worker together."""

from __future__ import annotations

import json
import subprocess
import sys

from explainlab.settings import ROOT

MOST_MODULES = 110
"""Modules of the package that a press may enter; the redesign asks for 40."""


def test_a_request_is_completed_and_hashed_once() -> None:
    traced = subprocess.run(
        [sys.executable, "-m", "tests.press"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=300
    )
    counts = json.loads(traced.stdout.splitlines()[-1])
    assert counts["resolved"] == counts["identified"]
    assert set(counts["resolved"].values()) == {1}
    assert {"integrated_gradients", "kernel_shap"} < counts["resolved"].keys()
    assert len(counts["modules"]) <= MOST_MODULES
