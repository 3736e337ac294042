"""Activation: the prediction as each method reveals a text, and the method that finds the decisive words first."""

from explainlab.app.frame import guard
from explainlab.app.pages.activation.page import draw

guard()
draw()
