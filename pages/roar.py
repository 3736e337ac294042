"""ROAR: mask what a measure calls important, train again, and see whether the model gets worse."""

from explainlab.analyses.roar.page.draw import draw
from explainlab.app.frame import guard

guard()
draw()
