"""Data sets to explain and evaluate on: embedded examples and files."""

from explainlab.data.examples import EXAMPLES, ExampleSet, embedded_examples, examples_for
from explainlab.data.files import Dataset, Row, read_dataset, source_digest

__all__ = [
    "EXAMPLES",
    "Dataset",
    "ExampleSet",
    "Row",
    "embedded_examples",
    "examples_for",
    "read_dataset",
    "source_digest",
]
