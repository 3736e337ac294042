"""The published tables that an evaluation has numbers for, as files beside it."""

from __future__ import annotations

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.published.figure import beside_published, published_latex
from explainlab.analyses.evaluation.published.matching import Beside
from explainlab.analyses.evaluation.published.papers import paper_tables
from explainlab.analyses.evaluation.result import EvaluationData
from explainlab.analyses.sets.records import SetCell, SetModel
from explainlab.errors import ModelError
from explainlab.models.loading import describe, model_name


def published_files(result: AnalysisResult[EvaluationData]) -> dict[str, str]:
    """Return CSV and LaTeX by file name, of every table with a number of ours; none if the model is missing."""
    request = result.request
    try:
        card = describe(request.model)
    except ModelError:
        card = None
    if card is None:
        return {}
    model = SetModel(request.model, model_name(request.model), card.architecture.family, card.weights, request.model)
    cell = SetCell(model, request.data or "", request.data or "", result)
    files: dict[str, str] = {}
    for table in paper_tables().values():
        beside = Beside(table, [cell])
        if beside.numbers:
            chart = beside_published(beside)
            files |= {f"{chart.name}.csv": chart.to_csv(), f"{chart.name}.tex": published_latex(beside)}
    return files
