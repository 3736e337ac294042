"""Classifiers with random weights in some of their units, which share all other weights with the loaded one."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from torch import nn

from explainlab.declared import lookup
from explainlab.errors import MemoryShortage, UnsupportedError
from explainlab.models.anatomy import Unit
from explainlab.models.classifier import Classifier
from explainlab.models.devices import is_out_of_memory
from explainlab.models.model import Model
from explainlab.request import digest

Init = Literal["model", "normal01"]
"""What draws weights: the model's own initialisers, or N(0, 1) for all, biases and norms too."""


def require_drawable(classifier: Classifier) -> None:
    """Raise :class:`UnsupportedError` for weights that are quantised or spread over several devices."""
    if classifier.quantised:
        raise UnsupportedError(
            f"The weights of {classifier.id} are quantised, so they cannot be drawn again.",
            "Choose the model in full precision.",
        )
    if classifier.spread:
        raise UnsupportedError(
            f"The weights of {classifier.id} are spread over several devices, so there is no room for others.",
            "Choose dtype bfloat16 or a smaller model.",
        )


def units_named(classifier: Classifier, names: Sequence[str]) -> list[Unit]:
    """The units with these ``names``, or all, in the model's order: top first.

    Raises :class:`RequestError` for a name that no unit has, with the nearest that there are.
    """
    units = {unit.name: unit for unit in classifier.model.units}
    chosen = {lookup("unit", name, units).name for name in names} or set(units)
    return [unit for name, unit in units.items() if name in chosen]


def draw_seed(seed: int, number: int) -> int:
    """The seed of the draw ``number`` of weights, of those that begin with ``seed``."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


@dataclass(frozen=True, eq=False)
class Draw:
    """A random value for every weight of ``classifier``: the draw ``number`` from ``seed``.

    A weight's value is the same whichever units are randomised. Values are held for the units that were randomised
    last, and drawn again when others are asked for: all of a model's initialisers run one after another, so drawing one
    unit takes as long as drawing all, and for that time a new network on the CPU.
    """

    classifier: Classifier
    init: Init
    seed: int
    number: int
    _held: dict[nn.Parameter, nn.Parameter] = field(default_factory=dict, repr=False)

    def randomised(self, units: Sequence[Unit]) -> Classifier:
        """The classifier with these ``units`` at random: modules of its own, whose other tensors are the loaded ones.

        It has a digest of its own, and takes turns with the loaded classifier. Random weights have its number format
        and are on its device. Raises :class:`UnsupportedError` where a model cannot be drawn by its own initialisers,
        and :class:`MemoryShortage` where the weights do not fit beside it.
        """
        self._hold([own for unit in units for own in unit.parameters])
        network = self.classifier.model.network
        shared = {id(tensor): tensor for tensor in (*network.parameters(), *network.buffers())}
        drawn = {id(own): value for own, value in self._held.items()}
        with self.classifier.lock:  # so that no hook of a pass is copied
            model = copy.deepcopy(self.classifier.model, {**shared, **drawn})
        facts = [[unit.name for unit in units], self.init, self.seed, self.number]
        return replace(self.classifier, model=model, digest=digest([self.classifier.digest, *facts]))

    def _hold(self, wanted: Sequence[nn.Parameter]) -> None:
        """Hold the values of the weights ``wanted``, and no others."""
        for own in self._held.keys() - set(wanted):
            del self._held[own]
        if all(own in self._held for own in wanted):
            return
        drawn = _normal if self.init == "normal01" else _fresh
        try:
            self._held.update(drawn(self.classifier.model, draw_seed(self.seed, self.number), set(wanted)))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            problem = f"There is no memory for other weights beside those of {self.classifier.id}."
            raise MemoryShortage(problem, "Choose a smaller model or dtype bfloat16, or free memory.") from error


def _normal(model: Model, seed: int, wanted: Collection[nn.Parameter]) -> dict[nn.Parameter, nn.Parameter]:
    generator = torch.Generator().manual_seed(seed)
    values = {}
    for own in dict.fromkeys(model.network.parameters()):
        value = torch.randn(own.shape, generator=generator)
        if own in wanted:
            values[own] = _like(value, own)
    return values


def _fresh(model: Model, seed: int, wanted: Collection[nn.Parameter]) -> dict[nn.Parameter, nn.Parameter]:
    fresh = dict(model.fresh(seed).named_parameters(remove_duplicate=False))
    values: dict[nn.Parameter, nn.Parameter] = {}
    for name, own in model.network.named_parameters(remove_duplicate=False):
        if name not in fresh or fresh[name].shape != own.shape:
            raise UnsupportedError(
                f"The weight '{name}' is not one that a fresh {model.architecture.family} model has.",
                "Draw weights with init=normal01.",
            )
        if own in wanted:
            values.setdefault(own, _like(fresh[name].detach(), own))
    return values


def _like(value: torch.Tensor, own: nn.Parameter) -> nn.Parameter:
    return nn.Parameter(value.to(own), requires_grad=False)
