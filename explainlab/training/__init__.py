"""Training classifiers: from random weights, as the embedded models were, or from a base model."""

from explainlab.training.architectures import ARCHITECTURES
from explainlab.training.checkpoint import Epoch
from explainlab.training.examples import Examples, read_examples
from explainlab.training.run import out_directories, train_files
from explainlab.training.settings import RECIPES, TrainingSettings
from explainlab.training.start import settings_for
from explainlab.training.train import Trained, stored_accuracy, train, training_digest

__all__ = [
    "ARCHITECTURES",
    "RECIPES",
    "Epoch",
    "Examples",
    "Trained",
    "TrainingSettings",
    "out_directories",
    "read_examples",
    "settings_for",
    "stored_accuracy",
    "train",
    "train_files",
    "training_digest",
]
