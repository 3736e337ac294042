"""Sanity: whether a map comes from what the model has learned, and whether it can be fooled."""

from explainlab.analyses.layer_randomisation.page.draw import draw
from explainlab.app.frame import guard

guard()
draw()
