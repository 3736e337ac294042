"""The results of the analysis ``word_count``."""

from explainlab.analyses.base import Record


class Words(Record):
    """The number of words of a text."""

    words: int


class AllWords(Record):
    """The numbers of words of the texts of a data set, and their mean."""

    texts: list[Words]
    mean: float
