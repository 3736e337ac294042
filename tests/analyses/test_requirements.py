"""The declarations of analyses: few hooks, and requirements, each part of which changes the key of an answer."""

from __future__ import annotations

from typing import Any

import pytest

from explainlab.analyses import base
from explainlab.analyses.base import Analysis, Requirements, TrainsModels
from explainlab.analyses.data_analysis import DataAnalysis
from explainlab.analyses.registry import analyses, studies
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.method import TextSize
from explainlab.attribution.registry import get_method, parse_spec
from explainlab.declared import Parameters, parse
from explainlab.metrics.registry import get_metric
from explainlab.models.context import PassCount
from explainlab.reader import ANYBODY

GIVEN: dict[str, dict[str, Any]] = {
    "judged_map": {"scores": [0.5, 0.25]},
    "roar": {"test": "0.2"},
    "roar_estimate": {"test": "0.2"},
    "three_answers": {"test": "0.2"},
}
HOOKS = 14
"""Most names that an analysis may have to know."""


def test_an_analysis_has_few_hooks() -> None:
    shared = {name for cls in (Analysis, TextAnalysis, DataAnalysis, TrainsModels) for name in vars(cls)}
    shared |= set(Analysis.__annotations__)
    classes = {cls for one in analyses().values() for cls in type(one).__mro__ if not _is_shared(cls)}
    own = {name for cls in classes for name in vars(cls)} - {"bodies"}  # which are the type arguments
    hooks = sorted(name for name in shared & own if not name.startswith("_"))
    assert len(hooks) <= HOOKS, f"an analysis may override {', '.join(hooks)}"


def _is_shared(cls: type) -> bool:
    return cls in (TextAnalysis, DataAnalysis) or cls.__module__ in (base.__name__, "abc", "typing", "builtins")


@pytest.mark.parametrize("name", sorted(studies()))
def test_another_version_of_a_method_or_a_metric_gives_another_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = studies()[name]
    parameters = parse(analysis, GIVEN.get(name, {}))
    needs = analysis.requirements(parameters)
    before = needs.fingerprint(parameters, ANYBODY)
    for part in (*(get_method(own.method) for own in needs.methods), *map(get_metric, needs.metrics)):
        with monkeypatch.context() as patch:
            patch.setattr(type(part), "version", part.version + 1)
            assert needs.fingerprint(parameters, ANYBODY) != before, f"{part.id} is no part of the key"


def test_by_default_key_passes_and_early_ends_are_those_of_the_methods() -> None:
    text, methods = TextSize(10, 8), [parse_spec("occlusion"), parse_spec("integrated_gradients:rule=adaptive")]
    needs = Requirements(gradients=7, methods=methods)
    assert needs.passes(text, 2).forward > get_method("occlusion").passes(methods[0].parameters, text, 2).forward
    assert needs.adaptive
    assert not Requirements(gradients=7, methods=methods[:1]).adaptive
    assert Requirements(gradients=7).passes(text, 2) == PassCount.gradients(7)
    plain = Requirements(gradients=7).fingerprint(Parameters(), ANYBODY)
    assert needs.fingerprint(Parameters(), ANYBODY) != plain
    assert Requirements(gradients=7, versions=["checks 1"]).fingerprint(Parameters(), ANYBODY) != plain
