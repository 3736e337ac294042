"""The ROAR page."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="ROAR",
    icon=":material/repeat:",
    url="roar",
    help="Mask what a measure calls important, train again, and see whether the model gets worse.",
    order=57,
)
