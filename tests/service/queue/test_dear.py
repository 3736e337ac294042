"""While a dear request goes on by two batches at most, another user's occlusion of a sentence is answered."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from explainlab.request import Request
from explainlab.service.jobs import JobContext
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import User
from explainlab.settings import settings

MODEL = "embedded:bert-mini-sst2"
TEXT = "A stirring, funny and warm film, though its plot is thin and its end comes late."
OCCLUSION = Request(model=MODEL, text=TEXT, question="occlusion")
ANN, BOB = User("ann", "Ann"), User("bob", "Bob")
SOON = 300
MOST_BATCHES = 2
GRID = {"measures": "gradient", "ratios": "0,50,100", "seeds": 2, "validation": "0.25", "settings": "epochs=40"}
DEAR: dict[str, dict[str, Any]] = {
    "training": {"question": "training", "model": "bert", "data": "{data}", "parameters": {"settings": "epochs=60"}},
    "discretized": {"question": "discretized_integrated_gradients", "text": TEXT, "parameters": {"steps": 1000}},
    "kernel_shap": {"question": "kernel_shap", "text": TEXT, "parameters": {"samples": 20_000}},
    "rpi": {"question": "rpi", "text": TEXT, "parameters": {"samples": 200, "steps": 100}},
    "attack": {"question": "attack", "text": TEXT, "parameters": {"steps": 1000}},
    "grid": {"question": "roar", "model": "bert", "data": "{data}", "parameters": {**GRID, "test": "{data}"}},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("dear") / "rows.csv"
    rows = [(f"The film number {n} is {word} and long to watch in the end.", word) for n in range(100) for word in "ab"]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return str(path)


@pytest.mark.full("60 s: each dear request runs for seconds")
@pytest.mark.parametrize("name", DEAR)
def test_a_text_of_another_user_is_answered_in_its_middle(
    name: str, data: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings(), "home", tmp_path)
    batches: Counter[str] = Counter()
    check = JobContext.check_cancelled

    def counted(context: JobContext) -> None:
        check(context)
        batches[context.key] += 1

    monkeypatch.setattr(JobContext, "check_cancelled", counted)
    fields = {"model": MODEL, **DEAR[name]}
    fields = {key: value.replace("{data}", data) if isinstance(value, str) else value for key, value in fields.items()}
    if "test" in fields["parameters"]:
        fields["parameters"] = {**fields["parameters"], "test": data}
    service = Service(Store("sqlite://"), "cpu")
    assert service.engine.wait(service.submit(Request(model=MODEL, text="warm", question="gradient"), BOB), SOON)
    dear = service.submit(Request(**fields), ANN)
    while batches[dear.key] < 20:
        assert not service.engine.wait(dear, 0.01), dear.progress.error
    before = batches[dear.key]
    text = service.submit(OCCLUSION, BOB)
    assert service.engine.wait(text, SOON)
    assert text.progress.status == "done"
    assert batches[dear.key] - before <= MOST_BATCHES + 1, "one batch was under way"
    assert not dear.progress.finished
    service.cancel(dear.key, ANN)
    assert service.engine.wait(dear, SOON)
    assert dear.progress.status == "cancelled"
