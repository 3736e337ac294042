"""Activation: what a model says as a text is revealed feature by feature, and whose order brings the telling first."""

from explainlab.analyses.activation.page.draw import draw
from explainlab.app.frame import guard

guard()
draw()
