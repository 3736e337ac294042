"""The Models page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Models",
    icon=":material/model_training:",
    url="models",
    help="Make a classifier of your own from labelled texts, and keep those that you have made.",
    order=70,
)
