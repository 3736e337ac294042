"""The checks of a planted truth are two numbers, which need no chart."""

from __future__ import annotations

from explainlab.figures.declared import StudyFigures

FIGURES = StudyFigures(none="Two accuracies need no chart.")
