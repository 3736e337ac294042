"""A package that is installed beside ours adds a method, a metric, an analysis and a model type, and breaks nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import ErnieConfig, ErnieForSequenceClassification

from explainlab.settings import ROOT
from tests.zoo import LABELS, tokenizer_of

TEXT = "a funny film"
EXPLAIN = ["explain", "--model", "embedded:bert-mini-sst2", "--text", TEXT, "--method", "first_word", "--json"]
EVALUATE = [
    *["evaluate", "--model", "embedded:bert-mini-sst2", "--data", "embedded:sentiment", "--limit", "4"],
    *["--methods", "first_word,occlusion", "--metrics", "kept,comprehensiveness", "--json"],
]
INSIDE = """
import json, os, sys
from streamlit.testing.v1 import AppTest
import explainlab
from explainlab.testing import check_analysis, check_method, check_metric, check_model
from first_words.length.analysis import WordCount
from first_words.method import FirstWord
from first_words.metric import Kept

model = explainlab.load_model("embedded:bert-mini-sst2", device="cpu")
check_method(FirstWord(), model)
check_metric(Kept(), model)
check_analysis(WordCount(), model, text="a funny film", data="embedded:sentiment", rows=5)
check_model(explainlab.load_model(sys.argv[1], device="cpu"))
app = AppTest.from_file(sys.argv[2], default_timeout=300).run()
(methods,) = [each for each in app.multiselect if each.label == "Methods"]
print(json.dumps({"options": methods.options, "occlusion": explainlab.methods()["occlusion"].label}))
sys.stdout.flush()
os._exit(0)  # the page still computes
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment of a Python that finds the package of ``tests/plugin``, which pip has installed."""
    folder, source = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("source") / "plugin"
    shutil.copytree(ROOT / "tests" / "plugin", source, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(folder), str(source)], check=True)
    home = {"EXPLAINLAB_HOME": str(tmp_path_factory.mktemp("home")), "EXPLAINLAB_WORKERS": "0"}
    return {**os.environ, **home, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that finds the package."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)


def test_its_method_and_metric_are_in_the_commands_and_in_the_table(environment: dict[str, str]) -> None:
    explained = run(environment, "-m", "explainlab", *EXPLAIN)
    assert [feature["score"] > 0 for feature in json.loads(explained.stdout)["features"]] == [False, True, *[False] * 3]
    left_out = ["broken, an entry point of explainlab.methods", "no_method, an entry", "occlusion, an entry"]
    left_out += [
        "ernie_m, an entry point of explainlab.models, is left out: it is no ModelType",
        "bert, an entry point",
    ]
    for line in left_out:
        assert line in explained.stderr
    table = json.loads(run(environment, "-m", "explainlab", *EVALUATE).stdout)["rows"]
    assert {(row["method"], row["metric"]) for row in table} >= {("first_word", "kept"), ("occlusion", "kept")}


@pytest.mark.full("20 s: four contracts and a page in a process of their own")
def test_all_four_hold_their_contracts_and_the_page_offers_the_method(
    environment: dict[str, str], tmp_path: Path
) -> None:
    tokenizer = tokenizer_of("bert")
    labels = dict(enumerate(LABELS))
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    config = ErnieConfig(vocab_size=len(tokenizer), id2label=labels, label2id={n: i for i, n in labels.items()}, **size)
    ErnieForSequenceClassification(config).save_pretrained(tmp_path / "ernie")
    tokenizer.save_pretrained(tmp_path / "ernie")
    told = json.loads(run(environment, "-c", INSIDE, str(tmp_path / "ernie"), str(ROOT / "app.py")).stdout)
    assert "First word" in told["options"]
    assert told["occlusion"] == "Occlusion"
