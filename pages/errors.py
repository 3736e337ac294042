"""Errors: the texts of a data set that a model gets wrong, and the words that speak for the wrong class."""

from explainlab.app.frame import guard
from explainlab.app.pages.errors.page import draw

guard()
draw()
