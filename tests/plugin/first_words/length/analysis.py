"""An analysis of a text or a data set: how many words there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explainlab.analyses.base import AnalysisResult, Report, Requirements
from explainlab.analyses.parameters import Rows, Sample
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.passes import read_originals
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.declared import Parameters as Declared
from first_words.length.result import AllWords, Words


class Parameters(Declared):
    """The rows to read."""

    rows: Rows = 100
    sample: Sample = "first"


class WordCount(TextAnalysis[Words, AllWords]):
    """The number of words of a text."""

    id = "word_count"
    label = "Word count"
    source = "The package first-words"
    definition = "the number of words"
    Parameters = Parameters

    def requirements(self, parameters: Parameters) -> Requirements:
        """Return the needs: one pass, for the prediction."""
        return Requirements(gradients=1)

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Words]:
        """Count the words."""
        read_originals(subjects)
        return [Words(words=len(subject.encoding.text.split())) for subject in subjects]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[Words], parameters: Parameters) -> AllWords:
        """Return their mean."""
        return AllWords(texts=list(bodies), mean=float(np.mean([body.words for body in bodies])))

    def report(self, result: AnalysisResult[Words | AllWords]) -> Report:
        """Say how many."""
        body = result.body
        return Report(
            result, f"{body.words} words." if isinstance(body, Words) else f"{body.mean:.1f} words on average."
        )
