"""The request: equal questions have equal keys in every spelling, and different ones never do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explainlab.analyses.registry import complete, get_analysis, new_request, request_key
from explainlab.app.pages.explain.form import View
from explainlab.attribution.registry import methods
from explainlab.errors import RequestError
from explainlab.request import Kind, Request, digest, validated

FIELDS: dict[str, Any] = {"model": "m", "text": "a film", "question": "integrated_gradients"}
DIGEST = "d" * 64


def key(**fields: Any) -> str:
    return request_key(complete(validated(Request, **{**FIELDS, **fields})), DIGEST)


# Keys ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (FIELDS, "d4655972fdbc19592e0872033f27799578655067ea49d0d42cef4524295065df"),
        (
            {"question": "trust", "model": "m", "text": "a film", "parameters": {"method": "lime"}},
            "be53e3fc771e97ddc7b22d3436a17a297dafa2eea7d21fce2c4c83564801a3d9",
        ),
        (
            {"question": "path_gradients", "model": "m", "text": "a film"},
            "7bf649013a1bf0b6460ff106ebf6e31609ace859105100f12869ea07f4a0d014",
        ),
        (
            {"question": "predictions", "model": "m", "data": "embedded:sentiment", "columns": {"text": "text"}},
            "8a19976b843a1001d852777a97824aa8f1274291a7ca49cfd60fe961b877563f",
        ),
        (
            {"question": "evaluation", "model": "m", "text": "a film"},
            "23bf2ecb4f1e45b7162070c1b985950e0aac91721af3ad8c54558500504dbe2f",
        ),
        (
            {"question": "activation", "model": "m", "text": "a film", "output": "logit"},
            "31f7abcf62f151be8e0ecc106e6465e4fd18829e1a59159f06c9af99f8dfba46",
        ),
    ],
)
def test_keys_stay_the_same_from_release_to_release(fields: dict[str, Any], expected: str) -> None:
    """Another key for the same question forgets every stored result: only a version may change these."""
    assert request_key(complete(Request(**fields)), DIGEST) == expected


def test_defaults_filled_in_or_left_out_give_one_key() -> None:
    defaults = complete(Request(**FIELDS)).parameters
    assert defaults
    assert key() == key(parameters=defaults) == key(parameters=dict(reversed(defaults.items())))
    for name, value in defaults.items():
        assert key(parameters={name: value}) == key(parameters={name: str(value)}) == key()


@pytest.mark.parametrize("method", methods())
def test_completing_twice_changes_nothing(method: str) -> None:
    once = complete(validated(Request, **{**FIELDS, "question": method}))
    assert complete(once) == once
    assert list(once.parameters) == [spec.name for spec in methods()[method].parameter_specs()]
    assert json.loads(json.dumps(once.parameters)) == once.parameters


def test_every_field_but_the_models_name_and_the_reader_changes_the_key() -> None:
    others = {
        "text": "a film ", "text_pair": "a plot", "question": "gradient", "parameters": {"steps": 51},
        "rationale": ((2, 6),), "rationale_pair": (), "paraphrases": ("a movie",),
        "target": "negative", "output": "logit", "unit": "word", "seed": 1, "dtype": "bfloat16",
    }  # fmt: skip
    assert others.keys() == Request.model_fields.keys() - {"model", "reader", "data", "columns", "classes"}
    keys = [key(), *(key(**{name: value}) for name, value in others.items())]
    assert len(set(keys)) == len(keys)
    assert key(model="another name") == key(reader="somebody") == key()


def test_a_request_that_does_not_say_which_rows_is_of_the_first_ones() -> None:
    about = {"question": "predictions", "text": None, "data": "embedded:sentiment"}

    def of_rows(**parameters: Any) -> str:
        return key(**about, parameters=parameters)

    assert of_rows(rows=5) == of_rows(rows=5, sample="first") != of_rows(rows=5, sample="random")
    assert of_rows(rows=5, sample="random") != of_rows(rows=6, sample="random")
    assert of_rows(rows=5, sample="all") == of_rows(rows=6, sample="all") != of_rows(rows=5)
    trust = {"question": "trust", "parameters": {"method": "lime"}}
    assert key(**trust) == key(**{**trust, "parameters": {"method": "lime", "sample": "random", "rows": 5}})


def test_a_new_request_asks_for_random_rows_of_a_data_set() -> None:
    about = {"model": "m", "question": "predictions", "data": "embedded:sentiment"}
    assert new_request(**about).parameters == {"sample": "random"}
    assert new_request(**about, parameters={"sample": "first"}).parameters == {"sample": "first"}
    assert new_request(**FIELDS) == Request(**FIELDS)
    assert complete(Request(**about)).parameters["sample"] == "first"
    with pytest.raises(RequestError, match="sample"):
        complete(new_request(**about, parameters={"sample": "best"}))


def test_a_new_request_says_whether_its_output_is_that_of_all_methods() -> None:
    about = {"model": "m", "text": "a film", "question": "evaluation"}
    assert new_request(**about) == Request(**about)
    assert new_request(**about, output="logit") == Request(**about, output="logit"), "a logit is always that of all"
    chosen = new_request(**about, output="probability")
    assert chosen.parameters == {"outputs": "all"}
    assert request_key(complete(chosen), DIGEST) != request_key(complete(Request(**about)), DIGEST)
    assert new_request(model="m", text="a film", question="lrp").output == "logit"
    assert new_request(model="m", text="a film", question="lrp", output="probability").parameters == {}
    with pytest.raises(RequestError, match="output"):
        new_request(**about, output="loss")


def test_model_and_version_change_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    request = complete(Request(**FIELDS))
    before = request_key(request, DIGEST)
    assert request_key(request, "e" * 64) != before
    monkeypatch.setattr(get_analysis(request.question), "version", 100)
    assert request_key(request, DIGEST) != before


def test_a_rationale_is_part_of_what_is_asked_and_none_leaves_no_trace() -> None:
    assert key(rationale=[[0, 1]]) == key(rationale=((0, 1),)) != key(rationale=[[2, 6]])
    assert key(rationale=[]) != key(rationale=None) == key()
    written = Request(**FIELDS).to_json("study")
    assert not {"rationale", "rationale_pair"} & written.keys()
    request = validated(Request, **FIELDS, text_pair="a plot", rationale=[[0, 1], [2, 6]], rationale_pair=[])
    for kind in ("study", "attribution"):
        record = json.loads(json.dumps(request.to_json(kind)))
        assert (record["rationale"], record["rationale_pair"]) == ([[0, 1], [2, 6]], [])
        assert Request.from_json(record) == request


def test_a_missing_second_text_is_not_an_empty_one() -> None:
    assert key(text_pair=None) != key(text_pair="")


@given(st.text(st.characters(), max_size=20), st.text(st.characters(), max_size=20))
def test_keys_tell_all_texts_apart(first: str, second: str) -> None:
    assert (key(text=first) == key(text=second)) == (first == second)


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)))
def test_a_digest_ignores_the_order_of_names(body: dict[str, Any]) -> None:
    assert digest(body) == digest(dict(reversed(body.items())))


def test_a_digest_refuses_what_is_no_number() -> None:
    with pytest.raises(ValueError, match="JSON"):
        digest({"value": float("nan")})


# Building ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"seed": -1}, "seed = -1 is not accepted."),
        ({"seed": 2**32}, "seed = 4294967296 is not accepted."),
        ({"seed": "one"}, "seed = 'one' is not accepted."),
        ({"seed": 0.5}, "seed = 0.5 is not accepted."),
        ({"output": "loss"}, "output = 'loss' is not accepted."),
        ({"unit": "letter"}, "unit = 'letter' is not accepted. Input should be 'token', 'word' or 'sentence'."),
        ({"dtype": "int8"}, "dtype = 'int8' is not accepted."),
        ({"rationale": [[0, 7]]}, "This is not accepted. The rationale's span [0, 7)"),
        ({"rationale": [[2, 2]]}, "This is not accepted. The rationale's span [2, 2)"),
        ({"rationale": [[-1, 2]]}, "This is not accepted. The rationale's span [-1, 2)"),
        ({"rationale_pair": [[0, 1]]}, "This is not accepted. The rationale's span [0, 1)"),
        ({"text": None, "data": "d", "rationale": [[0, 1]]}, "This is not accepted. The rationale's span [0, 1)"),
        ({"rationale": "nice"}, "rationale = 'nice' is not accepted."),
        ({"rationale": [[0, 1, 2]]}, "rationale.0 = [0, 1, 2] is not accepted."),
        ({"text": None}, "This is not accepted. A question needs either a text or a data set."),
        ({"text": "film " * 10_000, "unit": "x" * 10_000}, "unit = 'xxx"),
        ({"parameters": [1]}, "parameters = [1] is not accepted."),
        ({"temperature": 1}, "temperature = 1 is not accepted."),
    ],
)
def test_what_is_not_accepted_is_named_on_one_short_line(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as caught:
        validated(Request, **{**FIELDS, **fields})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_request_is_frozen_and_survives_json() -> None:
    request = validated(Request, **FIELDS, parameters={"steps": 3}, text_pair="🎬", seed=2**32 - 1)
    assert Request.model_validate_json(request.model_dump_json()) == request
    with pytest.raises(ValueError, match="frozen"):
        request.text = "another"


@pytest.mark.parametrize(
    ("request_", "kind", "names"),
    [
        (Request(**FIELDS), "attribution", ["model", "text", "text_pair", "method", "parameters", "target"]),
        (Request(question="trust", model="m", data="d"), "study", ["study", "model", "text", "text_pair", "data"]),
    ],
)
def test_json_names_the_method_or_the_study(request_: Request, kind: Kind, names: list[str]) -> None:
    record = json.loads(json.dumps(request_.to_json(kind)))
    assert list(record)[: len(names)] == names
    assert Request.from_json(record) == request_
    assert Request.of_result({**record, "target": {"index": 0}, "target_asked": request_.target}) == request_


def test_json_without_a_question_is_not_a_request() -> None:
    with pytest.raises(RequestError, match="neither a method nor a study"):
        Request.from_json({"model": "m", "text": "a film"})


def test_a_complete_request_equals_one_written_out_in_full() -> None:
    done = complete(Request(**FIELDS))
    assert done == Request(**done.model_dump()) != Request(**FIELDS)
    assert complete(done) is done


def test_a_question_that_is_named_twice() -> None:
    record = {"method": "occlusion", "question": "gradient", "model": "m", "text": "a"}
    with pytest.raises(RequestError, match="names its question twice"):
        Request.from_json(record)


def test_a_choice_that_cannot_be_written() -> None:
    with pytest.raises(RequestError, match="a character that cannot be written"):
        validated(View, model="m", text="a", palette="\ud800")
