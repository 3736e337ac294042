"""The figures of ``word_count``: none."""

from explainlab.figures.declared import StudyFigures

FIGURES = StudyFigures(none="A number needs no chart.")
