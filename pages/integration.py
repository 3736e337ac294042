"""Integration: how many steps does this text need, and what do too few do to its map?"""

from explainlab.analyses.integration.page.draw import draw
from explainlab.app.frame import guard

guard()
draw()
