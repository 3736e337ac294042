"""Readable attacks on a method's map: a few near words that keep the prediction and change the map."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from explainlab import declared
from explainlab.analyses.attack.search import Objective, Point
from explainlab.analyses.attack.summaries import MEASURES as ATTACKED
from explainlab.analyses.attack.summaries import (
    Objectives,
    changes,
    data_fields,
    lines_of,
    means,
    numbers_of,
    objectives,
    original_of,
)
from explainlab.analyses.base import AnalysisResult, Report, Requirements, method_passes
from explainlab.analyses.parameters import Rows, Sample, method_spec
from explainlab.analyses.records import text_fields
from explainlab.analyses.substitution.result import (
    ReplacedWord,
    SubstitutedText,
    SubstitutionData,
    SubstitutionRow,
    SubstitutionText,
    WordMeasures,
    data_verdict,
    text_verdict,
)
from explainlab.analyses.substitution.search import MOST_EXPLAINED, SCREEN, Run, Search
from explainlab.analyses.summary import Number
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.method import TextSize
from explainlab.attribution.passes import read_originals
from explainlab.attribution.registry import get_method, parse_spec
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.metrics.edits import Neighbours, lettered
from explainlab.models.context import PassCount

MEASURES = {**ATTACKED, "replaced_share": "Words replaced"}
_EVALUATIONS = 20
"""About how many gradients the map of a text takes, before the method and the text are known."""


class Substitution(TextAnalysis[SubstitutionText, SubstitutionData]):
    """The extent to which a few near words can lower the share of a map's top features.

    Greedy: each round replaces the word that lowers the share most, of those that keep the predicted class and,
    ``constrained``, nearly its probability.
    """

    class Parameters(declared.Parameters):
        method: Annotated[str, AfterValidator(method_spec)] = Field(
            "gradient", description="The method whose map is attacked, with its options after colons."
        )
        objective: Objectives = Field(
            "both", description="Whether the probability of the predicted class must stay as well as the class."
        )
        budget: int = Field(15, ge=1, le=100, description="Most words to replace, in per cent; at least one word.")
        neighbours: int = Field(20, ge=1, le=1000, description="Near words that each word may be replaced by.")
        tolerance: float = Field(0.05, ge=0, le=1, description="Most change of the probability (constrained).")
        k: int = Field(15, ge=1, le=100, description="The top features, in per cent of the content features.")
        rows: Rows = 16
        sample: Sample = "first"

    id = "substitution"
    label = "Attacks by near words"
    source = "The attacks of thesis 004, sections 2.3 and 3.5, with words in place of embeddings"
    definition = "min over texts with near words of Σ_T |aᵢ| / Σ|a|, T the top k% of the map of the text itself"

    def requirements(self, parameters: Parameters) -> Requirements:
        return Requirements(
            methods=[parse_spec(parameters.method)],
            gradients=len(objectives(parameters.objective)) * MOST_EXPLAINED * _EVALUATIONS,
            count_passes=partial(_passes, parameters),
            ends_early=True,  # where no word helps; most words have fewer near ones that are feasible
            versions=[f"{SCREEN} {get_method(SCREEN).version}"],
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[SubstitutionText]:
        """See :meth:`TextAnalysis.of_texts`."""
        classifier, batcher = subjects[0].classifier, subjects[0].batcher
        method = parse_spec(parameters.method)
        get_method(method.method).require(classifier, method.parameters)
        read_originals(subjects)
        search = Search(batcher, method, Neighbours(classifier, parameters.neighbours), parameters.tolerance)
        maps = search.originals(subjects)
        originals = [
            original_of(subject, own, parameters.k, subject.units.content)
            for subject, own in zip(subjects, maps, strict=True)
        ]
        asked = objectives(parameters.objective)
        runs = {
            i: [_run(subject, own.listed, own.top_k_sum, scores, each, parameters) for each in asked]
            for i, (subject, own, scores) in enumerate(zip(subjects, originals, maps, strict=True))
            if own.top_k_sum is not None
        }
        search.attack([run for own in runs.values() for run in own])
        bodies = []
        for i, (subject, own) in enumerate(zip(subjects, originals, strict=True)):
            texts = [_text(run, parameters) for run in runs.get(i, [])]
            bodies.append(
                SubstitutionText(
                    **text_fields(subject),
                    method=parameters.method,
                    label=method.label,
                    original=own,
                    rows=_means(texts, parameters),
                    texts=texts,
                )
            )
        return bodies

    def of_rows(
        self, rows: Sequence[Row], bodies: Sequence[SubstitutionText], parameters: Parameters
    ) -> SubstitutionData:
        """See :meth:`TextAnalysis.of_rows`."""
        own = data_fields(rows, bodies)
        return SubstitutionData(rows=_means(own["texts"], parameters), **own)

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _passes(parameters: Substitution.Parameters, text: TextSize, depth: int) -> PassCount:
    """Return the passes of the first map and of all rounds."""
    method = parse_spec(parameters.method)
    a_map, near = method_passes(method, text, depth), parameters.neighbours * text.tokens
    screened = near if near > MOST_EXPLAINED else 0
    a_round = PassCount(near) + PassCount.gradients(screened) + a_map * min(near, MOST_EXPLAINED)
    rounds = len(objectives(parameters.objective)) * max(1, parameters.budget * text.tokens // 100)
    return a_map + a_round * rounds


def _headline(result: AnalysisResult[SubstitutionText] | AnalysisResult[SubstitutionData]) -> str:
    """Say how near words changed the map and the probability."""
    body = result.body
    return data_verdict(body) if isinstance(body, SubstitutionData) else text_verdict(body)


def _lines(result: AnalysisResult[SubstitutionText] | AnalysisResult[SubstitutionData]) -> list[str]:
    """Return a line an objective: the measures with their intervals; of one text also the texts that it ended with."""
    body = result.body
    ends = [f"{text.objective}: {text.text}" for text in body.texts] if isinstance(body, SubstitutionText) else []
    head = f"{body.label}, at most {body.rows[0].epsilon} of the words"
    return [head, *lines_of(body, MEASURES, {"objective": "objective"}), *ends]


def _numbers(result: AnalysisResult[SubstitutionData]) -> list[Number]:
    """Return the changes of the map, the probability and the text, for every objective."""
    return numbers_of(result.body, MEASURES, lambda row: row.objective, lambda row: row.objective)


def _run(
    subject: Subject,
    listed: Sequence[int],
    share: float,
    scores: np.ndarray,
    objective: Objective,
    parameters: Substitution.Parameters,
) -> Run:
    probability = subject.prediction.probabilities[subject.prediction.label]
    original = Point(0, scores, share, probability)
    return Run(
        subject=subject,
        objective=objective,
        budget=max(1, parameters.budget * lettered(subject.encoding) // 100),
        listed=np.array(listed),
        original=original,
        best=original,
        encoding=subject.encoding,
    )


def _text(run: Run, parameters: Substitution.Parameters) -> SubstitutedText:
    words = lettered(run.subject.encoding)
    return SubstitutedText(
        row=1,
        objective=run.objective,
        epsilon=f"{parameters.budget}%",
        measures=WordMeasures(
            **changes(run.subject.units.content, run.listed, run.original, run.best),
            replaced_share=len(run.replaced) / words if words else 0.0,
        ),
        steps=len(run.replaced),
        stopped=run.ending or "budget",
        failed=not run.replaced,
        dropped=run.dropped,
        scores=run.best.scores.tolist(),
        replaced=[
            ReplacedWord.model_validate({"feature": one.feature, "from": one.before, "to": one.after})
            for one in run.replaced
        ],
        text=run.encoding.text,
        text_pair=run.encoding.text_pair,
    )


def _means(texts: Sequence[SubstitutedText], parameters: Substitution.Parameters) -> list[SubstitutionRow]:
    """Return the means of every objective."""
    rows = []
    for objective in objectives(parameters.objective):
        own = means([text for text in texts if text.objective == objective], WordMeasures)
        rows.append(SubstitutionRow(objective=objective, epsilon=f"{parameters.budget}%", **own))
    return rows
