"""A view: its requests, the equality of two views, and refused views."""

from __future__ import annotations

import pytest

from explainlab.app.pages.explain.form import Choice, View, first_view, shows
from explainlab.attribution.registry import methods
from explainlab.errors import RequestError
from explainlab.request import Request, validated

LOGITS = {"lrp", "decompx", "gae", "sp_pi", "mp_pi"}
EVERY = tuple(Choice(method=method) for method in methods())


def view(**fields) -> View:
    return first_view().model_copy(update=fields)


def test_one_complete_request_a_method_in_the_order_chosen():
    requests = view(methods=(Choice(method="lime", parameters={"samples": 7}), Choice(method="occlusion"))).requests()
    assert [request.question for request in requests] == ["lime", "occlusion"]
    assert requests[0].parameters["samples"] == 7
    assert requests[1].parameters == {"baseline": "mask", "baseline_data": ""}
    assert {request.text for request in requests} == {first_view().text}


def test_defaults_written_out_ask_the_same_and_drawing_is_no_question():
    plain, spelled = Choice(method="occlusion"), Choice(method="occlusion", parameters={"baseline": "mask"})
    drawn = view(methods=(spelled,), palette="blue_orange", scale="shared", top=3)
    assert view(methods=(plain,)).requests() == drawn.requests()
    assert view(methods=(plain,)).requests() != view(methods=(plain,), unit="word").requests()


def test_each_method_explains_its_own_output_unless_the_reader_chooses_one_for_all():
    assert first_view().output == "own"
    own = {request.question: request.output for request in view(methods=EVERY).requests()}
    assert own == {method: "logit" if method in LOGITS else "probability" for method in methods()}
    for output in ("probability", "logit"):
        assert {request.output for request in view(methods=EVERY, output=output).requests()} == {output}
    reference = Choice(method="rpi", parameters={"preset": "reference"})
    assert view(methods=(reference,)).requests()[0].output == "logit"


def test_a_stored_link_that_says_probability_asks_what_it_asked():
    stored = {**first_view().model_dump(mode="json"), "output": "probability", "methods": [{"method": "lrp"}]}
    opened = validated(View, **stored)
    assert opened.output == "probability"
    assert [request.output for request in opened.requests()] == ["probability"]


@pytest.mark.parametrize("method", ["lrp", "occlusion"])
@pytest.mark.parametrize("output", ["probability", "logit"])
def test_a_run_opens_as_it_was(method, output):
    (request,) = view(methods=(Choice(method=method),), output=output).requests()
    opened = shows(request)
    assert opened.requests() == [request]
    assert opened.output == ("own" if (method in LOGITS) == (output == "logit") else output)
    trust = Request(question="trust", model="m", text="a", output=output, parameters={"method": method, "settings": {}})
    assert [asked.output for asked in shows(trust).requests()] == [output]


def test_a_view_survives_json():
    asked = view(text_pair="and this", seed=2**32 - 1, top=3)
    assert View.model_validate_json(asked.model_dump_json()) == asked


@pytest.mark.parametrize(
    "wrong",
    [{"palette": "rainbow"}, {"seed": -1}, {"unit": "letter"}, {"scale": "log"}, {"top": -1}, {"colour": "red"}],
)
def test_what_no_view_can_hold_is_named(wrong):
    with pytest.raises(RequestError, match=next(iter(wrong))):
        validated(View, **{**first_view().model_dump(), **wrong})


def test_a_text_comes_with_all_settings_of_a_method():
    specs = ("rpi:steps=10", "rpi:steps=20", "rpi:steps=10", "occlusion")
    opened = first_view().with_shared_inputs({"methods": specs})
    assert [(request.question, request.parameters.get("steps")) for request in opened.requests()] == [
        ("rpi", 10), ("rpi", 20), ("occlusion", None)
    ]  # fmt: skip
    assert opened.names == ["rpi:steps=10", "rpi:steps=20", "occlusion"]
    assert opened.method_labels()[1].endswith(", 20 steps")
