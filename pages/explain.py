"""Explain: one text, one model, any number of methods side by side."""

from explainlab.app.frame import guard
from explainlab.app.pages.explain.page import draw

guard()
draw()
