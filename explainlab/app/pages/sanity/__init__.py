"""The Sanity page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Sanity",
    icon=":material/health_and_safety:",
    url="sanity",
    help="Does a map come from what the model has learned, and can it be fooled?",
    order=55,
)
