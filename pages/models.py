"""Models: make a classifier from labelled texts; those that were made, used, taken away and deleted."""

from explainlab.app.frame import guard
from explainlab.app.pages.models.page import draw

guard()
draw()
