"""What became of a training, in words: how well a made model reads texts that it did not learn from."""

from __future__ import annotations

from collections.abc import Sequence

from explainlab.analyses.errors.analysis import accuracy_of
from explainlab.analyses.records import Interval
from explainlab.analyses.summary import interval
from explainlab.analyses.training.result import Made, MadeModel
from explainlab.analyses.wording import counted, interval_words, joined, whole_percent


def validated(card: MadeModel) -> Made:
    """The model of ``card`` with the accuracy on its validation data, if it had any."""
    best, n = card.epochs[card.best_epoch - 1].validation, card.validation_rows
    if best is None:
        return Made(model=card, accuracy=None, measured_on=None)
    return Made(model=card, accuracy=accuracy_of(round(best * n), n), measured_on="validation", measured_rows=n)


def sentence(made: Made, name: str) -> str:
    """How well the model called ``name`` reads, and which epoch was kept."""
    card, accuracy = made.model, made.accuracy
    epochs = counted(len(card.epochs), "epoch")
    if accuracy is None:
        return f"{name} was made in {epochs}; nothing says how well it reads."
    between = f"{whole_percent(accuracy.low)} to {whole_percent(accuracy.high)}"
    kept = f"; the best epoch was {card.best_epoch} of {len(card.epochs)}" if len(card.epochs) > 1 else ""
    return f"{name} reads {whole_percent(accuracy.mean)} of {_texts(made)} right ({between}){kept}."


def overview(models: Sequence[Made]) -> str:
    """The answer for one model, or for several that differ in their seed: their mean."""
    if len(models) == 1:
        return sentence(models[0], "The model")
    mean = mean_accuracy(models)
    if mean is None:
        return f"The {len(models)} models were made; nothing says how well they read."
    over = "" if mean.low is None else f" ({interval_words(mean, '.0%')} over the seeds)"
    return f"The {len(models)} models read {mean.mean:.0%} of {_texts(models[0])} right on average{over}."


def mean_accuracy(models: Sequence[Made]) -> Interval | None:
    """The mean accuracy over models, bootstrapped over them; None where one was not measured."""
    accuracies = [made.accuracy.mean for made in models if made.accuracy is not None]
    return interval(accuracies) if len(accuracies) == len(models) else None


def points(models: Sequence[Made]) -> list[str]:
    """What a reader must know beside the accuracies; nothing where there are none."""
    told, classes = [], len(models[0].model.labels)
    guessing = [str(made.model.seed) for made in models if made.accuracy and made.accuracy.low <= 1 / classes]
    if guessing:
        which = "" if len(models) == 1 else f" with seed {joined(guessing)}"
        told.append(f"What is read right{which} is not told apart from guessing among {classes} classes.")
    if any(made.measured_on == "validation" and len(made.model.epochs) > 1 for made in models):
        told.append("The best epoch was chosen on these very texts, so others may be read somewhat worse.")
    return told


def _texts(made: Made) -> str:
    return f"the {made.measured_on} texts" if made.measured_rows is None else f"{made.measured_rows:,} unseen texts"
