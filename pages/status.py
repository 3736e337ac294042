"""Status: running and waiting jobs, loaded models, and the limits of this instance."""

from explainlab.app.frame import guard
from explainlab.app.pages.status import draw

guard()
draw()
