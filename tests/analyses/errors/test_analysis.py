"""Predictions of a data set: every number against a slow loop over single texts, nothing run twice, nothing dropped."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from explainlab import cli, load_model, study
from explainlab.analyses.errors import analysis as predictions
from explainlab.analyses.errors.analysis import calibration
from explainlab.analyses.registry import request_key
from explainlab.analyses.text_analysis import row_request
from explainlab.data import read_dataset
from explainlab.errors import Cancelled, RequestError, TextError
from explainlab.models.context import MemoryCache, Receivers, RunContext
from explainlab.models.reading import read_all
from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store

DATA = "embedded:sentiment"


@pytest.fixture(scope="module")
def bert():
    return load_model("embedded:bert-mini-sst2", device="cpu")


@pytest.fixture(scope="module")
def body(bert):
    return study(bert, "predictions", data=DATA).body


@pytest.fixture(scope="module")
def slow(bert):
    """Predict row by row: the label, the prediction of a separate pass, and the probability of every class."""
    found = {}
    for row in read_dataset(DATA, bert.labels).rows:
        prediction = bert.predict(bert.encode(row.text))
        found[row.number] = row.label, prediction.label, prediction.probabilities
    return found


def write(path: Path, records: list[dict]) -> str:
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return str(path)


class Counting(MemoryCache):
    """The memory of a ``context`` that records the reported progress and cancels after a number of ``batches``."""

    def __init__(self, batches: float = math.inf) -> None:
        super().__init__()
        self.context = RunContext(progress=Receivers(self.report), check_cancelled=self.check_cancelled, cache=self)
        self.left, self.kept, self.told = batches, 0, []

    def report(self, done: int, total: int, phase: str) -> None:
        self.told.append((done, total))

    def check_cancelled(self) -> None:
        if self.left <= 0:
            raise Cancelled
        self.left -= 1

    def put_many(self, bodies: Mapping[str, dict], renew: bool = False) -> None:
        self.kept += 1
        super().put_many(bodies, renew)


def test_every_row_is_what_a_pass_of_its_own_says(bert, body, slow) -> None:
    assert [row["row"] for row in body.rows] == sorted(slow)
    for row in body.rows:
        label, predicted, probabilities = slow[row["row"]]
        assert (row["label"], row["predicted"], row["text_pair"], row["cut"]) == (label, predicted, None, False)
        assert row["confidence"] == pytest.approx(max(probabilities.values()), abs=1e-5)
        assert row["probability"] == pytest.approx(probabilities[label], abs=1e-5)
        assert row["loss"] == pytest.approx(-math.log(probabilities[label]), abs=1e-3)
        assert row["tokens"] == len(bert.encode(row["text"]))


def test_accuracy_and_confusion_are_counts(body, slow) -> None:
    labels = body.labels
    counts = [[0] * len(labels) for _ in labels]
    for label, predicted, _ in slow.values():
        counts[labels.index(label)][labels.index(predicted)] += 1
    assert body.confusion == counts
    n, right = len(slow), sum(counts[i][i] for i in range(len(labels)))
    assert body.n == n
    assert body.accuracy.mean == right / n
    z, share = 1.959963984540054, right / n  # Wilson's interval solves |p - share| = z * sqrt(p (1 - p) / n)
    for end in ("low", "high"):
        p = getattr(body.accuracy, end)
        assert abs(p - share) == pytest.approx(z * math.sqrt(p * (1 - p) / n), rel=1e-6)
    f1s = []
    for i, scores in enumerate(body.per_class):
        hit, said, there = counts[i][i], sum(row[i] for row in counts), sum(counts[i])
        assert (scores.label, scores.n) == (labels[i], there)
        assert (scores.precision, scores.recall) == (pytest.approx(hit / said), pytest.approx(hit / there))
        assert scores.f1 == pytest.approx(2 * hit / (said + there))
        f1s.append(scores.f1)
    assert body.macro_f1 == pytest.approx(sum(f1s) / len(f1s))


@pytest.mark.parametrize("bins", [1, 4, 15])
def test_calibration_is_a_loop_over_the_bins(bins) -> None:
    rng = np.random.default_rng(bins)
    sure, right = rng.uniform(0.3, 1, 200), rng.random(200) < 0.7
    sure[:5] = 0.25, 0.5, 0.75, 1, 0.5
    measured, ece = calibration(sure, right, bins), 0.0
    assert len(measured.bins) == bins
    for i, part in enumerate(measured.bins):
        low, high = i / bins, (i + 1) / bins
        inside = [j for j in range(200) if low < sure[j] <= high]
        assert (part.low, part.high, part.n) == (pytest.approx(low), pytest.approx(high), len(inside))
        if not inside:
            assert part.confidence is part.accuracy is None
            continue
        mean, share = np.mean([sure[j] for j in inside]), np.mean([right[j] for j in inside])
        assert (part.confidence, part.accuracy) == (pytest.approx(mean), pytest.approx(share))
        ece += len(inside) / 200 * abs(share - mean)
    assert measured.ece == pytest.approx(ece)
    assert sum(part.n for part in measured.bins) == 200


def test_what_was_predicted_before_a_cancel_is_not_run_again(bert, body, monkeypatch) -> None:
    monkeypatch.setattr(predictions, "TOGETHER", 50)
    counting = Counting(batches=6)
    context = counting.context
    with pytest.raises(Cancelled):
        study(bert, "predictions", data=DATA, context=context)
    done = counting.kept
    assert 0 < done < 5
    counting.left = math.inf
    rest = study(bert, "predictions", data=DATA, context=context)
    assert counting.kept == 5
    assert rest.cost.forward == body.n - 50 * done
    assert rest.cost.backward == 0
    assert [row["predicted"] for row in rest.body.rows] == [row["predicted"] for row in body.rows]
    again = study(bert, "predictions", data=DATA, context=context, bins=3)
    assert again.cost.forward == 0
    assert len(again.body.calibration.bins) == 3


def test_progress_counts_rows_and_ends_at_all(bert, body) -> None:
    counting = Counting()
    study(bert, "predictions", data=DATA, context=counting.context)
    done = [one for one, _ in counting.told]
    assert done == sorted(done)
    assert counting.told[-1] == (body.n, body.n)


def test_pairs_cuts_and_bad_rows(zoo, tmp_path) -> None:
    classifier = zoo("bert")
    long = "a good film " * 30
    records = [
        {"text": "a film", "text_b": "a plot", "label": "neutral"},
        {"text": long, "text_b": "the plot", "label": "0"},
        {"text": "fine", "text_b": "well", "label": "wonderful"},
        {"text": "[SEP]", "text_b": "[CLS]", "label": 2},
        {"text": " ", "text_b": "b", "label": 2},
        {"text": "funny", "text_b": "the acting is worse", "label": 2},
    ]
    found = study(classifier, "predictions", data=write(tmp_path / "pairs.jsonl", records))
    assert [row["row"] for row in found.body.rows] == [1, 2, 6]
    assert [number for number, _ in found.skipped] == [3, 4, 5]
    assert "not a class" in found.skipped[0][1]
    assert "no token" in found.skipped[1][1]
    assert "3 rows were left out" in found.warnings[0]
    for row, record in zip(found.body.rows, (records[0], records[1], records[5]), strict=True):
        encoding = classifier.encode(record["text"], record["text_b"])
        prediction = classifier.predict(encoding)
        assert (row["tokens"], row["cut"]) == (len(encoding), encoding.cut > 0)
        assert row["predicted"] == prediction.label
        assert row["confidence"] == pytest.approx(max(prediction.probabilities.values()), abs=1e-5)
    assert found.body.rows[1]["cut"]


def test_reading_many_texts_is_encoding_each(classifier) -> None:
    texts = [
        ("a stirring, funny film", None),
        ("", None),
        ("the plot " * 60, None),
        ("one", "two words"),
        ("x" * 30_000, None),
        ("\ud800", None),
        ("acting", "the plot is thin " * 40),
    ]
    for text, reading in zip(texts, read_all(classifier, texts), strict=True):
        if isinstance(reading, TextError):
            with pytest.raises(TextError) as told:
                classifier.encode(*text)
            assert str(reading) == str(told.value)
            continue
        encoding = classifier.encode(*text)
        assert list(reading.ids) == encoding.ids.tolist()
        assert list(reading.types) == encoding.types.tolist()
        assert (reading.cut, len(reading)) == (encoding.cut, len(encoding))
        assert reading.content == encoding.content.sum()
        unknown = encoding.ids[encoding.content] == classifier.tokenizer.unk_token_id
        assert (reading.unknown, reading.prompt) == (unknown.sum(), 0)
    assert sum(isinstance(reading, TextError) for reading in read_all(classifier, texts)) >= 3


def test_a_language_model_with_a_prompt_predicts(speaker) -> None:
    classifier = speaker("gpt2")
    texts = [("a good film", None), ("the plot is thin and the acting is worse", None)]
    for text, reading in zip(texts, read_all(classifier, texts), strict=True):
        encoding = classifier.encode(*text)
        assert list(reading.ids) == encoding.ids.tolist()
        assert reading.content + reading.prompt == len(reading)
        assert reading.content == encoding.content.sum()


def test_texts_that_the_model_cannot_read_are_warned_of(bert, tmp_path) -> None:
    texts = ["a funny film", "فيلم رائع جدا", "dull"]
    records = [{"text": text, "label": "positive"} for text in texts]
    (warning,) = study(bert, "predictions", data=write(tmp_path / "arabic.jsonl", records)).warnings
    assert "cannot read 1 of the 3 texts" in warning
    assert not study(bert, "predictions", data=DATA).warnings


def test_label_words_that_are_hardly_ever_said_are_warned_of(speaker, tmp_path) -> None:
    classifier = speaker("gpt2")
    records = [{"text": text, "label": classifier.labels[0]} for text in ("a good film", "dull")]
    shares = [classifier.label_share(classifier.encode(record["text"])) for record in records]
    result = study(classifier, "predictions", data=write(tmp_path / "prompted.jsonl", records))
    assert max(shares) < 0.1
    assert any("2 of the 2 texts the label words" in warning for warning in result.warnings)
    assert [row["tokens"] for row in result.body.rows] == [
        int(classifier.encode(record["text"]).content.sum()) for record in records
    ]


def test_columns_and_classes_are_chosen_and_part_of_the_key(bert, tmp_path) -> None:
    records = [
        {"review": "a funny film", "other": "dull", "stars": "good"},
        {"review": "dull", "other": "b", "stars": 0},
    ]
    asked = {"data": write(tmp_path / "named.jsonl", records), "classes": {"good": "positive"}}
    found = study(bert, "predictions", columns={"text": "review", "label": "stars"}, **asked)
    assert [(row["text"], row["label"]) for row in found.body.rows] == [
        ("a funny film", "positive"),
        ("dull", "negative"),
    ]
    request = found.request
    other = request.model_copy(update={"columns": {"text": "other", "label": "stars"}})
    plain = request.model_copy(update={"columns": {}, "classes": {}})
    assert len({request_key(chosen, "m") for chosen in (request, other, plain)}) == 3
    assert not row_request(found.request, read_dataset(DATA).rows[0], extra_columns=()).columns


def test_a_single_text_and_unreadable_data_are_refused(bert, zoo, tmp_path) -> None:
    with pytest.raises(RequestError, match="for a data set"):
        study(bert, "predictions", "a text")
    path = write(tmp_path / "none.jsonl", [{"text": "[SEP]", "label": 1}])
    with pytest.raises(RequestError, match="can read no text"):
        study(zoo("bert"), "predictions", data=path)


def test_a_class_that_never_occurs_counts_zero_and_one_row_is_enough(zoo, tmp_path) -> None:
    path = write(tmp_path / "one.jsonl", [{"text": "a funny film", "label": "negative"}])
    found = study(zoo("bert"), "predictions", data=path).body
    right = found.rows[0]["predicted"] == "negative"
    assert found.accuracy.mean == found.macro_f1 == float(right)
    assert [scores.n for scores in found.per_class] == [1, 0, 0]
    assert found.accuracy.low < found.accuracy.high


def test_the_service_keeps_it_and_the_command_line_prints_it(monkeypatch, capsys, body, tmp_path) -> None:
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    asked = Request(question="predictions", model="embedded:bert-mini-sst2", data=DATA)
    first = Service(Store(url)).run(resolve(asked))
    assert Service(Store(url)).find(resolve(asked)).body == first.body
    options = ["--model", "embedded:bert-mini-sst2", "--data", DATA, "--column", "text=text"]
    monkeypatch.setattr("sys.argv", ["explainlab", "study", "predictions", *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    out = capsys.readouterr().out
    assert f"accuracy  {body.accuracy.mean:.4f}" in out
    assert f"ECE       {body.calibration.ece:.4f}" in out
