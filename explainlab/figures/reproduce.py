"""Python code and a shell command that reproduce a result."""

from __future__ import annotations

import shlex
from typing import Any

from explainlab.attribution.records import Attribution
from explainlab.request import Request


def python_code(result: Attribution) -> str:
    """A snippet for the Python API; all values are literals."""
    request = result.request
    arguments = {
        "method": request.question,
        **({"text_pair": request.text_pair} if request.text_pair is not None else {}),
        "target": result.target.label,
        "output": request.output,
        "unit": request.unit,
        "seed": request.seed,
        **_parameters(request),
    }
    written = "\n".join(f"    {name}={value!r}," for name, value in arguments.items())
    dtype = "" if request.dtype == "float32" else f", dtype={request.dtype!r}"
    return (
        "import explainlab\n\n"
        f"classifier = explainlab.load_model({request.model!r}{dtype})\n"
        f"result = explainlab.explain(\n    classifier,\n    {request.text!r},\n{written}\n)\n"
        "print(result.to_frame())\n"
    )


def command_line(result: Attribution) -> str:
    """The same as a POSIX shell command."""
    request = result.request
    words = ["python", "-m", "explainlab", "explain", "--model", request.model, "--text", request.single_text]
    if request.text_pair is not None:
        words += ["--text-pair", request.text_pair]
    words += ["--method", request.question]
    for name, value in _parameters(request).items():
        words += ["--set", f"{name}={value}"]
    words += ["--target", result.target.label, "--output", request.output, "--unit", request.unit]
    words += ["--seed", str(request.seed), "--dtype", request.dtype, "--json"]
    return shlex.join(words)


def _parameters(request: Request) -> dict[str, Any]:
    """The parameters without empty texts, which are defaults."""
    return {name: value for name, value in request.parameters.items() if value != ""}
