"""Commands that together ask every method, metric and analysis something small, and the files that they read."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from explainlab.models.prompting import Template, save_template
from tests.zoo import build

BERT, GPT2 = "embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"
FILM, NEWS = "A funny, warm film; the plot is thin.", "Oil prices rose as the team won"
SPEAKER = "completion:asked:{folder}/speaker"
TEMPLATE = Template(
    name="asked",
    text="film: {text}\nso:",
    separator="\n",
    labels={"negative": "N", "neutral": "Z", "positive": "P"},
    examples=[{"text": "the plot is", "label": "negative"}],
)
ROWS = (
    (FILM, "1", "[[2, 7], [9, 13]]", "A warm and funny film with a thin plot."),
    ("A dull, lifeless and slow evening in the cinema.", "0", "[[2, 6], [8, 16]]", "A slow and lifeless evening."),
    ("The acting is good. The story is not good at all.", "0", "[[37, 45]]", "Well acted, badly told."),
    ("Fine, warm and well worth the long evening.", "1", "[[0, 4], [15, 25]]", "Well worth the evening."),
)

SHORT = ("samples=2", "steps=3")
EVERYWHERE: dict[str, tuple[str, ...]] = {
    "gradient": (),
    "input_x_gradient": (),
    "lrp": (),
    "deep_lift": (),
    "discretized_integrated_gradients": ("steps=3", "neighbours=20"),
    "integrated_gradients": (),
    "gradient_shap": ("samples=4",),
    "rpi": SHORT,
    "rpi_g": SHORT,
    "rpi_ig": SHORT,
    "rpi_sig": SHORT,
    "sequential_integrated_gradients": ("steps=3",),
    "kernel_shap": ("samples=40",),
    "lime": ("samples=30",),
    "occlusion": (),
    "attention_last": (),
    "attention_average": (),
    "attention_rollout": (),
    "gae": (),
    "ensemble": ("members=gradient+occlusion",),
    "random": (),
}
ON_ENCODERS: dict[str, tuple[str, ...]] = {"alti": (), "decompx": (), "globenc": ()}
ON_DECODERS: dict[str, tuple[str, ...]] = {"sp_pi": (), "mp_pi": ("passes=8",)}
ON_SPEAKERS: dict[str, tuple[str, ...]] = {
    "llm_ranking": (),
    "gradient": (),
    "occlusion": (),
    "kernel_shap": ("samples=40",),
}

METRICS = (
    *("sufficiency", "comprehensiveness", "log_odds", "aopc_sufficiency", "aopc_comprehensiveness"),
    *("activation_auc", "inverse_activation_auc", "max_sensitivity:samples=2", "infidelity:samples=4"),
    *("edit_stability:samples=1", "ground_truth_overlap", "mean_rank", "mean_rank_percentage", "token_f1", "token_iou"),
    *("iou_f1", "auprc", "comprehensiveness:preset=eraser", "sufficiency:preset=ferret", "log_odds:k=10"),
)

TEXTS: dict[str, list[str]] = {
    "integration_error": ["steps=2,5,9"],
    "path_gradients": ["steps=3,6"],
    "rpi_candidates": ["samples=2", "steps=2"],
    "ablation": ["samples=2", "methods=lime,random"],
    "trust": ["method=occlusion"],
    "activation": ["methods=occlusion,lime"],
    "evaluation": ["methods=occlusion"],
    "attack": ["steps=2"],
    "axioms": ["methods=integrated_gradients,occlusion"],
    "layer_randomisation": ["methods=gradient", "draws=1"],
    "precision": ["methods=gradient", "dtypes=bfloat16"],
    "substitution": ["budget=1", "neighbours=4"],
}
"""Analyses of a text and of a data set, with settings that make them small."""
REVIEWS = ["--model", BERT, "--data", "embedded:sentiment", "--set", "sample=first"]
ALONE: dict[str, list[str]] = {
    "judged_map": ["--model", BERT, "--text", "A funny film", "--set", "scores=0,0.5,-0.2,0.1,0"],
    "predictions": [*REVIEWS, "--set", "rows=40"],
    "mistake_drivers": [*REVIEWS, "--set", "right=4"],
    "masked_distribution": [*REVIEWS, "--set", "rows=40"],
    "synthetic_roar": ["--set", "draws=2", "--set", "rows=200"],
}
NOUNS = ("plot", "score", "acting", "story", "ending", "opening", "humour", "camera", "dialogue", "sound", "cast")
GRID = [
    *["--set", "base=bilstm_attention", "--data", "{folder}/texts.csv", "--set", "test={folder}/rows.csv"],
    *["--set", "measures=gradient,input_x_gradient,random", "--set", "ratios=0,50,100", "--set", "seeds=2"],
    *["--set", "validation=0.25", "--set", "settings=epochs=1"],
]
TRAINED: dict[str, list[str]] = {
    "roar": ["study", "roar", *GRID],
    "three_answers": ["study", "three_answers", *GRID],
    "training of a bert": [
        *["train", "--architecture", "bert", "--data", "{folder}/texts.csv", "--out", "{folder}/trained"],
        *["--set", "epochs=1", "--set", "width=16", "--set", "layers=1", "--set", "heads=2"],
    ],
}
"""Trainings: a rounding grows with every step, so only two builds on one machine are compared by them."""


def make(folder: Path) -> None:
    """Write the files that the commands read: two data sets, a language model, and its template in the home."""
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label", "rationale", "paraphrase"), *ROWS])
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        kinds = [("dull", "0"), ("warm", "1")]
        rows = [(f"The {noun} of this film is {word}.", label) for noun in NOUNS for word, label in kinds]
        csv.writer(file).writerows([("text", "label"), *rows])
    build("gpt2", folder / "speaker", is_generative=True)
    save_template(TEMPLATE)


def cases() -> dict[str, list[str]]:
    """Return the arguments of every command by its name; ``{folder}`` stands for the folder of :func:`make`."""
    return dict([*_explanations(), *_variants(), *_evaluations(), *_studies()])


def _explanations() -> Iterator[tuple[str, list[str]]]:
    """Yield every method on an encoder, a decoder and a prompted language model, where it runs there."""
    on_models = (
        ("bert", BERT, FILM, EVERYWHERE | ON_ENCODERS),
        ("gpt2", GPT2, NEWS, EVERYWHERE | ON_DECODERS),
        ("prompt", SPEAKER, "a good film", ON_SPEAKERS),
    )
    for where, model, text, methods in on_models:
        for method, parameters in methods.items():
            yield f"{method} on {where}", [*_explain(model, text, method), *_set(parameters)]


def _variants() -> Iterator[tuple[str, list[str]]]:
    """Yield one method of each kind of pass with pairs, and with settings off their defaults."""
    for method in ("gradient", "integrated_gradients", "occlusion", "lime", "gae"):
        yield f"{method} of a pair", [*_explain(BERT, FILM, method), "--text-pair", "Not funny."]
    for unit in ("word", "sentence"):
        for method in ("input_x_gradient", "occlusion", "lime", "rpi"):
            small = _set((*EVERYWHERE[method],))
            yield f"{method} by {unit}", [*_explain(BERT, f"{FILM} I liked it.", method), "--unit", unit, *small]
    for method in ("gradient", "integrated_gradients", "kernel_shap"):
        yield (
            f"{method} of the other logit",
            [*_explain(BERT, FILM, method), "--output", "logit", "--target", "negative"],
        )
    for method in ("random", "lime", "gradient_shap", "rpi"):
        yield f"{method} by another seed", [*_explain(BERT, FILM, method), "--seed", "7", *_set(EVERYWHERE[method])]
    for baseline in ("zero", "max_entropy"):
        yield f"occlusion from {baseline}", [*_explain(BERT, FILM, "occlusion"), *_set((f"baseline={baseline}",))]


def _evaluations() -> Iterator[tuple[str, list[str]]]:
    """Yield every metric, of a file with rationales and paraphrases and of embedded examples."""
    own = ["--data", "{folder}/rows.csv", "--column", "rationale=rationale", "--column", "paraphrase=paraphrase"]
    for unit in ("token", "word"):
        methods = ["--methods", "input_x_gradient,occlusion", "--metrics", ",".join(METRICS)]
        yield (
            f"every metric by {unit}",
            ["evaluate", "--model", BERT, *own, "--sample", "all", *methods, "--unit", unit],
        )
    news = ["--data", "embedded:news", "--limit", "3", "--sample", "first", "--target", "gold"]
    methods = ["--methods", "gradient,attention_rollout", "--metrics", ",".join(METRICS[:7])]
    yield "metrics of news", ["evaluate", "--model", GPT2, *news, *methods]


def _studies() -> Iterator[tuple[str, list[str]]]:
    """Yield every analysis, of a text and of rows where it takes both."""
    rows = ["--data", "embedded:sentiment", *_set(("rows=3", "sample=first"))]
    for study, parameters in TEXTS.items():
        yield study, ["study", study, "--model", BERT, "--text", FILM, *_set(parameters)]
        yield f"{study} of rows", ["study", study, "--model", BERT, *rows, *_set(parameters)]
    layers = ["study", "intermediate_predictions", "--model", GPT2]
    yield "intermediate_predictions", [*layers, "--text", NEWS]
    yield "intermediate_predictions of rows", [*layers, "--data", "embedded:news", *_set(("rows=3", "sample=first"))]
    yield (
        "a reference",
        [
            *["study", "activation", "--model", BERT, *rows, "--unit", "word"],
            *_set(("methods=occlusion", "reference=kernel_shap:samples=16n")),
        ],
    )
    for study, arguments in ALONE.items():
        yield study, ["study", study, *arguments]


def _explain(model: str, text: str, method: str) -> list[str]:
    return ["explain", "--model", model, "--text", text, "--method", method]


def _set(parameters: list[str] | tuple[str, ...]) -> list[str]:
    return [part for assigned in parameters for part in ("--set", assigned)]
