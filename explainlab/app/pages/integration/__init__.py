"""The Integration page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Integration",
    icon=":material/ssid_chart:",
    url="integration",
    help="How many steps does integrated gradients need for a text, and what do too few do to its map?",
    order=20,
)
