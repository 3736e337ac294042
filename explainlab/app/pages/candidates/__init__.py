"""The Candidates page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Candidates",
    icon=":material/grid_view:",
    url="candidates",
    help="Which maps does randomized path-integration draw for a text, and what is choosing the best one worth?",
    order=30,
)
