"""The Benchmark page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Benchmark",
    icon=":material/leaderboard:",
    url="benchmark",
    help="Which method should you trust on your model, and which differences between methods are real?",
    order=60,
)
