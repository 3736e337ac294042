"""The Activation page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Activation",
    icon=":material/visibility:",
    url="activation",
    help="What does a model say as words are revealed one by one, and which method finds the decisive words first?",
    order=40,
)
