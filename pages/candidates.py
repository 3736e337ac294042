"""Candidates: every map that randomized path-integration draws, and what choosing among them is worth."""

from explainlab.app.frame import guard
from explainlab.app.pages.candidates.page import draw

guard()
draw()
