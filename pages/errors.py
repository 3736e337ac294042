"""Errors: what a model gets wrong in a data set, and which words speak for the wrong class."""

from explainlab.analyses.errors.page.draw import draw
from explainlab.app.frame import guard

guard()
draw()
