"""Status: what runs and what waits, which models are loaded, and how much may be asked of this instance."""

from explainlab.app.frame import guard
from explainlab.app.pages.status import draw

guard()
draw()
