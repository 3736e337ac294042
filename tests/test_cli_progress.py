"""How far a command is: one line on a terminal, and few plain ones in a log."""

from __future__ import annotations

import pytest

from explainlab.reporting import reporter


def test_a_log_gets_a_line_after_each_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = [100.0]
    report = reporter(False, lambda: seconds[-1])
    told = {}
    for done in range(1, 36):
        seconds.append(100.0 + done)
        report(done, 35, "training")
        told[done] = capsys.readouterr().err
    assert {done: line for done, line in told.items() if line} == {
        done: f"training: {done} of 35\n" for done in (10, 20, 30)
    }


def test_a_terminal_has_one_line_that_changes(capsys: pytest.CaptureFixture[str]) -> None:
    report = reporter(True)
    for done in (1, 2):
        report(done, 2, "training")
    assert capsys.readouterr().err == "\rtraining: 1 of 2\rtraining: 2 of 2\n"
