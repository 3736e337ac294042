"""Errors: what a model gets wrong in a data set, and which words speak for the wrong class."""

from explainlab.app.frame import guard
from explainlab.app.pages.errors.page import draw

guard()
draw()
