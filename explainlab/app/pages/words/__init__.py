"""The page of words."""

from explainlab.app.entries import PageEntry

ENTRY = PageEntry(
    title="Words",
    icon=":material/menu_book:",
    url="words",
    help="What do token, logit, baseline and the others mean, and which method does what?",
    order=110,
)
