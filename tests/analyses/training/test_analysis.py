"""Making models: a training never runs twice, a stopped one goes on; the card says how the model was made."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest
import torch

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import answer_alone, complete, get_analysis, new_request, read_result, request_key
from explainlab.errors import Cancelled, DataError, RequestError, ResourceError
from explainlab.limits import Limits
from explainlab.models.context import Receivers, RunContext, Shards
from explainlab.models.loading import load_model, model_digest
from explainlab.reader import Reader
from tests.training.test_train import TINY, sentences

SMALL = {**TINY, "epochs": 2}


class Watching:
    """A run whose ``context`` counts the batches of trainings, and cancels before one of them."""

    def __init__(self, made: Path, most: int = 1000) -> None:
        progress = Receivers(self.report, self.expect, spend=self.spend)
        self.context = RunContext(Reader(made=made), progress, self.check_cancelled)
        self.most, self.batches, self.work, self.expected = most, 0, 0.0, 0.0

    def report(self, done: int, total: int, phase: str) -> None:
        self.batches += phase.startswith("steps of training")

    def expect(self, work: float, exact: bool = True) -> None:
        self.expected = work

    def spend(self, work: float) -> None:
        self.work += work

    def check_cancelled(self) -> None:
        if self.batches >= self.most:
            raise Cancelled


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("data") / "films.csv", 60, 0)


def written(path: Path, count: int, seed: int) -> str:
    given = sentences(count, seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(given.texts, given.labels, strict=True)])
    return str(path)


def make(
    watching: Watching | RunContext,
    data: str,
    base: str = "bert",
    seed: int = 0,
    classes: dict[str, str] | None = None,
    **parameters: Any,
) -> AnalysisResult[Any]:
    settings = SMALL if base == "bert" else {"epochs": 1}
    about = {"question": "training", "model": base, "data": data, "classes": classes or {}, "seed": seed}
    request = new_request(**about, parameters={"settings": settings, **parameters})
    context = watching.context if isinstance(watching, Watching) else watching
    result = answer_alone(complete(request), context, "cpu", Limits())
    assert isinstance(result, AnalysisResult)
    return result


def test_the_card_and_the_model(data: str, tmp_path: Path) -> None:
    test = written(tmp_path / "test.csv", 40, 1)
    context = Watching(tmp_path / "made")
    result = make(context, data, validation_share=0.2, test_data=test)
    (made,) = result.body.models
    card = made.model
    folder = tmp_path / "made" / card.digest
    model = load_model(str(folder / "model"), "cpu")
    assert card.files == model_digest(str(folder / "model")) == model.digest
    assert tuple(card.labels) == model.labels
    assert (card.base, card.recipe, card.seed, card.rows, card.validation_rows) == ("bert", "embedded", 0, 48, 12)
    assert card.epochs[card.best_epoch - 1].validation == max(epoch.validation for epoch in card.epochs)
    assert made.measured_on == "test"
    assert made.accuracy.low <= made.accuracy.mean <= made.accuracy.high
    assert sorted(path.name for path in folder.iterdir()) == ["card.json", "model"]
    assert context.work == pytest.approx(context.expected)
    record = json.loads(json.dumps(result.to_json()))
    assert read_result(record).to_json() == record
    assert sorted(figures_of(result).charts) == ["loss", "validation"]
    assert card.id in get_analysis("training").report(result).headline
    assert any("(kept)" in line for line in get_analysis("training").report(result).lines)


@pytest.mark.parametrize(("precision", "format"), [("highest", None), ("high", "tf32"), ("medium", "bf16")])
def test_rounded_products_are_recorded(data: str, tmp_path: Path, precision: str, format: str | None) -> None:
    torch.set_float32_matmul_precision(precision)
    try:
        result = make(Watching(tmp_path), data)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert result.versions.get("matmul") == format
    assert result.versions["device"] == "cpu"


def test_a_training_never_runs_twice(data: str, tmp_path: Path) -> None:
    first_run = Watching(tmp_path)
    first = make(first_run, data)
    again = Watching(tmp_path)
    more = make(again, data, seeds=2)
    assert again.batches == 2 * 6  # of the second seed alone
    assert again.work == pytest.approx(again.expected) == pytest.approx(first_run.expected)
    assert more.body.models[0].model == first.body.models[0].model
    assert [made.model.seed for made in more.body.models] == [0, 1]
    assert len({made.model.files for made in more.body.models}) == 2
    copied = tmp_path / "copy.csv"
    copied.write_bytes(Path(data).read_bytes())
    last = Watching(tmp_path)
    assert make(last, str(copied)).body == first.body
    assert last.batches == 0


class Helped(Watching):
    """A run that gives its second part to a worker of the machine ``host``."""

    def __init__(self, made: Path, data: str, host: str) -> None:
        super().__init__(made)
        self.context = replace(self.context, shards=Shards(take=self.take))
        self.data, self.host, self.other, self.refused = data, host, Watching(made), False

    def take(self, of: str, parts: Sequence[Any]) -> Iterator[Any]:
        yield parts[0]
        shards = Shards(take=lambda named, _: iter([(parts[1][0], self.host)]) if named == of else iter(()))
        self.other.context = replace(self.other.context, shards=shards)
        try:
            make(self.other, self.data, seeds=2)
        except ResourceError:
            self.refused = True


@pytest.mark.parametrize("host", [gethostname(), "elsewhere"])
def test_workers_of_one_machine_share_the_seeds(data: str, tmp_path: Path, host: str) -> None:
    alone, helped = Watching(tmp_path / "alone"), Helped(tmp_path / "made", data, host)
    expected, result = make(alone, data, seeds=2), make(helped, data, seeds=2)
    assert (result.body, result.cost.forward) == (expected.body, expected.cost.forward)
    assert helped.refused == (host == "elsewhere")
    assert helped.other.batches == (0 if helped.refused else 12)
    assert helped.batches + helped.other.batches == alone.batches == 24, "nothing twice"


@pytest.mark.parametrize("most", [3, 8, 11])
def test_a_stopped_training_goes_on(data: str, tmp_path: Path, most: int) -> None:
    whole = make(Watching(tmp_path / "whole"), data)
    with pytest.raises(Cancelled):
        make(Watching(tmp_path / "parts", most), data)
    rest = Watching(tmp_path / "parts")
    assert make(rest, data).body == whole.body
    assert rest.batches == (12 if most < 6 else 6)


def test_from_a_base_model(data: str, tmp_path: Path) -> None:
    validation = written(tmp_path / "validation.csv", 20, 2)
    made = make(Watching(tmp_path / "made"), data, "embedded:bert-mini-sst2", validation_data=validation).body.models[0]
    assert (made.model.recipe, made.model.rows, made.model.validation_rows) == ("thesis", 60, 20)
    assert made.measured_on == "validation"
    unmeasured = make(Watching(tmp_path / "made"), data, "embedded:bert-mini-sst2", validation_share=0)
    assert unmeasured.body.models[0].accuracy is None
    assert sorted(figures_of(unmeasured).charts) == ["loss"]


def test_what_decides_the_key(data: str, tmp_path: Path) -> None:
    def key(base: str = "bert", **fields: Any) -> str:
        analysis = get_analysis("training")
        request = analysis.complete(new_request(question="training", model=base, data=data, **fields))
        return request_key(request, analysis.model_digest(base))

    assert key(parameters={"settings": "epochs=2"}) == key(parameters={"settings": {"epochs": 2}})
    other = [key(), key("gpt2"), key("embedded:bert-mini-sst2"), key(seed=1), key(parameters={"size": "mini"}),
             key(parameters={"recipe": "roar"}), key(parameters={"validation_data": data})]  # fmt: skip
    assert len(set(other)) == len(other)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"settings": "epochs"}, "name=value"),
        ({"settings": "epochs=0"}, "epochs"),
        ({"settings": "teacher=gpt2"}, "without recipe"),
        ({"settings": [1]}, "name=value"),
        ({"recipe": "cake"}, "recipe"),
        ({"seeds": 11}, "seeds"),
    ],
)
def test_refuses_parameters(data: str, tmp_path: Path, parameters: dict, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        make(Watching(tmp_path), data, **parameters)


def test_a_folder_that_cannot_be_written(data: str, tmp_path: Path) -> None:
    (tmp_path / "made").write_text("a file")
    with pytest.raises(ResourceError, match="cannot be written"):
        make(Watching(tmp_path / "made"), data)


def test_refuses_requests(data: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="no folder for made models"):
        make(RunContext(), data)
    single = new_request(question="training", model="bert", text="a film")
    with pytest.raises(RequestError, match="not from a single text"):
        answer_alone(complete(single), Watching(tmp_path).context, "cpu", Limits())
    one_class = tmp_path / "one.csv"
    one_class.write_text("text,label\na film,good\nanother,good\n")
    with pytest.raises(DataError, match="fewer than two"):
        make(Watching(tmp_path / "made"), str(one_class))
    with pytest.raises(RequestError, match="cannot be chosen for embedded"):
        make(Watching(tmp_path), data, "embedded:bert-mini-sst2", settings={"layers": 2})
    short = RunContext(Reader(made=tmp_path / "made", limits=Limits(max_job_seconds=10)))
    with pytest.raises(RequestError, match="This training would take"):
        make(short, data, settings={"epochs": 1000})


def test_rows_are_left_out_for_their_label_in_every_file(data: str, tmp_path: Path) -> None:
    """Leave out a third label: the model is the one that the file without it makes."""
    kept = Path(data).read_text(encoding="utf-8")
    third, test = tmp_path / "third.csv", tmp_path / "test.csv"
    third.write_text(kept.replace("text,label\n", "text,label\nwhat?,unsure\nhow?,odd\n"), encoding="utf-8")
    test.write_text(kept + "who?,unsure\n", encoding="utf-8")
    classes = {"unsure": "", "odd": ""}
    result = make(Watching(tmp_path / "made"), str(third), classes=classes, test_data=str(test))
    assert result.warnings == (
        "Left out of the training data for their label, “unsure” and “odd”: 2 rows.",
        "Left out of the test data for their label, “unsure” and “odd”: 1 row.",
    )
    (made,) = result.body.models
    assert (made.model.classes, made.measured_rows, made.model.rows) == (classes, 60, 54)
    assert len(made.model.labels) == 2
    (alone,) = make(Watching(tmp_path / "made"), data).body.models
    assert alone.model.id == made.model.id
