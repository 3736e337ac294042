"""Sets of studies: each cell is a result of its own, and none stops another."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import explainlab
from explainlab.analyses.cells import cells
from explainlab.analyses.registry import complete, request_key
from explainlab.cli import main
from explainlab.errors import Cancelled, RequestError, ResourceError
from explainlab.service.store.store import Store
from explainlab.settings import settings

BERT, GPT2 = "embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"
SENTIMENT, NEWS = "embedded:sentiment", "embedded:news"


def test_models_come_first_then_data_and_what_does_not_fit_is_refused() -> None:
    bert = explainlab.load_model(BERT, device="cpu")
    asked = {"methods": ["occlusion"], "metrics": ["log_odds"], "limit": 3, "sample": "first", "target": "gold"}
    grid = explainlab.evaluate([bert, GPT2, "embedded:none"], [SENTIMENT, NEWS], **asked)
    assert [(cell.model, cell.data) for cell in grid] == [
        (model, data) for model in (BERT, GPT2, "embedded:none") for data in (SENTIMENT, NEWS)
    ]
    assert [cell.status for cell in grid] == ["done", "refused", "refused", "done", "failed", "failed"]
    assert all((cell.result is None) == bool(cell.reason) for cell in grid)
    assert "is not a class of the model" in grid[1].reason
    assert "embedded:none" in grid[4].reason
    first = grid[0]
    alone = explainlab.evaluate(bert, SENTIMENT, **asked)
    assert first.result is not None
    assert first.result.body.rows == alone.body.rows
    assert first.key == request_key(complete(alone.request), bert.digest)
    record = json.loads(json.dumps(first.to_json(), allow_nan=False))
    assert list(record) == ["model", "data", "status", "reason", "key", "body"]
    assert record["body"] == json.loads(json.dumps(alone.body_json()))
    assert grid[1].to_json()["body"] is None


def test_a_failure_stops_no_other_but_a_cancel_does() -> None:
    bert = explainlab.load_model(BERT, device="cpu")
    result = explainlab.evaluate(bert, SENTIMENT, ["random"], ["log_odds"], limit=2)

    def answer(model: str, data: str):
        if data == "full":
            raise ResourceError("The disk is full.")
        if data == "stop":
            raise Cancelled
        return result

    (failed, done) = cells(["m"], ["full", "fine"], answer)
    assert (failed.status, failed.reason, done.status) == ("failed", "The disk is full.", "done")
    with pytest.raises(Cancelled):
        list(cells(["m"], ["stop", "fine"], answer))


def test_the_command_line_prints_cells_that_are_kept_under_their_own_keys(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["evaluate", "--model", BERT, "--model", GPT2, "--data", SENTIMENT, "--limit", "3"]
    arguments += ["--methods", "random,gradient:norm=signed_sum", "--metrics", "log_odds", "--target", "gold"]

    def printed(*more: str) -> str:
        monkeypatch.setattr(sys, "argv", ["explainlab", *arguments, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        return capsys.readouterr().out

    done, refused = json.loads(printed("--json"))["cells"]
    assert (done["status"], refused["status"], refused["key"]) == ("done", "refused", None)
    assert {row["method"] for row in done["body"]["rows"]} == {
        "random",
        "gradient:norm=signed_sum",
        "reversed:gradient:norm=signed_sum",
    }
    store = Store(settings().store_url)
    assert store.has(done["key"])
    assert store.lease.told() == {}, "what has answered a cell is no server any longer"
    told = printed()
    assert f"{BERT}, {SENTIMENT}: By Log-odds" in told
    assert f"{GPT2}, {SENTIMENT}: refused. " in told


def test_any_study_of_a_data_set_is_asked_of_several(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bert = explainlab.load_model(BERT, device="cpu")
    asked = {"rows": 3, "sample": "first"}
    grid = explainlab.study([bert, GPT2], "predictions", data=[SENTIMENT, NEWS], **asked)
    assert [cell.status for cell in grid] == ["done", "refused", "refused", "done"]
    assert grid[0].result.body == explainlab.study(bert, "predictions", data=SENTIMENT, **asked).body
    with pytest.raises(RequestError, match="not on a text"):
        explainlab.study([bert, GPT2], "activation", "a text")
    shared = ["study", "activation", "--model", BERT, "--model", BERT, "--set", "rows=2", "--set", "methods=gradient"]

    def printed(*more: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["explainlab", *shared, *more])
        with pytest.raises(SystemExit) as ended:
            main()
        written = capsys.readouterr()
        return int(ended.value.code or 0), written.out, written.err

    code, out, _ = printed("--data", SENTIMENT, "--json")
    first, second = json.loads(out)["cells"]
    assert (code, first["status"], first["body"]["n"]) == (0, "done", 2)
    assert first == second
    code, out, err = printed("--text", "a text")
    assert (code, out) == (2, "")
    assert "not on a text" in err
