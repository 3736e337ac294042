"""A machine joins a cluster by hand only where there is one that it may join."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib.util import find_spec

import psutil
import pytest

from explainlab.errors import ExplainLabError, RequestError, ResourceError
from explainlab.settings import ROOT, settings
from explainlab.workers.cluster import joining
from explainlab.workers.cluster.joining import join

NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install ray==2.60.0")


@pytest.mark.parametrize("address", ["", "head", ":6379", "ray://10.0.0.7:6379", "10.0.0.7:port", "auto"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(RequestError, match="is no address of a head"):
        join(address)


def test_without_ray_it_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "find_spec", lambda _: None)
    with pytest.raises(ResourceError, match=r"pip install ray=="):
        join("127.0.0.1:1")


@NEEDS_RAY
def test_where_nothing_answers_it_is_told() -> None:
    with pytest.raises(ResourceError, match=r"No Ray cluster answers at 127\.0\.0\.1:1"):
        join("127.0.0.1:1")


@NEEDS_RAY
def test_a_hosted_instance_joins_none_that_others_may_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings(), "allow_anyone", True)
    with pytest.raises(RequestError, match="not an address on a private network"):
        join("8.8.8.8:6379")


@NEEDS_RAY
def test_it_stays_as_long_as_ray_does_and_tells_where_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "answers", lambda _: True)
    monkeypatch.setattr(joining, "START", "import sys; print(sys.argv[1:]); sys.exit(3)")
    with pytest.raises(ExplainLabError, match=r"Ray has left the cluster at 127\.0\.0\.1:1"):
        join("127.0.0.1:1")
    monkeypatch.setattr(joining, "START", f"import sys; assert sys.argv[1:3] == ['start', '--address'], {sys.argv!r}")
    join("127.0.0.1:1")


_WAITING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where the tests run in the background
from explainlab.workers.cluster import joining
joining.answers = lambda _: True
joining.START = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
joining.join("127.0.0.1:1")
"""


@NEEDS_RAY
def test_it_leaves_with_ctrl_c() -> None:
    command = subprocess.Popen([sys.executable, "-c", _WAITING], stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert command.stderr is not None
    joined = int(command.stderr.readline())
    command.send_signal(signal.SIGINT)
    assert command.wait(60)
    assert not psutil.pid_exists(joined)
