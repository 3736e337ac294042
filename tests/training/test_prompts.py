"""A text around the texts of a model with a head: trained with it, saved with it, greyed, never scored; bad prompts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from explainlab import explain
from explainlab.analyses.roar.texts import Tokenizing
from explainlab.attribution.registry import get_method, methods
from explainlab.errors import DataError, ExplainLabError, ModelError, RequestError, TextError
from explainlab.limits import DEFAULT_LIMITS
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import LEAST_PREFIX
from explainlab.models.loading import load_model
from explainlab.models.reading import Reading, read_all
from explainlab.testing.methods import MethodRun, answers, batches, check_method_on_model
from explainlab.text.prompt import head_prompt
from explainlab.training import Examples, settings_for, train
from explainlab.training.passes import tokenized
from tests.attribution.test_contract import cheap
from tests.conftest import Zoo
from tests.tiers import first
from tests.training.test_train import TINY, sentences

FORM = "[Assertion]: {text_b} [Document]: {text} [End]"
LONG = "I did not like this film at all. It isn't funny, and it isn't good! {text}"
QUICK = {"epochs": 1, "max_tokens": 48, "recipe": "roar", "prompt": FORM}


def pairs(count: int = 60) -> Examples:
    """The second text alone tells the class."""
    given = sentences(count)
    return Examples(["the film"] * count, given.labels, given.texts)


def prompted(zoo: Zoo, name: str, form: str = FORM) -> Classifier:
    return replace(zoo(name), prompt=head_prompt(form))


@pytest.mark.parametrize("base", first(["bert", "gpt2"], ["bert", "gpt2", "t5_encoder"], "trains twelve epochs"))
def test_a_prompt_is_learned_kept_and_read_as_it_was_learned(base: str, tmp_path: Path) -> None:
    settings = settings_for(base, **{**TINY, "epochs": 12, "prompt": FORM})
    told = train(pairs(), base, tmp_path / "out", settings, held_out=pairs(20))
    assert told.accuracy is not None
    assert told.accuracy > 0.9
    model = load_model(str(tmp_path / "out"), device="cpu")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["explainlab_prompt"] == FORM
    first, second = "the film", "dull plot"
    whole = model.tokenizer("[Assertion]: dull plot [Document]: the film [End]")["input_ids"]
    encoding = model.encode(first, second)
    assert encoding.ids.tolist() == whole
    assert tokenized(model, Examples([first], ["negative"], [second])).ids == [whole]
    reading = read_all(model, [(first, second)])[0]
    assert isinstance(reading, Reading)
    assert reading.ids == whole
    with torch.no_grad():
        expected = model.model.network(input_ids=torch.tensor([whole])).logits[0].softmax(-1)
    found = torch.tensor(list(model.predict(encoding).probabilities.values()))
    assert torch.allclose(found.float(), expected, atol=1e-6)
    assert model.label_share(encoding) is None
    around = [piece for piece in encoding.prompt if piece is not None]
    assert "".join(around).replace(" ", "") == "[Assertion]:[Document]:[End]"
    assert [encoding.special[i] for i, piece in enumerate(encoding.prompt) if piece is not None] == [True] * len(around)
    result = explain(model, first, "occlusion", text_pair=second)
    assert {(f.part, f.special, f.prompt) for f in result.features} >= {(0, False, False), (1, False, False)}
    assert all(f.special for f in result.features if f.prompt)


def test_a_model_keeps_its_prompt_when_it_learns_on(zoo_path: Callable[[str], Path], tmp_path: Path) -> None:
    base = str(zoo_path("bert"))
    train(pairs(12), base, tmp_path / "one", settings_for(base, **QUICK))
    again = str(tmp_path / "one")
    other = "{text} {text_b}"
    for name, chosen, expected in (
        ("kept", {}, FORM),
        ("other", {"prompt": other}, other),
        ("lora", {"lora": True}, FORM),
    ):
        train(pairs(12), again, tmp_path / name, settings_for(again, **{**QUICK, "prompt": "", **chosen}))
        assert load_model(str(tmp_path / name), device="cpu").prompt == head_prompt(expected)
    with pytest.raises(DataError, match="place for a second text"):
        train(sentences(12), again, tmp_path / "single", settings_for(again, **{**QUICK, "prompt": ""}))


def test_every_method_explains_an_encoder_with_a_prompt(zoo: Zoo) -> None:
    model, failures = prompted(zoo, "bert", LONG), {}
    for method in methods():
        try:
            check_method_on_model(get_method(method), model, **cheap(method))
        except (AssertionError, ExplainLabError) as failure:
            failures[method] = failure
    assert failures == {}


@pytest.mark.parametrize("method", ["integrated_gradients", "kernel_shap", "sp_pi", "rpi"])
def test_a_prompt_that_is_read_once_changes_no_score(zoo: Zoo, method: str) -> None:
    """A decoder's prompt is read once for all versions of a text: the sum, the padding and the batches."""
    model = prompted(zoo, "gpt2", LONG)
    assert int(model.encode("a").content.argmax()) >= LEAST_PREFIX
    run = MethodRun(get_method(method), model, cheap(method))
    answers(run)
    batches(run)


def test_a_text_that_is_too_long_is_cut_and_the_prompt_is_not(zoo: Zoo) -> None:
    short = replace(prompted(zoo, "bert"), max_tokens=36)
    encoding = short.encode("a funny film " * 20, "the plot")
    assert len(encoding) == 36
    assert encoding.cut > 0
    assert "".join(p for p in encoding.prompt if p is not None).replace(" ", "") == "[Assertion]:[Document]:[End]"
    with pytest.raises(TextError, match=r"The prompt takes \d+ of the 8 tokens"):
        replace(short, max_tokens=8).encode("a", "b")
    with pytest.raises(TextError, match="asks for a second text"):
        short.encode("a")
    with pytest.raises(TextError, match="no place for a second text"):
        prompted(zoo, "bert", LONG).encode("a", "b")


def test_only_the_first_text_may_be_masked(zoo: Zoo) -> None:
    model = prompted(zoo, "bert")
    tokenizing = Tokenizing(model.tokenizer, model.max_tokens, 0, DEFAULT_LIMITS, model.prompt)
    read = tokenizing.read("a funny film", "the plot")
    pieces = [read.encoding.pieces[place] for place in read.candidates]
    assert "".join(pieces).replace("##", "") == "afunnyfilm"


@pytest.mark.parametrize(
    ("chosen", "base", "error", "words"),
    [
        ({"prompt": "no place"}, "bert", RequestError, "no place for {text}"),
        ({"prompt": "{text} {text}"}, "bert", RequestError, "2 places for {text}"),
        ({"prompt": "{text} {text_b} {text_b}"}, "bert", RequestError, "2 places for {text_b}"),
        ({"prompt": "x" * 10_001}, "bert", RequestError, "prompt"),
        ({"prompt": FORM}, "bilstm_attention", RequestError, "has no such thing"),
        ({"prompt": "only {text}"}, "bert", DataError, "no place for the second texts"),
        ({"prompt": FORM + " more" * 60, "max_tokens": 16}, "bert", TextError, "The prompt takes"),
    ],
)
def test_prompts_that_cannot_be(
    chosen: dict[str, Any], base: str, error: type[Exception], words: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=words.replace("{", r"\{")):
        train(pairs(12), base, tmp_path / "out", settings_for(base, **{**TINY, "epochs": 1, **chosen}))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("written", ["no place", 3, ["{text}", "{text}"], "{text}{text}"])
def test_a_damaged_prompt_is_told(zoo_path: Callable[[str], Path], tmp_path: Path, written: Any) -> None:
    path = Path(shutil.copytree(zoo_path("bert"), tmp_path / "model"))
    fields = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**fields, "explainlab_prompt": written}))
    with pytest.raises(ModelError, match="explainlab_prompt"):
        load_model(str(path), device="cpu")
