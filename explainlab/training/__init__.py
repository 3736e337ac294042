"""Training small classifiers from scratch: the recipe behind the embedded models."""

from explainlab.training.settings import TrainingSettings
from explainlab.training.train import RECIPES, Trained, settings_for, train

__all__ = ["RECIPES", "Trained", "TrainingSettings", "settings_for", "train"]
