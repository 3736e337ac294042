"""All maps of a text from random baselines of attention, also those that are not the best."""

from __future__ import annotations

from explainlab.attribution.diffusion import Candidate
from explainlab.attribution.random_maps import AttentionMaps, AttentionParameters
from explainlab.attribution.selection import adaptively, at_random
from explainlab.attribution.subject import Subject


def candidates(subject: Subject, parameters: AttentionParameters, product: bool = True) -> list[Candidate]:
    """``samples`` for each of the ``layers``; without ``product`` those of RPI-G."""
    maps = AttentionMaps(subject, parameters, product)
    if parameters.search == "adaptive":
        return adaptively(maps, parameters.samples, parameters.select_by).candidates
    return at_random(maps, parameters.samples)
