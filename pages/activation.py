"""Activation: what a model says as a text is revealed feature by feature, and whose order brings the telling first."""

from explainlab.app.frame import guard
from explainlab.app.pages.activation.page import draw

guard()
draw()
