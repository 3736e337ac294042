"""The result of a training in words: how well a made model reads texts that it did not learn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from explainlab.analyses.errors.analysis import accuracy_of
from explainlab.analyses.records import Interval
from explainlab.analyses.summary import interval
from explainlab.analyses.training.result import Made, MadeModel
from explainlab.analyses.wording import counted, interval_words, joined, whole_percent

MOST_LOST = 1.0
"""Percentage points of accuracy that training on masks may cost (Madsen et al. 2023, section 5)."""
_OF_MASKS = ("recipe", "masking", "mask_share", "heavy_mask")
_DECIDES = {"base", "data", "columns", "classes", "validation_data", "rows", "validation_rows", "seed"}


def validated(card: MadeModel) -> Made:
    """Return the model of ``card`` with the accuracy on its validation data, if it had any."""
    best, n = card.epochs[card.best_epoch - 1].validation, card.validation_rows
    if best is None:
        return Made(model=card, accuracy=None, measured_on=None)
    return Made(model=card, accuracy=accuracy_of(round(best * n), n), measured_on="validation", measured_rows=n)


def sentence(made: Made, name: str) -> str:
    """Say how well the model called ``name`` reads, and which epoch its files have."""
    card, accuracy = made.model, made.accuracy
    epochs = counted(len(card.epochs), "epoch")
    if accuracy is None:
        return f"{name} was made in {epochs}; nothing says how well it reads."
    between = f"{whole_percent(accuracy.low)} to {whole_percent(accuracy.high)}"
    kept = f"; the best epoch was {card.best_epoch} of {len(card.epochs)}" if len(card.epochs) > 1 else ""
    return f"{name} reads {whole_percent(accuracy.mean)} of {_texts(made)} right ({between}){kept}."


def overview(models: Sequence[Made]) -> str:
    """Return the answer for one model, or for several that differ in their seed: their mean."""
    if len(models) == 1:
        return sentence(models[0], "The model")
    mean = mean_accuracy(models)
    if mean is None:
        return f"The {len(models)} models were made; nothing says how well they read."
    over = "" if mean.low is None else f" ({interval_words(mean, '.0%')} over the seeds)"
    return f"The {len(models)} models read {mean.mean:.0%} of {_texts(models[0])} right on average{over}."


def mean_accuracy(models: Sequence[Made]) -> Interval | None:
    """Return the mean accuracy over models, bootstrapped over them; None where one was not measured."""
    accuracies = [made.accuracy.mean for made in models if made.accuracy is not None]
    return interval(accuracies) if len(accuracies) == len(models) else None


def masked_words(card: MadeModel) -> str:
    """Say how well the model of ``card`` reads masked texts; empty unless its training had such texts."""
    masked = card.epochs[card.best_epoch - 1].masked
    if masked is None:
        return ""
    return (
        f"With a share of their words masked, drawn between none and all, it reads {whole_percent(masked)} of its "
        f"{card.validation_rows:,} validation texts right."
    )


def plain_words(card: MadeModel, others: Iterable[MadeModel]) -> str:
    """Say how much accuracy without masks a training on masks costs, beside the same model by the plain recipe.

    That model is one of the ``others`` and differs in nothing but the masks. Empty for a model without masks.
    """
    if not card.settings.get("masking") or (own := validated(card).accuracy) is None:
        return ""
    accuracies = [made.accuracy for other in others if _but_for_masks(other) == _but_for_masks(card)
                  and not other.settings.get("masking") and (made := validated(other)).accuracy]  # fmt: skip
    plain = next(filter(None, accuracies), None)
    if plain is None:
        return "To see what the masks cost, make the same model by the usual recipe."
    points = 100 * (own.mean - plain.mean)
    change = "as many as" if not points else f"{abs(points):.1f} points {'more' if points > 0 else 'fewer'} than"
    within = "" if points >= -MOST_LOST else f": more than the {MOST_LOST:.0f} point that masks should cost"
    return f"Without masks it reads {change} the model that was made by the plain recipe{within}."


def points(models: Sequence[Made]) -> list[str]:
    """Return remarks that a reader must know beside the accuracies; empty if there are none."""
    told, classes = [words for made in models if (words := masked_words(made.model))], len(models[0].model.labels)
    guessing = [str(made.model.seed) for made in models if made.accuracy and made.accuracy.low <= 1 / classes]
    if guessing:
        which = "" if len(models) == 1 else f" with seed {joined(guessing)}"
        told.append(f"The accuracy{which} is not clearly above guessing among {classes} classes.")
    if any(made.measured_on == "validation" and len(made.model.epochs) > 1 for made in models):
        told.append("These texts also chose the best epoch, so the model may read others somewhat worse.")
    return told


def _but_for_masks(card: MadeModel) -> dict[str, Any]:
    """Return all settings of a training except its masks."""
    settings = {name: value for name, value in card.settings.items() if name not in _OF_MASKS}
    return {"settings": settings, **card.model_dump(include=_DECIDES)}


def _texts(made: Made) -> str:
    return f"{made.measured_rows:,} unseen texts"
