"""Commands of ``explainlab`` that print JSON: run in this process, or as a script with the package of another build."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from pathlib import Path
from typing import Any


def printed(command: list[str]) -> dict[str, Any]:
    """Run ``explainlab`` with these arguments; return its JSON. Raises :class:`RuntimeError` if it fails."""
    from explainlab.cli import main  # as a script: of the build that the arguments name

    sys.argv = ["explainlab", *command]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"{command}: {err.getvalue()}") from ended
    body: dict[str, Any] = json.loads(out.getvalue())
    return body


def main(tree: str, commands: str, answers: str) -> None:
    """Run the commands of a file with the package in ``tree``; write their JSON and seconds to ``answers``."""
    sys.path.insert(0, tree)
    written = {}
    for name, command in json.loads(Path(commands).read_text(encoding="utf-8")).items():
        begun = time.perf_counter()
        body = printed(command)
        written[name] = {"body": body, "seconds": time.perf_counter() - begun}
    Path(answers).write_text(json.dumps(written), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
