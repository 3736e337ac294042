"""The figures of any result, as the folder of its analysis declares them."""

from __future__ import annotations

import importlib
from typing import Any

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.registry import get_study
from explainlab.figures.declared import Figures, StudyFigures


def figures_of(result: AnalysisResult[Any]) -> Figures:
    """The figures of ``result``: ``FIGURES`` in ``figures.py`` in the folder of its analysis."""
    folder = type(get_study(result.request.question)).__module__.removesuffix(".analysis")
    declared: StudyFigures = importlib.import_module(f"{folder}.figures").FIGURES
    return declared.draw(result)
