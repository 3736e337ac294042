"""A ranking of the most important words by the language model itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.attribution.decoding import Ranking, decode, prompt_ids, ranking
from explainlab.attribution.method import BatchedMethod, Outcome, TextSize, require_affordable
from explainlab.attribution.passes import fix_targets
from explainlab.attribution.subject import Subject
from explainlab.declared import AtMost
from explainlab.models.context import FORWARD, PassCount

PROMPT = (
    "A program sorts texts into these classes: {labels}. It put the text below into the class {label}.\n\n"
    "Text: {text}\n\n"
    "Which {units} of the text decided this? Copy them from the text, the most important first, one a line, and write "
    "nothing else.\n"
)
"""The default question."""
NOTHING_NAMED = "The language model named nothing of the text, so all scores are 0."
NO_ROOM = "The question has {own:,} tokens and the model reads {most:,}: it was not asked, so all scores are 0."
_PLACE = re.compile(r"\{(labels|label|text|units)\}")
_UNITS = {"token": "words", "word": "words", "sentence": "sentences"}


def _asks(prompt: str) -> str:
    if prompt and "{text}" not in prompt:
        raise PydanticCustomError("prompt", "The prompt has no place {{text}}")
    return prompt


class LlmRanking(BatchedMethod):
    """The score (n - r + 1) / n for the feature that the explained language model names as the rth of n; others score
    0.

    One text after another, greedily: no answer depends on chance or on other texts. It never looks inside the model.
    """

    class Parameters(declared.Parameters):
        max_new_tokens: Annotated[int, Field(ge=0), AtMost("max_evaluations")] = Field(
            0, description="Longest answer in tokens; 0: four for each part of the text, and 32."
        )
        prompt: Annotated[str, Field(max_length=10_000), AfterValidator(_asks)] = Field(
            "",
            description="The question, with the places {text}, {label}, {labels} and {units}; empty: our own words.",
        )

    id: ClassVar = "llm_ranking"
    label: ClassVar = "LLM ranking"
    plain: ClassVar = "Asks the language model itself which words mattered, and shows what it names."
    good_for: ClassVar = "Comparing what a model says about itself with what it does; choose words as the unit."
    family: ClassVar = "Others"
    source: ClassVar = "Barkan et al. 2024 (paper 001), Table 4; prompt, decoding and reading are ours"
    definition: ClassVar = "φᵢ = (n - r + 1) / n for the rth feature named, 0 for the others"
    needs: ClassVar = ("language model",)
    signed: ClassVar = False

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        """Return the passes: the question is read once, then each word of the answer costs a token."""
        words = _most(parameters, text.features)
        return PassCount(3 + words, spare=FORWARD * words * (1 - 1 / text.tokens))

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        fix_targets(subjects)
        outcomes = []
        for i, subject in enumerate(subjects):
            with subject.batcher.span(i, i + 1, len(subjects)):
                outcomes.append(_ranked(subject, parameters))
        return outcomes


def _ranked(subject: Subject, parameters: LlmRanking.Parameters) -> Outcome:
    features = [subject.units.features[i].text for i in subject.units.content]
    classifier, n = subject.classifier, len(features)
    most = _most(parameters, n)
    require_affordable(f"an answer of {most:,} tokens", most, classifier.limits)
    ids = prompt_ids(classifier, _question(subject, parameters.prompt or PROMPT))
    if len(ids) > classifier.max_tokens:
        warning = NO_ROOM.format(most=classifier.max_tokens, own=len(ids))
        return Outcome(np.zeros(len(subject.units.features)), warnings=(warning,))
    answer = decode(subject.batcher, ids, most)
    subject.forward += answer.passes
    named = ranking(answer.text, features)
    subject.notes += named.notes(n, answer.text.strip())
    warnings = () if named.named else (NOTHING_NAMED,)
    return Outcome(subject.units.spread(_scores(named, n)), warnings=warnings)


def _scores(named: Ranking, n: int) -> np.ndarray:
    """Return float64 [n]: the scores of the content features."""
    scores = np.zeros(n)
    scores[list(named.named)] = (n - np.arange(len(named.named))) / n
    return scores


def _question(subject: Subject, prompt: str) -> str:
    """Fill the places of ``prompt``, with the part of the text that the classifier read."""
    encoding, features = subject.encoding, subject.units.features
    ends = [max((f.end for f in features if f.part == part and not f.special), default=0) for part in (0, 1)]
    parts = [encoding.part_text(part)[:end] for part, end in enumerate(ends)]
    values = {
        "labels": ", ".join(subject.classifier.labels),
        "label": subject.target.label,
        "text": "\n\n".join(filter(None, parts)),
        "units": _UNITS[subject.unit],
    }
    return _PLACE.sub(lambda place: values[place[1]], prompt)


def _most(parameters: LlmRanking.Parameters, n: int) -> int:
    """Return the length of the longest answer about ``n`` features, in tokens."""
    return parameters.max_new_tokens or 4 * n + 32
