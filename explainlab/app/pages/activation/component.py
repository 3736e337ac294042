"""The text that fills in."""

from __future__ import annotations

from explainlab.analyses.activation.scrubber import ActivationScrubber
from explainlab.app.components import component
from explainlab.app.heatmap import payload

_activation_scrubber = component(
    "activation_scrubber",
    scripts=["tokens", "activation_scrubber"],
    styles=["token_heatmap", "step_morph", "steering", "activation_scrubber"],
)


def activation_scrubber(scrubber: ActivationScrubber, key: str) -> None:
    """Draw ``scrubber``: moving, playing and switching between its methods ask nobody and tell nobody."""
    _activation_scrubber(data=payload(scrubber), key=key)
