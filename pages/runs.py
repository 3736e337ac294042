"""Runs: everything computed here; open one, compare two, share them, take them away."""

from explainlab.app.frame import guard
from explainlab.app.pages.runs.page import draw

guard()
draw()
