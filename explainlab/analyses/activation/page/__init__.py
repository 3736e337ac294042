"""The Activation page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Activation",
    icon=":material/visibility:",
    url="activation",
    help="What does a model say as features are revealed one by one, and whose order tells it soonest?",
    order=40,
)
