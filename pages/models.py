"""Models: make a classifier from labelled texts; those that were made, used, taken away and deleted."""

from explainlab.analyses.training.page.draw import draw
from explainlab.app.frame import guard

guard()
draw()
