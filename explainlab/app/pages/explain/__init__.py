"""The Explain page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Explain",
    icon=":material/highlight:",
    url="explain",
    help="One text, one model: which words speak for the prediction, and which against it?",
    order=10,
)
