"""The Errors page on the drivers of mistakes."""

from __future__ import annotations

from explainlab.analyses.mistake_drivers.result import MistakeDriversData
from explainlab.app.pages.errors.drivers import compared_words


def test_only_the_correct_rows_that_were_explained_are_counted() -> None:
    body = MistakeDriversData(n_wrong=1, n_right=900, n_compared=300, words=[], pairs=[], method="occlusion")
    assert compared_words(body) == "1 misclassified row against 300 correct ones"
