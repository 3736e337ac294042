"""The headline of candidates: the best map by the first metric, beside the mean."""

from __future__ import annotations

from explainlab import load_model, study
from explainlab.analyses.candidates.headline import headline
from explainlab.figures.heatmap import number


def test_the_best_map_is_told_with_the_mean_beside_it() -> None:
    classifier = load_model("embedded:bert-mini-sst2", device="cpu")
    chosen = {"samples": 3, "steps": 2, "metrics": ["comprehensiveness"]}
    result = study(classifier, "rpi_candidates", "A warm and funny film.", **chosen)
    values = [candidate["metrics"]["comprehensiveness"] for candidate in result.body["candidates"]]
    assert headline(result).startswith(f"The best of {len(values)} maps by Comprehensiveness")
    assert headline(result).endswith(f"reaches {number(max(values))}, the mean of them {number(sum(values) / 3)}.")
