"""Benchmark: how good each method is on a data set, by any metric, and which differences are real."""

from explainlab.analyses.evaluation.page.draw import draw
from explainlab.app.frame import guard

guard()
draw()
