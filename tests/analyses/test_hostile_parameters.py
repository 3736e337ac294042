"""No parameter is expanded before it is checked: hostile sizes are refused quickly and without memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from reprlib import repr as quote
from typing import Any

from explainlab.analyses.registry import complete, require_bounded, studies
from explainlab.attribution.registry import methods, parse_spec
from explainlab.errors import ExplainLabError
from explainlab.limits import Limits
from explainlab.metrics.registry import metrics, parse_metric
from explainlab.request import Request
from tests import forked

BIG = 10**12
HOSTILE: tuple[Any, ...] = (
    "-200000000:5:1", "1:2000000000:1", "2000000000:1:-1", "1:5:0", "::", "9" * 5_000, "9" * 5_000 + "n",
    "1," * 200_000, "occlusion," * 20_000, "sufficiency," * 20_000, BIG, -BIG, float("nan"), float("inf"),
    f"{BIG}n", [1] * 200_000, ["occlusion"] * 20_000, {"occlusion": {"seed": [0] * 200_000}}, None, True, "",
)  # fmt: skip
MOST_BYTES, MOST_SECONDS, MOST_CHARACTERS = 500 * 2**20, 2, 2_000


def attack(name: str, value: Any, read: Callable[[], Any]) -> list[str]:
    """Return the problems with the reading or the refusal of ``value``."""
    begun, problems = time.thread_time(), []
    try:
        read()
    except ExplainLabError as error:
        if len(str(error)) > MOST_CHARACTERS:
            problems.append(f"a message of {len(str(error)):,} characters")
    except Exception as error:
        problems.append(f"{type(error).__name__}: {quote(str(error))}")
    if (seconds := time.thread_time() - begun) > MOST_SECONDS:
        problems.append(f"{seconds:.1f} s")
    return [f"{name} = {quote(value)}: {problem}" for problem in problems]


def ask(question: str, about: dict[str, str], name: str, value: Any) -> None:
    require_bounded(complete(Request(question=question, model="m", parameters={name: value}, **about)), Limits())


def attack_all(pipe: Connection) -> None:
    """Attack every parameter with little memory; send the number of attacks and the problems."""
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_BYTES,) * 2)
    attacks = []
    for about, questions in (({"text": "a text"}, methods()), ({"data": "embedded:sentiment"}, studies())):
        for question, owner in questions.items():
            for name in owner.Parameters.model_fields:
                for value in HOSTILE:
                    attacks.append(attack(f"{question}.{name}", value, partial(ask, question, about, name, value)))
    for owners, parse in ((methods(), parse_spec), (metrics(), parse_metric)):
        for id, owner in owners.items():
            for name in owner.Parameters.model_fields:
                for value in HOSTILE:
                    if isinstance(value, str):
                        attacks.append(attack(f"{id}:{name}", value, partial(parse, f"{id}:{name}={value}")))
    pipe.send((len(attacks), [problem for problems in attacks for problem in problems]))


def test_every_parameter_is_checked_before_it_is_expanded() -> None:
    ours, theirs = forked.pipe()
    process = forked.start(attack_all, theirs)
    theirs.close()
    assert ours.poll(300), "it takes too long"
    tried, problems = ours.recv()
    process.join()
    assert not problems
    assert tried > 2_000
