"""ExplainLab: why a transformer classified a text as it did, and how far that explanation can be trusted.

import explainlab
classifier = explainlab.load_model("embedded:bert-mini-sst2")
result = explainlab.explain(classifier, "a stirring, funny film", method="integrated_gradients", tolerance=0.005)
result.to_frame()
"""

from explainlab.analyses.run import evaluate, study
from explainlab.attribution.explain import explain
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import methods
from explainlab.data import plant
from explainlab.errors import ExplainLabError
from explainlab.metrics.registry import metrics
from explainlab.models.loading import load_model
from explainlab.training.run import train_files as train

__all__ = [
    "Attribution",
    "ExplainLabError",
    "evaluate",
    "explain",
    "load_model",
    "methods",
    "metrics",
    "plant",
    "study",
    "train",
]
