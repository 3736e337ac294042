"""A chain from a data set to ground truth: planted words, a model trained on them, its checks, and its benchmark."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from explainlab.analyses.parameters import Sample
from explainlab.analyses.registry import new_request
from explainlab.analyses.training.analysis import Training
from explainlab.data.plant import Planting
from explainlab.request import Request, validated

HELD_OUT = 0.25
"""The share of the rows that the models do not learn from."""
_TEXTS_SEEN, _MOST_EPOCHS = 10_000, 20
"""Texts that a model sees by default, in at most this many epochs: enough to learn a word, also from few texts."""


class Chain(BaseModel):
    """The words to plant, their places, and the models that learn them, one for each of the ``shares``.

    ``settings`` are those of training; ``methods``, ``metrics``, ``rows`` and ``sample`` are those of the benchmarks.
    ``files`` has, by share, the file to learn from and the file of the rows held out; it is empty before planting.
    ``learned`` is the number of rows to learn from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    columns: dict[str, str] = Field(default_factory=dict)
    words: tuple[str, ...] = ("negative", "positive")
    position: Literal["end", "start", "random"] = "end"
    shares: tuple[float, ...] = Field((1.0,), min_length=1, max_length=6)
    architecture: Literal["bert", "gpt2", "t5_encoder", "bilstm_attention"] = "bert"
    settings: str = Field("", max_length=1_000)
    seed: int = Field(0, ge=0, lt=2**32)
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: int = Field(40, ge=1)
    sample: Sample = "random"
    files: tuple[tuple[str, str], ...] = ()
    learned: int = 0

    @property
    def plan(self) -> Chain:
        """The same without what came of it."""
        return self.model_copy(update={"files": (), "learned": 0})

    def plantings(self) -> list[Planting]:
        """Return the planting of each file, by share; raises :class:`explainlab.errors.RequestError`."""
        common = {"words": self.words, "position": self.position, "held_out": HELD_OUT}
        return [validated(Planting, **common, share=share) for share in self.shares]

    def training_settings(self) -> dict[str, Any]:
        """Return the settings of training; raises :class:`explainlab.errors.RequestError`."""
        given = validated(Training.Parameters, settings=self.settings).settings
        epochs = min(_MOST_EPOCHS, max(2, -(-_TEXTS_SEEN // max(1, self.learned))))
        return {"epochs": epochs, **given}

    def training(self, place: int) -> Request:
        """Return the request for training on the file in this ``place``.

        Raises :class:`explainlab.errors.RequestError`.
        """
        return new_request(
            question=Training.id,
            model=self.architecture,
            data=self.files[place][0],
            parameters={"settings": self.training_settings()},
            seed=self.seed,
        )


def chain_controls(chain: Chain | None) -> dict[str, Any]:
    """Return the values of the controls for ``chain``, or for the first that is offered."""
    chain = chain or Chain(source="", methods=(), metrics=())
    return {
        "truth_words": ", ".join(chain.words),
        "truth_position": chain.position,
        "truth_shares": ", ".join(f"{share:g}" for share in chain.shares),
        "truth_architecture": chain.architecture,
        "truth_settings": chain.settings,
    }
