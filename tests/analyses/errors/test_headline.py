"""The headline of predictions: the accuracy and the most frequent mistake."""

from __future__ import annotations

from pathlib import Path

from explainlab import load_model, study
from explainlab.analyses.registry import get_study

RIGHT = 'text,label\n"A lovely, warm and funny film.",positive\n"Boring from start to end.",negative\n'


def told(path: Path, rows: str) -> str:
    path.write_text(rows)
    result = study(load_model("embedded:bert-mini-sst2", device="cpu"), "predictions", data=str(path))
    return get_study("predictions").headline(result)


def test_the_most_frequent_mistake_is_told(tmp_path: Path) -> None:
    wrong = '"Dull, slow and lifeless.",positive\n"Awful.",positive\n'
    assert told(tmp_path / "rows.csv", RIGHT + wrong) == (
        "The model is right about 50.0% of 4 rows; its most frequent mistake is to take positive for negative, 2 times."
    )


def test_a_model_that_is_always_right_makes_no_mistake(tmp_path: Path) -> None:
    assert told(tmp_path / "rows.csv", RIGHT) == "The model is right about 100.0% of 2 rows."
