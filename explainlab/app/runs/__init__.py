"""The Runs page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Runs",
    icon=":material/history:",
    url="runs",
    help="What has been computed here: find it, open it, compare two, share them, take them away.",
    order=90,
)
