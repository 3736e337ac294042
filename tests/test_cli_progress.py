"""The progress of a command: first its estimate, then a bar on a terminal or few plain lines in a log."""

from __future__ import annotations

import pytest

from explainlab.models.context import SHARE
from explainlab.reporting import LATEST, Reporter
from tests.test_cli import TEXT, Run, model, run  # noqa: F401


def test_a_log_gets_a_line_after_each_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = [100.0]
    report = Reporter(False, lambda: seconds[-1])
    told = {}
    for done in range(1, 36):
        seconds.append(100.0 + done)
        report(done, 35, "training")
        told[done] = capsys.readouterr().err
    assert {done: line for done, line in told.items() if line} == {
        done: f"training: {done} of 35\n" for done in (10, 20, 30)
    }


def test_a_terminal_has_a_bar_after_two_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = [0.0]
    report = Reporter(True, lambda: seconds[-1])
    report(1, 3, "training")
    assert not capsys.readouterr().err
    seconds.append(LATEST)
    report(2, 3, "training")
    assert "training:  67%" in capsys.readouterr().err
    report.say("a line")
    assert "a line\n" in capsys.readouterr().err
    report(1, 3, "judging")  # the bar of the phase before is gone
    shown = capsys.readouterr().err
    assert "judging:  33%" in shown
    report.close()


def test_what_counts_no_things_is_told_as_a_share(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = [0.0]
    for bar, told in ((False, "gradients: 48%\n"), (True, "gradients:  48%")):
        report = Reporter(bar, lambda: seconds[-1])
        seconds.append(seconds[-1] + 20)
        report(4_812, SHARE, "gradients")
        shown = capsys.readouterr().err
        assert told in shown
        assert "4812" not in shown.replace(",", "")
        report.close()


@pytest.mark.usefixtures("home")
def test_a_job_of_some_seconds_tells_first_what_it_takes(
    run: Run,  # noqa: F811
    model: str,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("explainlab.cli.LATEST", 0.0)
    command = ("explain", "--model", model, "--method", "occlusion", "--json", "--text")
    assert not run(*command, TEXT).err, "nobody knows how long it takes"
    known = run(*command, f"{TEXT} again")
    assert known.json["text"] == f"{TEXT} again"
    (line,) = known.err.splitlines()
    assert line.startswith("Takes under 1 s: ")
    assert line.endswith(" passes through the model.")
    assert not run(*command, f"{TEXT} again").err, "it is stored"
