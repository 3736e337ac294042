"""The Errors page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Errors",
    icon=":material/rule:",
    url="errors",
    help="Which texts of a data set does a model get wrong, and which words speak for the wrong class?",
    order=50,
)
