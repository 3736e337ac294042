"""The Status page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Status",
    icon=":material/monitor_heart:",
    url="status",
    help="What is running and what is waiting, which models are loaded, and what are the limits?",
    order=100,
)
