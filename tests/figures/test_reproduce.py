"""The code under "Reproduce this" gives the same scores again, whatever the text."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explainlab import Attribution, explain, load_model
from explainlab.cli import main
from explainlab.figures.export import command_line, python_code
from explainlab.models.classifier import Classifier

NASTY = [
    "a stirring, funny film",
    """It isn't "good" — it's 'great'""",
    "line one\nline two\r\n\ttabbed",
    "costs $5, ${HOME}, $(echo no) and `echo no`",
    "back\\slash \\n \\\" \\' and a last one\\",
    "🎬 👩‍👩‍👧 не плохой فيلم \u202efilm\u202c",
    "-n --json --text=x",
    "{film} %s %(x)s #no !history * ? ~ [a-z] ; & | > <",
    "  blanks around  ",
    "\"\"\"three quotes'''",
]
CHOSEN: list[dict[str, Any]] = [
    {"method": "integrated_gradients", "steps": 3, "rule": "trapezoid", "baseline": "zero"},
    {"method": "occlusion", "baseline": "max_entropy", "baseline_data": "embedded:sentiment"},
    {"method": "gradient_shap", "noise": 0.1, "samples": 2, "seed": 7},
    {"method": "lime", "samples": 10, "unit": "word", "output": "logit", "target": "neutral"},
    {"method": "input_x_gradient", "text_pair": 'and it\'s "worse"\nthan $that'},
    {"method": "random", "seed": 2**32 - 1},
]


@pytest.fixture(scope="module")
def model(zoo_path: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tiny RoBERTa, which tells all characters apart, in a folder with an awkward name."""
    link = tmp_path_factory.mktemp("models") / 'it\'s a "model" $x'
    link.symlink_to(zoo_path("roberta"))
    return str(link)


@pytest.fixture(scope="module")
def classifier(model: str) -> Classifier:
    return load_model(model)


@pytest.fixture(
    scope="module", params=[*[{"text": text} for text in NASTY], *CHOSEN], ids=lambda chosen: repr(chosen)[:40]
)
def result(request: pytest.FixtureRequest, classifier: Classifier) -> Attribution:
    return explain(classifier, **{"text": NASTY[0], "method": "gradient", **request.param})


def test_the_python_snippet_gives_the_same_scores(result: Attribution, capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = {}
    exec(python_code(result), found)
    _same(found["result"].to_json(), result)
    assert "score" in capsys.readouterr().out


def test_the_command_line_gives_the_same_scores(
    result: Attribution, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python, _, _, *arguments = shlex.split(command_line(result))
    assert python == "python"
    monkeypatch.setattr(sys, "argv", ["explainlab", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    _same(json.loads(capsys.readouterr().out), result)


def test_a_shell_reads_the_command_line_as_we_do(result: Attribution) -> None:
    command = f"printf '%s\\0' {command_line(result)}"
    words = subprocess.run(["sh", "-c", command], capture_output=True, check=True).stdout.decode().split("\0")
    assert words[:-1] == shlex.split(command_line(result))
    assert words[words.index("--text") + 1] == result.request.text


def test_an_empty_parameter_is_left_out(result: Attribution) -> None:
    given = result.request.parameters.get("baseline_data", "")
    assert ("baseline_data" in python_code(result)) == ("baseline_data" in command_line(result)) == bool(given)


def test_a_dtype_other_than_the_usual_is_repeated(model: str) -> None:
    made = explain(load_model(model, dtype="bfloat16"), NASTY[0], "gradient")
    assert "dtype='bfloat16'" in python_code(made)
    found: dict[str, Any] = {}
    exec(python_code(made), found)
    _same(found["result"].to_json(), made)


def _same(found: dict[str, Any], result: Attribution) -> None:
    made = result.to_json()
    for name in ("text", "text_pair", "method", "parameters", "target", "output", "unit", "seed", "dtype", "model"):
        assert found[name] == made[name], name
    assert [f["text"] for f in found["features"]] == [f["text"] for f in made["features"]]
    scores = [feature["score"] for feature in found["features"]]
    np.testing.assert_allclose(scores, result.scores, rtol=1e-5, atol=1e-9)
