"""Benchmark: how good each method is on a data set, by any metric, and which differences are real."""

from explainlab.app.frame import guard
from explainlab.app.pages.benchmark.page import draw

guard()
draw()
