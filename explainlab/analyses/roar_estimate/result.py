"""The result of the study ``roar_estimate``: its fields are its JSON."""

from __future__ import annotations

from explainlab.analyses.base import Record


class MeasureTime(Record):
    """A measure's time: ``seconds`` on all models that it scores, ``share`` of all the time."""

    measure: str
    label: str
    seconds: float
    share: float


class Smaller(Record):
    """A smaller grid: its ``changed`` parameters, in words, and the ``seconds`` of the whole grid."""

    changed: str
    seconds: float


class RoarEstimate(Record):
    """The estimate for a study ``roar`` on this machine.

    ``models`` are those of the grid. ``training`` and ``importance`` are seconds; ``epoch`` are those of one epoch, and
    ``epochs`` the most that a model is trained for. ``disk_mb``: the most that it needs on the disk. ``within`` is the
    time that it may take (0: any), and ``smaller`` are smaller grids, the longest first: those within it, or all.
    """

    models: int
    epochs: int
    epoch: float
    training: float
    importance: float
    measures: list[MeasureTime]
    disk_mb: float
    within: float
    smaller: list[Smaller]
