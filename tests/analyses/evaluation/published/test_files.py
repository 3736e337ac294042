"""The published tables go with the files of an evaluation that has numbers for them."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.published import published_files
from explainlab.analyses.figures import figures_of
from tests.analyses.evaluation.test_latex import well_formed

MEANS = {"sufficiency:preset=rpi": {"integrated_gradients": 0.25, "random": 0.4}}


def asked(evaluated: AnalysisResult, body: object, **fields: object) -> AnalysisResult:
    return replace(evaluated, body=body, request=evaluated.request.model_copy(update=fields))


def test_a_table_with_a_number_of_ours_is_among_the_files(evaluated: AnalysisResult, table) -> None:
    files = figures_of(asked(evaluated, table(MEANS), data="/data/sst-2/test.csv")).files
    assert set(files) == {"table.tex", "beside-001-2.csv", "beside-001-2.tex"}
    rows = list(csv.DictReader(io.StringIO(files["beside-001-2.csv"])))
    assert [(row["published"], row["mean"]) for row in rows if row["mean"]] == [("0.11", "0.25")]
    well_formed(files["beside-001-2.tex"])


def test_no_table_is_there_where_none_fits_or_the_model_is_gone(evaluated: AnalysisResult, table) -> None:
    assert published_files(asked(evaluated, table(MEANS))) == {}
    gone = asked(evaluated, table(MEANS), data="/data/sst-2/test.csv", model="embedded:none")
    assert published_files(gone) == {}
