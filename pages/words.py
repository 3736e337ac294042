"""Words: what token, logit, baseline and the others mean, and which method does what."""

from explainlab.app.frame import guard
from explainlab.app.pages.words import draw

guard()
draw()
