"""Explain: one text, one model, any number of methods side by side."""

from explainlab.analyses.explain.page.draw import draw
from explainlab.app.frame import guard

guard()
draw()
