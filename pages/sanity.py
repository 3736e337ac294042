"""Sanity: whether a map comes from what the model has learned, and whether it can be fooled."""

from explainlab.app.frame import guard
from explainlab.app.pages.sanity.page import draw

guard()
draw()
