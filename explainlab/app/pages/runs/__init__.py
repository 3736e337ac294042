"""The Runs page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Runs",
    icon=":material/history:",
    url="runs",
    help="Everything that was computed here: find it, open it, compare it, share it or download it.",
    order=90,
)
