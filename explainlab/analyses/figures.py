"""The figures of any result, as the folder of its analysis declares them."""

from __future__ import annotations

import importlib
from typing import Any

from explainlab.analyses.base import Analysis, AnalysisResult
from explainlab.analyses.registry import get_study
from explainlab.figures.declared import Figures, StudyFigures


def figures_of(result: AnalysisResult[Any]) -> Figures:
    """Return the figures of ``result``: see :func:`declared_figures`."""
    return declared_figures(get_study(result.request.question)).draw(result)


def declared_figures(analysis: Analysis) -> StudyFigures:
    """Return ``FIGURES`` in ``figures.py`` beside the ``analysis.py`` that declares ``analysis``.

    Raises :class:`ModuleNotFoundError` or :class:`AttributeError` if there are none.
    """
    modules = [cls.__module__ for cls in type(analysis).__mro__]
    folder = next(name for name in modules if name.endswith(".analysis")).removesuffix(".analysis")
    figures: StudyFigures = importlib.import_module(f"{folder}.figures").FIGURES
    return figures
