"""Training of classifiers: from random weights, as the embedded models, or from a base model."""

from explainlab.training.architectures import ARCHITECTURES
from explainlab.training.checkpoint import Epoch, clear
from explainlab.training.examples import Examples, read_examples
from explainlab.training.fit import OwnRandom
from explainlab.training.passes import Masked, Metric, score
from explainlab.training.settings import RECIPES, TrainingSettings
from explainlab.training.start import Start, class_names, note_pairs, noted_masks, settings_for, starting_point
from explainlab.training.train import Trained, out_directories, stored_accuracy, train, train_files, training_digest

__all__ = [
    "ARCHITECTURES",
    "RECIPES",
    "Epoch",
    "Examples",
    "Masked",
    "Metric",
    "OwnRandom",
    "Start",
    "Trained",
    "TrainingSettings",
    "class_names",
    "clear",
    "note_pairs",
    "noted_masks",
    "out_directories",
    "read_examples",
    "score",
    "settings_for",
    "starting_point",
    "stored_accuracy",
    "train",
    "train_files",
    "training_digest",
]
