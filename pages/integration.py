"""Integration: how many steps does this text need, and what do too few do to its map?"""

from explainlab.app.frame import guard
from explainlab.app.pages.integration.page import draw

guard()
draw()
