"""Command lines whose output was recorded before results became typed records; see ``recorded.json.gz``.

A data set's rows were its first ones then, which these commands now ask for.
"""

from __future__ import annotations

BERT, GPT2 = "embedded:bert-mini-sst2", "embedded:gpt2-mini-ag-news"
TEXT, NEWS = "A funny, warm film; the plot is thin.", "Oil prices rose as the team won"
OF_LAYERS = ["--set", "samples=2", "--set", "steps=3"]

EXPLAIN: dict[str, list[str]] = {
    "gradient": [],
    "input_x_gradient": [],
    "lrp": [],
    "deep_lift": [],
    "discretized_integrated_gradients": ["--set", "steps=3", "--set", "neighbours=20"],
    "integrated_gradients": [],
    "gradient_shap": ["--set", "samples=4"],
    "rpi": OF_LAYERS,
    "rpi_g": OF_LAYERS,
    "rpi_ig": OF_LAYERS,
    "rpi_sig": OF_LAYERS,
    "sequential_integrated_gradients": ["--set", "steps=3"],
    "kernel_shap": ["--unit", "word"],
    "lime": ["--set", "samples=30"],
    "occlusion": ["--set", "baseline=max_entropy"],
    "attention_last": [],
    "attention_average": [],
    "attention_rollout": [],
    "gae": [],
    "random": ["--seed", "7"],
}
CAUSAL: dict[str, list[str]] = {"sp_pi": [], "mp_pi": ["--set", "passes=8"]}
FIRST = ["--set", "sample=first"]
DATA = ["--data", "embedded:sentiment", "--set", "rows=3", *FIRST]
SCORES = ",".join(["0.0", *["0.5", "-0.2", "0.1", "0.3"] * 3][:12])

STUDIES: dict[str, list[str]] = {
    "integration_error": ["integration_error", "--model", BERT, "--text", TEXT, "--set", "steps=2,5,9"],
    "integration_error of data": ["integration_error", "--model", BERT, *DATA, "--set", "steps=2,5"],
    "path_gradients": ["path_gradients", "--model", BERT, "--text", TEXT, "--set", "steps=3,6"],
    "path_gradients of data": ["path_gradients", "--model", BERT, *DATA, "--set", "steps=3,6"],
    "rpi_candidates": ["rpi_candidates", "--model", BERT, "--text", TEXT, "--set", "samples=3", "--set", "steps=3"],
    "rpi_candidates of data": ["rpi_candidates", "--model", BERT, *DATA, "--set", "samples=2", "--set", "steps=2"],
    "ablation": ["ablation", "--model", BERT, "--text", TEXT, "--set", "samples=2", "--set", "methods=lime,random"],
    "ablation of data": ["ablation", "--model", BERT, *DATA, "--set", "samples=2", "--set", "methods=lime,random"],
    "trust": ["trust", "--model", BERT, "--text", TEXT, "--set", "method=occlusion"],
    "trust of data": ["trust", "--model", BERT, *DATA, "--set", "method=occlusion"],
    "judged_map": ["judged_map", "--model", BERT, "--text", "A funny film", "--set", "scores=0,0.5,-0.2,0.1,0"],
    "activation": ["activation", "--model", BERT, "--text", TEXT, "--unit", "word", "--set", "methods=occlusion,lime"],
    "activation of data": [
        *["activation", "--model", BERT, *DATA, "--unit", "word"],
        *["--set", "methods=occlusion", "--set", "reference=kernel_shap:samples=16n"],
    ],
    "intermediate_predictions": ["intermediate_predictions", "--model", GPT2, "--text", NEWS, "--unit", "word"],
    "intermediate_predictions of data": [
        *["intermediate_predictions", "--model", GPT2, "--data", "embedded:news", "--set", "rows=3", *FIRST],
    ],
    "predictions": ["predictions", "--model", BERT, "--data", "embedded:sentiment", "--set", "rows=40", *FIRST],
    "mistake_drivers": ["mistake_drivers", "--model", BERT, "--data", "embedded:sentiment", "--set", "right=4", *FIRST],
    "evaluation": ["evaluation", "--model", BERT, "--text", TEXT, "--set", "methods=occlusion"],
}
EVALUATE = [
    *["evaluate", "--model", BERT, "--data", "embedded:sentiment", "--limit", "3", "--sample", "first"],
    *["--methods", "input_x_gradient,occlusion", "--metrics", "comprehensiveness,log_odds:k=10,activation_auc"],
]


def cases() -> dict[str, list[str]]:
    """The arguments of every recorded command by name."""
    explain = {
        f"explain {method}": ["explain", "--model", model, "--text", text, "--method", method, *more]
        for model, text, group in ((BERT, TEXT, EXPLAIN), (GPT2, NEWS, CAUSAL))
        for method, more in group.items()
    }
    pair = ["explain", "--model", BERT, "--text", TEXT, "--text-pair", "Not funny", "--method", "occlusion"]
    studies = {f"study {name}": ["study", *arguments] for name, arguments in STUDIES.items()}
    return {**explain, "explain a pair": pair, **studies, "evaluate": EVALUATE}
