"""The same commands in two builds of one run: ``python -m tests.compat.builds [COMMIT] [WORD ...]``.

The commands of :mod:`tests.compat.cases` run in the build of COMMIT, then in this one, each in one process on one
thread. The script prints every field that differs, and the seconds of both. Integers, names, seeds, orders and passes
must be equal; scores may differ by 1e-6 of the largest in their list. With words, only the commands run whose names
hold one of them. ``--record`` writes the output of this build to ``recorded.json.gz``, which
:mod:`tests.compat.test_recorded` compares with the output of later builds.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from explainlab.settings import ROOT, settings
from tests.compat import printing
from tests.compat.cases import TRAINED, cases, make
from tests.compat.differences import differences

RECORDED = Path(__file__).parent / "recorded.json.gz"
START = "65787484"
"""The commit before the redesign of the house."""
WITHIN = 1e-6
"""Largest difference of two scores, as a share of the largest in their list."""


def arguments(command: list[str], folder: Path) -> list[str]:
    """Return a command of :func:`tests.compat.cases.cases` with its files, on the CPU, with JSON as its output."""
    own = [part.replace("{folder}", str(folder)) for part in command]
    return [*own, *([] if "synthetic_roar" in own else ["--device", "cpu"]), "--json"]


def run_build(tree: Path, folder: Path, build: str, words: list[str]) -> dict[str, Any]:
    """Run the commands with the package in ``tree``; return ``{"body", "seconds"}`` of each by its name."""
    home = folder / f"home-{build}"
    home.mkdir()
    shutil.rmtree(folder / "trained", ignore_errors=True)
    with_home = {key: value for key, value in os.environ.items() if not key.startswith("EXPLAINLAB_")} | {
        **{"EXPLAINLAB_HOME": str(home), "EXPLAINLAB_WORKERS": "0", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    }
    os.environ["EXPLAINLAB_HOME"] = str(home)
    settings.cache_clear()
    make(folder)
    chosen = {
        name: arguments(command, folder)
        for name, command in {**cases(), **TRAINED}.items()
        if not words or any(word in name for word in words)
    }
    commands, answers = folder / f"commands-{build}.json", folder / f"answers-{build}.json"
    commands.write_text(json.dumps(chosen), encoding="utf-8")
    script = [sys.executable, printing.__file__, str(tree), str(commands), str(answers)]
    subprocess.run(script, env=with_home, cwd=tree, check=True)
    written: dict[str, Any] = json.loads(answers.read_text(encoding="utf-8"))
    return portable(written, folder)


def portable(printed: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the output of commands with ``{folder}`` in place of the folder of their files."""
    body: dict[str, Any] = json.loads(json.dumps(printed).replace(str(folder), "{folder}"))
    return body


def record(folder: Path) -> None:
    """Write the output of this build's commands, but for trainings, to :data:`RECORDED`."""
    bodies = {name: case["body"] for name, case in run_build(ROOT, folder, "now", []).items() if name not in TRAINED}
    RECORDED.write_bytes(gzip.compress(json.dumps(bodies, separators=(",", ":")).encode(), mtime=0))


def compare(folder: Path, commit: str, words: list[str]) -> int:
    """Print every difference of this build from ``commit``, and the seconds of both; return how many there are."""
    tree = folder / "tree"
    subprocess.run(["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", tree, commit], check=True)
    try:
        before = run_build(tree, folder, "before", words)
    finally:
        subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=True)
    now = run_build(ROOT, folder, "now", words)
    found = [
        f"{name}{line}"
        for name, case in before.items()
        for line in differences(case["body"], now[name]["body"], within=WITHIN)
    ]
    print(*found, sep="\n")
    seconds = [sum(case["seconds"] for case in build.values()) for build in (before, now)]
    print(f"{len(before)} commands, {len(found)} differences; {seconds[0]:.0f} s before, {seconds[1]:.0f} s now")
    return len(found)


def main() -> None:
    """Compare two builds, or record this one."""
    parser = argparse.ArgumentParser(description="Compare what two builds print.")
    parser.add_argument("commit", nargs="?", default=START)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--record", action="store_true", help="Write the output of this build; compare nothing.")
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="explainlab-builds-") as name:
        if asked.record:
            record(Path(name))
        elif compare(Path(name), asked.commit, asked.words):
            raise SystemExit(1)


if __name__ == "__main__":
    main()
