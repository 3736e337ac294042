"""A run and its page: the page asks the question of the run, so the answer is there."""

from __future__ import annotations

from typing import Any

import pytest

from explainlab.analyses.registry import complete
from explainlab.app.entries import page_of
from explainlab.request import Request

BERT, GPT = "embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"
SHARED = {"model": BERT, "text": "a film", "text_pair": "a plot", "target": "negative", "seed": 3, "output": "logit"}
DATA = {"model": BERT, "data": "embedded:sentiment", "target": "negative"}
MAP = {"unit": "word", "dtype": "bfloat16", "parameters": {"steps": 7, "rule": "right"}}
ERRORS = {"steps": [2, 9], "rules": ["left"]}
CANDIDATES = {"family": "rpi_ig", "samples": 3, "steps": 4, "metrics": ["log_odds"]}
EVALUATION = {"methods": ["lrp", "gradient:norm=signed_sum"], "metrics": ["auprc", "log_odds:k=10"], "rows": 7}
ACTIVATION = {"methods": ["occlusion", "lime:samples=50"], "baseline": "pad"}


def study(study_id: str, parameters: dict[str, Any], **fields: Any) -> Request:
    return Request(question=study_id, parameters=parameters, **fields)


QUESTIONS: dict[str, tuple[Request, str]] = {
    "a map": (Request(**SHARED, question="integrated_gradients", **MAP), "Explain"),
    "errors": (study("integration_error", {"steps": [2, 9], "baseline": "pad"}, **SHARED), "Integration"),
    "a path": (study("path_gradients", {"steps": [3, 5], "rule": "left"}, **SHARED), "Integration"),
    "candidates": (study("rpi_candidates", CANDIDATES, **SHARED), "Candidates"),
    "activation": (study("activation", ACTIVATION, model=GPT, text="a film", unit="word"), "Activation"),
    "errors of data": (
        study("integration_error", {"steps": [2, 9], "rules": ["left"], "rows": 7}, **DATA),
        "Integration",
    ),
    "candidates of data": (study("rpi_candidates", {**CANDIDATES, "rows": 7}, **DATA), "Candidates"),
    "predictions": (study("predictions", {"rows": 7}, model=BERT, data="embedded:sentiment"), "Errors"),
    "methods by metrics": (study("evaluation", EVALUATION, **DATA, unit="word", seed=3), "Benchmark"),
    "activation of data": (study("activation", {**ACTIVATION, "rows": 7}, **DATA, unit="word"), "Activation"),
}


def known(question: Request) -> Request:
    """Complete; a text's study has no rows to speak of."""
    question = complete(question)
    if question.text is not None:
        question.parameters.pop("rows", None)
    return question


@pytest.mark.parametrize("case", QUESTIONS)
def test_the_page_asks_what_the_run_had_asked(case: str) -> None:
    question, title = QUESTIONS[case]
    page = page_of(complete(question))
    assert page.entry.title == title
    assert known(question) in [known(asked) for asked in page.view.requests()]


def test_what_drives_the_mistakes_is_on_the_errors_page() -> None:
    parameters = {"rows": 7, "method": "occlusion:baseline=pad"}
    asked = study("mistake_drivers", parameters, model=BERT, data="embedded:sentiment", output="logit")
    page = page_of(complete(asked))
    assert page.entry.title == "Errors"
    assert known(page.view.drivers_request()) == known(asked)


def test_a_map_held_against_random_ones_is_on_the_explain_page() -> None:
    asked = study("trust", {"method": "lime", "settings": {"samples": 50}}, model=BERT, text="a film")
    (request,) = page_of(complete(asked)).view.requests()
    assert (request.question, request.parameters["samples"]) == ("lime", 50)


def test_what_no_page_shows_has_no_page() -> None:
    assert page_of(study("evaluation", {}, model=BERT, text="a film")) is None


@pytest.mark.parametrize(
    "asked",
    [
        study("integration_error", {"tolerance": 0.2}, model=BERT, text="a film"),
        study("integration_error", {"rules": ["left"]}, model=BERT, text="a film"),
        study("path_gradients", {"steps": [3, 4, 5]}, model=BERT, text="a film"),
        study("activation", {**ACTIVATION, "reference": "lime"}, model=GPT, text="a film", unit="word"),
        study("activation", ACTIVATION, model=GPT, text="a film", unit="word", seed=3),
        study("predictions", {"rows": 7, "bins": 5}, model=BERT, data="embedded:sentiment"),
        study("mistake_drivers", {"rows": 7, "right": 5}, model=BERT, data="embedded:sentiment", output="logit"),
    ],
    ids=lambda asked: asked.question,
)
def test_a_page_whose_view_cannot_say_it_all_does_not_show_it(asked: Request) -> None:
    assert page_of(complete(asked)) is None
