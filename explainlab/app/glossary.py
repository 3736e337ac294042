"""Terms of the pages and what they mean, links to them from help texts, and the guide to methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby

import pandas as pd
import streamlit as st

from explainlab.app.text import plain
from explainlab.attribution.method import Method
from explainlab.attribution.registry import methods
from explainlab.metrics.metric import AnyMetric
from explainlab.metrics.registry import metrics


@dataclass(frozen=True)
class Term:
    """A word and what it means, in Markdown; ``id`` is its anchor on the page of words."""

    id: str
    title: str
    text: str


TERMS: Mapping[str, tuple[Term, ...]] = {
    "What the model sees and says": (
        Term(
            "token",
            "Token",
            "The piece of text that a model reads at a time: a word, a part of a word, or a punctuation mark. "
            "“unforgettable” may be three tokens.",
        ),
        Term(
            "special-token",
            "Special token",
            "A token that the tokenizer or a prompt adds around the text, such as \\[CLS\\]. It can have a score, but "
            "is never ranked, hidden or removed.",
        ),
        Term(
            "feature",
            "Feature",
            "A part of the text that gets one score. The *unit* says which parts: tokens, words or sentences.",
        ),
        Term(
            "probability",
            "Probability",
            "How sure the model is of a class, from 0 to 100%. The probabilities of all classes add up to 100%. A "
            "model can be sure and wrong: the Errors page compares the two.",
        ),
        Term(
            "logit",
            "Logit",
            "The score that a model gives a class before scores are turned into probabilities. It has no limits: where "
            "a probability is stuck near 100%, the logit can still move.",
        ),
        Term("target", "Target", "The class whose score is explained: the predicted class, or any other you choose."),
        Term(
            "prompt",
            "Prompt",
            "The question put to a language model around the text. Its answer is the label word that it finds most "
            "likely as the next token.",
        ),
    ),
    "What an explanation is": (
        Term(
            "attribution",
            "Attribution",
            "A score for each feature of a text: how much it adds to the model's score for the target. Positive speaks "
            "for the class, negative against it. Drawn over the text, it is called a map or a heatmap.",
        ),
        Term(
            "unsigned",
            "Map without a sign",
            "Some methods say how much a word matters, but not whether it speaks for the class or against it. Their "
            "maps have one colour.",
        ),
        Term(
            "baseline",
            "Baseline",
            "What stands for “no information”. To learn what a word adds, a method must compare it with something: a "
            "mask token, zeros, or another neutral input.",
        ),
        Term(
            "completeness",
            "Completeness",
            "The scores add up to the change of the model's output from the baseline to the text. Methods that promise "
            "this can be checked: a wrong sum means that the map is not precise.",
        ),
        Term(
            "pass",
            "Pass",
            "One run of a text through the model. Methods differ in how many they need, from one to thousands, and "
            "so in how long they take. A pass with gradients takes about as long as three without.",
        ),
        Term(
            "integration-rule",
            "Integration rule and steps",
            "Some methods add up slopes along a path from the baseline to the text. The rule says at which points they "
            "look, the steps how many. Too few give wrong scores; *adaptive* adds points until they are right.",
        ),
    ),
    "How far to trust it": (
        Term(
            "random-map",
            "Random map",
            "A map with scores drawn by lot. A map that does no better tells nothing about the model.",
        ),
        Term(
            "seed",
            "Seed",
            "The number from which everything random is drawn. The same seed gives the same result; if another seed "
            "gives a very different map, do not rely on either.",
        ),
        Term(
            "interval",
            "Interval",
            "The range in which a mean lies with 95% confidence, given the texts it was computed from. Two "
            "intervals may overlap although the difference is clear, as both are of the same texts: a test of the "
            "differences, text by text, says which methods are better.",
        ),
        Term(
            "rationale",
            "Rationale",
            "The part of a text that is marked as the evidence for its class. Where people marked it, a map that "
            "agrees is *plausible*, which says nothing of the model. Where it was planted in the training, so that the "
            "model is known to look there, it is the *ground truth*.",
        ),
        Term(
            "rank-correlation",
            "Rank correlation",
            "How far two maps put the features in the same order: 1 the same order, 0 unrelated, −1 the opposite.",
        ),
        Term(
            "masked-text",
            "Masked text",
            "A text of which some tokens are hidden behind a mask token or another filler, or taken out. Whether a "
            "model knows such texts is checked by what its layers make of them: each is ranked among texts like those "
            "of its training, unit by unit (Simes), then layer by layer (Fisher), and the 5% that are the least like "
            "them are told apart (MaSF; Haroush et al. 2022, Madsen et al. 2023).",
        ),
        Term(
            "half-precision",
            "Half precision",
            "Numbers in 16 bits in place of 32: a model takes half the memory, and each number keeps three digits "
            "(float16) or two (bfloat16, which holds larger numbers). Small differences, of which maps are made, may "
            "be lost.",
        ),
        Term(
            "sign-conflict",
            "Sign conflict",
            "A feature that one map calls evidence for the class and another map evidence against it.",
        ),
        Term(
            "faithful",
            "Faithful",
            "A map is faithful if it shows what the model really used. One test is to mask what it calls important and "
            "train again: a model that gets no worse than with random words masked did not need these words.",
        ),
        Term(
            "leakage",
            "Leakage",
            "The masks themselves tell the class: a model that only sees where words are missing can then read it off.",
        ),
        Term(
            "calibration",
            "Calibration",
            "Whether a model is as sure as it is right: of the texts where it says 80%, it should have 80% right.",
        ),
    ),
}
"""The words that no method and no metric declares, by heading."""


@cache
def titles() -> dict[str, str]:
    """Return the title of everything on the page, by its anchor."""
    return {
        **{term.id: term.title for terms in TERMS.values() for term in terms},
        **{anchor(method.id): method.label for method in methods().values()},
        **{anchor(metric.id): metric.label for metric in metrics().values()},
    }


def anchor(name: str) -> str:
    """Return the anchor of a method or a metric."""
    return name.replace("_", "-")


def link(name: str) -> str:
    """Return the title of an anchor, or of the id of a method or a metric, as a Markdown link to it."""
    return f"[{plain(titles()[anchor(name)])}](words#{anchor(name)})"


def described(member: Method | AnyMetric) -> str:
    """Return the help of a method or a metric: the plain sentence first, then the formula, the source and the link."""
    formula = member.definition if isinstance(member, Method) else member.definition(member.Parameters())
    return explained(f"{plain(member.plain)}\n\n{plain(formula)}\n\n{plain(member.source)}", member.id)


def explained(text: str, *names: str) -> str:
    """Return a help ``text`` with links to what the page of words says about ``names``."""
    return f"{text}\n\n:material/menu_book: {' · '.join(map(link, names))}"


WHICH = "Which method?"
FAMILIES = {
    "Gradients": "Follow the slope of the model at the text itself: fast.",
    "Paths": "Go step by step from a baseline to the text: slower and more careful.",
    "Perturbation": "Hide parts of the text and watch the prediction: easy to explain, and for nearly any model.",
    "Attention": "Show what the model looks at: fast, but looking at a word is not deciding by it.",
    "Decomposition": "Follow what each word gave to every vector inside an encoder.",
    "Others": "Take the mean of several methods, or ask a language model in words.",
    "Control": "What every method must beat.",
}
START = ":green-badge[start here]"


def draw_guide_button() -> None:
    """Draw a button that opens the guide."""
    if st.button(WHICH, icon=":material/help_center:", width="stretch"):
        st.dialog(WHICH, width="large")(draw_guide)()


def draw_guide() -> None:
    """Draw a table for each family of methods."""
    starts = " · ".join(link(method.id) for method in methods().values() if method.recommended)
    st.markdown(
        f"Start with {starts}: they tell for and against, and work with most models. Add others to see where they "
        "disagree. All scores explain what the *model* does, right or wrong."
    )
    for family, members in groupby(methods().values(), lambda method: method.family):
        st.markdown(f"**{plain(family)}.** {FAMILIES.get(family, '')}")
        st.table(pd.DataFrame([_row(method) for method in members]), hide_index=True)
    st.caption(
        "Takes as long as: this many passes through the model, with gradients, for a text of 20 tokens. Adds up: the "
        "scores are meant to add up to the change of the model's output; each map says whether they do."
    )


def _row(method: Method) -> dict[str, str]:
    return {
        "Method": f"{link(method.id)} {START}" if method.recommended else link(method.id),
        "What it does": plain(method.plain),
        "Good for": plain(method.good_for),
        "Takes as long as": method.speed(),
        "Adds up": "yes" if method.adds_up else "",
    }
