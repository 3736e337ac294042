"""A page with the token heatmap alone, drawn from attributions made by hand; ``?case=`` chooses which."""

from dataclasses import replace

import numpy as np
import streamlit as st

from explainlab.app.heatmap import token_heatmap
from explainlab.attribution.records import Attribution, Target
from explainlab.figures.heatmap import heatmaps
from explainlab.models.classifier import Prediction
from explainlab.request import Request
from explainlab.result import Cost
from explainlab.text.units import Feature

HOSTILE = (
    '<script>alert(1)</script> <svg><script>alert(2)</script></svg> <img src=x onerror=alert(3)> &amp; "quoted" '
    "it's <br /> שלום עולם \u202eevil\u202c zero\u200bwidth 👨‍👩‍👧 end"
)
CASES = {
    "plain": ("A stirring, funny and finally transporting film\nof great beauty.", None, 0, True),
    "hostile": (HOSTILE, None, 0, True),
    "unsigned": ("A stirring, funny and finally transporting film.", None, 0, False),
    "pair": ("A man plays the guitar.", "Nobody makes any music.", 0, True),
    "cut": ("The first half was read. The second half never was.", None, 5, True),
    "long": ("It was not bad, really, but not quite unforgettable either. " * 34, None, 0, True),
    "prompt": ("A stirring, funny film.", None, 0, True),
    "ensemble": ("A stirring, funny and finally transporting film.", None, 0, False),
    "rtl": ("הסרט הזה היה נפלא, באמת film good מאוד.", None, 0, True),
}


def attribution(text: str, pair: str | None, cut: int, signed: bool, seed: int) -> Attribution:
    """Made-up scores of the blank-separated words, the last ``cut`` of them cut, between two special tokens."""
    features = [Feature("[CLS]", 0, 0, True, 0, ("[CLS]",), (101,))]
    for part, body in enumerate([text] if pair is None else [text, pair]):
        words = body.split()
        end = 0
        for word in words[: len(words) - cut]:
            start = body.index(word, end)
            end = start + len(word)
            halves = [word] if len(word) < 9 else [word[:5], word[5:]]
            for half in halves:
                at = body.index(half, start)
                features.append(Feature(half, at, at + len(half), False, part, (half,), (len(features),)))
        features.append(Feature("[SEP]", 0, 0, True, 0, ("[SEP]",), (102,)))
    scores = np.random.default_rng(seed).normal(size=len(features)) ** 3 / 20
    return Attribution(
        request=Request(model="tiny", text=text, text_pair=pair, question="input_x_gradient"),
        prediction=Prediction(1, "positive", {"negative": 0.1, "positive": 0.9}),
        target=Target(1, "positive"),
        features=tuple(features),
        scores=scores if signed else np.abs(scores),
        errors=np.full(len(features), 0.0012),
        signed=signed,
        completeness=None,
        cost=Cost(1, 1, 0.1),
        cut=cut,
    )


def prompted(result: Attribution) -> Attribution:
    """The same with a token of a prompt in place of the first special one."""
    asked = Feature("film: ", 0, 0, True, 0, ("film", ":"), (7, 8), prompt=True)
    return replace(result, features=(asked, *result.features[1:]))


st.set_page_config(page_title="Heatmap", layout="wide")
st.title("Heatmap")
case = st.query_params.get("case", "plain")
text, pair, cut, signed = CASES[case]
palette = st.selectbox("Colours", ["green_red", "blue_orange", "teal_magenta", "greyscale"])
results = [attribution(text, pair, cut, signed, seed) for seed in (1, 2)]
results = [prompted(result) for result in results] if case == "prompt" else results
if case == "ensemble":
    results = [replace(result, spread=result.scores / 4) for result in results]
for name, drawn in zip(("first", "second"), heatmaps(results, palette), strict=True):
    picked = token_heatmap(drawn, key=name)
    st.text(f"{name} picked: {picked}")
