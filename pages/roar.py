"""ROAR: mask what a measure calls important, train again, and see whether the model gets worse."""

from explainlab.app.frame import guard
from explainlab.app.pages.roar.page import draw

guard()
draw()
