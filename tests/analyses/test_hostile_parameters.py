"""No parameter is expanded before it is checked: hostile sizes are refused quickly and without memory."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from explainlab.settings import ROOT

SCRIPT = textwrap.dedent(
    """
    import resource, time
    from reprlib import repr as quote
    from explainlab.analyses.registry import complete, require_bounded, studies
    from explainlab.attribution.registry import methods, parse_method
    from explainlab.errors import ExplainLabError
    from explainlab.limits import Limits
    from explainlab.metrics.registry import metrics, parse_metric
    from explainlab.request import Request

    BIG = 10**12
    HOSTILE = (
        "-200000000:5:1", "1:2000000000:1", "2000000000:1:-1", "1:5:0", "::", "9" * 5_000, "9" * 5_000 + "n",
        "1," * 200_000, "occlusion," * 20_000, "sufficiency," * 20_000, BIG, -BIG, float("nan"), float("inf"),
        f"{BIG}n", [1] * 200_000, ["occlusion"] * 20_000, {"occlusion": {"seed": [0] * 200_000}}, None, True, "",
    )
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    problems = []
    resource.setrlimit(resource.RLIMIT_AS, (used + 500 * 2**20,) * 2)


    def attack(name, value, read):
        start = time.monotonic()
        try:
            read()
        except ExplainLabError as error:
            if len(str(error)) > 2_000:
                problems.append(f"{name} = {quote(value)}: a message of {len(str(error)):,} characters")
        except Exception as error:
            problems.append(f"{name} = {quote(value)}: {type(error).__name__}: {quote(str(error))}")
        if time.monotonic() - start > 2:
            problems.append(f"{name} = {quote(value)}: {time.monotonic() - start:.1f} s")


    def ask(question, about, name, value):
        request = complete(Request(question=question, model="m", parameters={name: value}, **about))
        require_bounded(request, Limits())


    tried = 0
    for known, questions in (("text", methods()), ("data", studies())):
        for question, owner in questions.items():
            for name in owner.Parameters.model_fields:
                for value in HOSTILE:
                    tried += 1
                    about = {known: "a text" if known == "text" else "embedded:sentiment"}
                    attack(f"{question}.{name}", value, lambda: ask(question, about, name, value))
    for owners, parse in ((methods(), parse_method), (metrics(), parse_metric)):
        for id, owner in owners.items():
            for name in owner.Parameters.model_fields:
                for value in HOSTILE:
                    if isinstance(value, str):
                        tried += 1
                        attack(f"{id}:{name}", value, lambda: parse(f"{id}:{name}={value}"))
    print(tried, *problems, sep=chr(10))
    """
)


def test_every_parameter_is_checked_before_it_is_expanded() -> None:
    command = [sys.executable, "-c", SCRIPT]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-2_000:]
    tried, *problems = ended.stdout.splitlines()
    assert not problems
    assert int(tried) > 2_000
