"""A package with a method, a metric, an analysis and a model type, of an author outside the project."""

from setuptools import setup

setup(
    name="first-words",
    version="1.0",
    packages=["first_words", "first_words.length"],
    entry_points={
        "explainlab.methods": [
            "first_word = first_words.method:FirstWord",
            "broken = first_words.nowhere:Broken",
            "occlusion = first_words.method:Occlusion",
            "no_method = first_words.metric:Kept",
        ],
        "explainlab.metrics": ["kept = first_words.metric:Kept"],
        "explainlab.analyses": ["word_count = first_words.length.analysis:WordCount"],
        "explainlab.models": [
            "ernie = first_words.model:ROW",
            "bert = first_words.model:ROW",
            "ernie_m = first_words.method:FirstWord",
        ],
    },
)
