"""Candidates: every map that randomized path-integration draws, and what choosing among them is worth."""

from explainlab.analyses.candidates.page.draw import draw
from explainlab.app.frame import guard

guard()
draw()
