"""The Status page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Status",
    icon=":material/monitor_heart:",
    url="status",
    help="What runs and what waits, which models are loaded, and how much may be asked of this instance?",
    order=100,
)
