"""The script for GPUs, in small on a CPU."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification

from benchmarks import gpu, run_bench
from benchmarks.measurements import BEGUN, Measurement, add, page, read
from explainlab.attribution.registry import methods
from explainlab.metrics.registry import metrics

LLAMA = replace(gpu.ON_A_CPU[1][0], methods=("input_x_gradient", "sp_pi"))
DONE = Measurement("BERT", "method", "lime", 1, "A GPU", "2.0", "float32", 30, 50, 0.5, 0.25, 1234.5, 1e-6)

measures = pytest.mark.full("draws a model and measures, which takes seconds")


def measured(
    folder: Path, seconds: float = gpu.SECONDS, phases: tuple[gpu.Phase, ...] = ((LLAMA, 2),)
) -> tuple[list[Measurement], list[str]]:
    """Measure into ``folder``; returns the new measurements and the lines that ``say`` got."""
    said: list[str] = []
    return list(gpu.run(folder, seconds, said.append, phases)), said


@measures
def test_a_second_run_measures_nothing_again(tmp_path: Path) -> None:
    first, said = measured(tmp_path)
    assert [own.name for own in first] == ["input_x_gradient", "sp_pi"]
    for own in first:
        assert own.problem == ""
        assert own.seconds > 0
        assert own.bare_seconds > 0
        assert own.passes >= own.texts == 2
        assert 0 < own.difference < 0.1, "bfloat16 is near float32, and not equal"
    assert "no GPU" in said[0]
    before = (tmp_path / gpu.RECORDS).read_bytes()
    assert measured(tmp_path)[0] == []
    assert (tmp_path / gpu.RECORDS).read_bytes() == before
    other, _ = measured(tmp_path, phases=((LLAMA, 1),))
    assert [own.texts for own in other] == [1, 1]


@measures
def test_a_measurement_that_was_interrupted_is_made_again(tmp_path: Path) -> None:
    measured(tmp_path)
    path = tmp_path / gpu.RECORDS
    lines = path.read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["problem"] for line in lines] == [BEGUN, "", BEGUN, ""]
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:20])  # as if the machine had stopped while it wrote
    again, _ = measured(tmp_path)
    assert [own.name for own in again] == ["sp_pi"]
    assert {own.name: own.problem for own in read(path).values()} == {"input_x_gradient": "", "sp_pi": ""}


def test_without_time_nothing_is_begun(tmp_path: Path) -> None:
    found, said = measured(tmp_path, seconds=-1)
    assert found == []
    assert "2 measurements did not fit" in said[-1]
    assert read(tmp_path / gpu.RECORDS) == {}
    assert (tmp_path / gpu.PAGE).is_file()


@measures
def test_a_measurement_that_takes_too_long_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "LONGEST", 0.5)
    found, _ = measured(tmp_path)
    assert [own.problem for own in found] == ["not measured: it would take about 1 s"] * 2


@measures
def test_a_measurement_ends_when_the_time_is_up() -> None:
    drawn = gpu._Drawn(LLAMA, torch.device("cpu"))
    begun = Measurement(LLAMA.name, "method", "input_x_gradient", 1, "cpu", "2.0", LLAMA.dtype, problem=BEGUN)
    with pytest.raises(gpu._TimeIsUp):
        drawn.measured(begun, end=0.0)


@measures
def test_a_failure_is_recorded_with_its_reason_and_the_others_go_on(tmp_path: Path) -> None:
    too_wide = replace(LLAMA, name="too wide", sizes={**LLAMA.sizes, "hidden_size": 10**9})
    phases = (too_wide, 1), (LLAMA, 1)
    found, _ = measured(tmp_path, phases=phases)
    assert [own.problem for own in found] == ["out of memory", "out of memory", "", ""]
    assert measured(tmp_path, phases=phases)[0] == [], "a failure is not tried again"
    assert "out of memory" in (tmp_path / gpu.PAGE).read_text(encoding="utf-8")


def test_a_line_that_was_cut_is_removed(tmp_path: Path) -> None:
    path = tmp_path / gpu.RECORDS
    for own in (replace(DONE, problem=BEGUN), DONE, replace(DONE, texts=256)):
        add(path, own)
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    assert list(read(path).values()) == [DONE]
    add(path, replace(DONE, texts=256))
    assert path.read_bytes() == content
    assert list(read(path).values()) == [DONE, replace(DONE, texts=256)]


def test_the_page_has_a_table_for_each_device_model_and_number_of_texts() -> None:
    written = page([DONE, replace(DONE, texts=256, problem=BEGUN), replace(DONE, device="B GPU"), DONE])
    assert [line for line in written.splitlines() if line.startswith("##")] == [
        "## A GPU, torch 2.0",
        "### BERT, float32, 1 text (30 tokens)",
        "### BERT, float32, 256 texts (30 tokens)",
        "## B GPU, torch 2.0",
        "### BERT, float32, 1 text (30 tokens)",
    ]
    assert written.count("| `lime` | 50 | 0.5 | 0.25 | 2.00 | 1,234 | 1.0e-06 |") == 3
    assert f"| `lime` | {BEGUN} |" in written
    assert {line.count("|") for line in written.splitlines() if line.startswith("|")} == {8}


def test_the_shapes_have_as_many_weights_as_the_known_models() -> None:
    millions = {}
    for shape, _ in gpu.ON_A_GPU:
        with torch.device("meta"):
            network = AutoModelForSequenceClassification.from_config(shape.config(pad_token_id=0))
        millions[shape.name] = round(sum(own.numel() for own in network.parameters()) / 1e6)
    assert millions == {
        "BERT-base": 109,
        "Llama 8B": 7505,
        "ModernBERT-base": 150,
        "RoBERTa-large": 355,
        "Llama 8B, 2 of 32 layers": 962,
    }


@pytest.mark.full("measures every method and metric on four models: 20 s")
def test_every_method_and_metric_is_measured() -> None:
    said: list[str] = []
    rows = run_bench(["gpu"], said.append)["rows"]
    assert "no GPU" in said[0]
    shapes = gpu.ON_A_CPU
    assert len(rows) == sum(len(shape.tasks) for shape, _ in shapes), "none failed"
    names = Counter(row["name"] for row in rows)
    assert names.keys() == (methods().keys() | metrics().keys()) - {"llm_ranking"}
    assert all(names[name] == 4 for name in metrics()), "on three encoders, and on BERT with several texts too"
    exact = [row for row in rows if "llama" not in row["work"] and row["name"] in methods()]
    assert max(row["difference"] for row in exact) < 1e-3
