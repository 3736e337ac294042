"""Data sets to explain and evaluate on: embedded examples, files, uploads and the hub's."""

from explainlab.data.files import ROLES, Dataset, leaves_out, read_dataset, require_columns, without_marks
from explainlab.data.in_memory import as_named
from explainlab.data.labels import LEFT_OUT, NO_CLASS, Classes, nearest, proposed
from explainlab.data.plant import Planted, is_planted, plant
from explainlab.data.rows import Row
from explainlab.data.sources import (
    EXAMPLES,
    TO_LEARN,
    ExampleSet,
    embedded_examples,
    examples_for,
    rows_digest,
    source_digest,
    source_state,
)
from explainlab.data.survey import Misfit, Preview, Survey, Written, misfit, preview, survey
from explainlab.data.uploads import keep_upload
from explainlab.reader import Reader

__all__ = [
    "EXAMPLES",
    "LEFT_OUT",
    "NO_CLASS",
    "ROLES",
    "TO_LEARN",
    "Classes",
    "Dataset",
    "ExampleSet",
    "Misfit",
    "Planted",
    "Preview",
    "Reader",
    "Row",
    "Survey",
    "Written",
    "as_named",
    "embedded_examples",
    "examples_for",
    "is_planted",
    "keep_upload",
    "leaves_out",
    "misfit",
    "nearest",
    "plant",
    "preview",
    "proposed",
    "read_dataset",
    "require_columns",
    "rows_digest",
    "source_digest",
    "source_state",
    "survey",
    "without_marks",
]
