"""The lines that the command line prints of every study: its numbers, of one text and of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from explainlab import study
from explainlab.analyses.base import TrainsModels
from explainlab.analyses.data_analysis import DataAnalysis
from explainlab.analyses.registry import get_study, studies
from tests.conftest import Zoo

TEXT = "a good film"
CHEAP: dict[str, dict[str, Any]] = {
    "ablation": {"methods": "occlusion,random", "samples": 2, "metrics": "log_odds"},
    "activation": {"methods": "occlusion"},
    "attack": {"epsilon": "0.1s", "steps": 1, "k": 50},
    "axioms": {"methods": "gradient", "positions": 1},
    "integration_error": {"steps": "2,3", "rules": "right"},
    "layer_randomisation": {"methods": "gradient", "draws": 1},
    "path_gradients": {"steps": "2"},
    "precision": {"methods": "gradient", "dtypes": "bfloat16"},
    "rpi_candidates": {"samples": 2, "steps": 2, "metrics": "log_odds"},
    "substitution": {"neighbours": 2, "k": 50},
    "evaluation": {"metrics": "log_odds:k=50"},
    "trust": {"method": "occlusion"},
}


ASKED = [
    (study_id, of_data)
    for study_id, asked in sorted(studies().items())
    if not isinstance(asked, TrainsModels) and study_id != "masked_distribution"  # these have tests of their own
    for of_data in ((True,) if isinstance(asked, DataAnalysis) else (False, True))
]


@pytest.mark.parametrize(("study_id", "of_data"), ASKED)
def test_a_study_tells_its_numbers(zoo: Zoo, tmp_path: Path, study_id: str, of_data: bool) -> None:
    file = tmp_path / "texts.csv"
    second = "" if study_id == "judged_map" else "a bad film,1,[]\n"
    file.write_text(f'text,label,rationale\na good film,0,"[[2, 6]]"\n{second}')
    source = {"data": str(file)} if of_data else {"text": TEXT}
    classifier = zoo("gpt2" if study_id == "intermediate_predictions" else "bert")
    scores = ",".join(map(str, range(len(classifier.encode(TEXT)))))
    settings = {"scores": scores} if study_id == "judged_map" else CHEAP.get(study_id, {})
    found = study(classifier, study_id, **source, **settings)
    told = "\n".join(get_study(study_id).report(found).lines)
    assert any(character.isdigit() for character in told), told
    assert "{" not in told, "for a reader, not for a program"
