"""The language model's own ranking: the question, the scores of an answer, and empty answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explainlab import Attribution, explain
from explainlab.attribution.decoding import prompt_ids
from explainlab.attribution.methods.llm_ranking import NO_ROOM, NOTHING_NAMED, LlmRanking, _question
from explainlab.attribution.registry import get_method
from explainlab.attribution.subject import Subject
from explainlab.errors import RequestError, UnsupportedError
from explainlab.limits import Limits
from explainlab.models.classifier import Classifier
from explainlab.models.loading import load_model
from explainlab.models.prompting import Template, save_template
from explainlab.testing import check_method
from explainlab.testing.methods import MethodRun, stores, together
from explainlab.testing.observation import watched
from tests.attribution.speech import saying
from tests.attribution.test_completion import STORY
from tests.conftest import Zoo
from tests.zoo import tokenizer_of

TEXT = "a funny film, a good film"


def asked_of(directory: Path, answer: str, text: str = TEXT, **options: object) -> Attribution:
    """The ranking by a model that says ``answer`` to the bare text."""
    after = len(tokenizer_of("gpt2")(text)["input_ids"])
    return explain(saying(directory, answer, after), text, "llm_ranking", prompt="{text}", unit="word", **options)


def test_the_rth_named_scores_n_minus_r_plus_1_of_n(tmp_path: Path) -> None:
    result = asked_of(tmp_path, "1. good\n2. film\n3. Film\n4. film\n5. plot")
    assert [f.text for f in result.features if not f.special] == ["a", "funny", "film", ",", "a", "good", "film"]
    np.testing.assert_allclose(result.scores[result.content], np.array([0, 0, 6, 0, 0, 7, 5]) / 7)
    assert not result.scores[~result.content].any()
    assert not result.signed
    assert result.spread is None
    assert NOTHING_NAMED not in result.warnings
    assert result.notes == (
        "Named 3 of 7; not named 4.",
        "Repeated 1: “film”",
        "Hallucinated 1: “plot”",
        "Answer: 1. good\n2. film\n3. Film\n4. film\n5. plot",
    )


def test_an_answer_that_names_nothing_scores_nothing(tmp_path: Path) -> None:
    result = asked_of(tmp_path, "the plot is thin")
    assert not result.scores.any()
    assert NOTHING_NAMED in result.warnings
    assert "Hallucinated 1: “the plot is thin”" in result.notes


def test_the_cost_is_that_of_the_text_and_of_each_token(tmp_path: Path) -> None:
    answer = "film\ngood"
    result = asked_of(tmp_path, answer)
    said = len(tokenizer_of("gpt2")(answer)["input_ids"])
    assert (result.cost.forward, result.cost.backward) == (1 + said + 1, 0)
    few = asked_of(tmp_path, answer, max_new_tokens=2)
    assert few.cost.forward == 1 + 2


def test_it_asks_for_the_words_of_the_text_by_class(speaker: Zoo) -> None:
    classifier = speaker("gpt2")
    subject = Subject(classifier, classifier.encode("a {label} film"), target="positive", unit="sentence")
    question = _question(subject, "{labels} | {label} | {units} | {text} | {other}")
    assert question == "negative, neutral, positive | positive | sentences | a {label} film | {other}"


def test_of_a_text_that_is_cut_it_asks_what_was_read(speaker: Zoo) -> None:
    classifier = speaker("gpt2")
    encoding = classifier.encode("film " * 60)
    assert encoding.cut > 0
    question = _question(Subject(classifier, encoding, target="positive"), "{text}")
    assert question == encoding.text[: encoding.offsets[encoding.content][-1][1]].rstrip()


def test_pairs_are_asked_with_both_texts(speaker_path: object, speaker: Zoo) -> None:
    pair = Template(name="pairs", text="{text} and {text_pair} so:", labels={"no": "N", "yes": "P"})
    save_template(pair)
    classifier = load_model(f"completion:{pair.name}:{speaker('gpt2').id.split(':', 2)[2]}", device="cpu")
    subject = Subject(classifier, classifier.encode("a film", "a plot"), target="yes")
    assert _question(subject, "{text}") == "a film\n\na plot"


def test_a_question_too_long_for_the_model_is_not_asked(speaker: Zoo) -> None:
    with watched(speaker("gpt2")) as passes:
        result = explain(speaker("gpt2"), "a film", "llm_ranking")
    assert not result.scores.any()
    assert result.cost.forward == passes.forward == 1
    assert any(warning.startswith(NO_ROOM.partition("{")[0]) for warning in result.warnings)


def test_longer_answers_than_the_limit_are_refused(tmp_path: Path) -> None:
    classifier = saying(tmp_path, "film", after=9)
    small = replace(classifier, limits=Limits(max_evaluations=20))
    with pytest.raises(RequestError, match="max_new_tokens"):
        explain(small, TEXT, "llm_ranking", max_new_tokens=21)
    with pytest.raises(RequestError, match="an answer of 60 tokens"):
        explain(small, TEXT, "llm_ranking", unit="word")


@pytest.mark.parametrize("parameters", [{"prompt": "which words?"}, {"max_new_tokens": -1}, {"ranker": "a/b"}])
def test_what_it_does_not_accept(speaker: Zoo, parameters: dict[str, object]) -> None:
    with pytest.raises(RequestError):
        explain(speaker("gpt2"), "a film", "llm_ranking", **parameters)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_classifiers_without_a_prompt_are_refused(zoo: Zoo, name: str) -> None:
    with watched(zoo(name)) as passes, pytest.raises(UnsupportedError, match="cannot be asked in words"):
        explain(zoo(name), "a film", "llm_ranking")
    assert passes.calls == 0


def test_texts_together_and_stored(tmp_path: Path) -> None:
    run = MethodRun(LlmRanking(), saying(tmp_path, "film\ngood\n\n", after=9), {"prompt": "{text}"})
    together(run)
    stores(run)


def test_the_whole_contract_where_an_answer_names_words(tmp_path: Path) -> None:
    """The model says the first words of the contract's text after whatever it reads."""
    classifier = saying(tmp_path, "good\nfilm\nfunny\n" * 40, after=2)
    method = get_method("llm_ranking")
    check_method(method, classifier, prompt="{text}", max_new_tokens=9)


def test_a_real_model_hallucinates(shared_models: Path) -> None:
    save_template(STORY)
    classifier: Classifier = load_model(f"completion:{STORY.name}:{shared_models / 'stories260k'}", device="cpu")
    result = explain(classifier, "A funny film. It isn't good!", "llm_ranking", unit="word")
    assert not result.scores.any()
    assert NOTHING_NAMED in result.warnings
    assert result.notes[0] == "Named 0 of 8; not named 8."
    assert result.notes[2].startswith("Hallucinated 3: “")
    question = _question(Subject(classifier, classifier.encode("a film"), target="glad"), "{text}")
    assert classifier.decode(prompt_ids(classifier, question)).endswith("a film")
