"""The parameters of the study ``three_answers``."""

from __future__ import annotations

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from explainlab.analyses.parameters import RANDOM, PerturbingMetric
from explainlab.analyses.roar.parameters import RoarParameters

FEWEST = 3
"""The fewest measures, random words among them: two have only one order or its reverse."""
_OF_MASKS = ("masking", "mask_share", "heavy_mask")
"""Settings of a training that mask its texts."""


class ThreeAnswersParameters(RoarParameters):
    """The parameters of the grid, and the metric of erasure."""

    erasure: PerturbingMetric = Field(
        "aopc_comprehensiveness:removal=mask",
        description="Metric of erasure: one that masks or takes out words, with options after colons.",
    )

    @property
    def compared(self) -> list[str]:
        """The measures whose orders are compared: those of the grid, then random words."""
        return [*self.measures, RANDOM]

    @model_validator(mode="after")
    def _comparable(self) -> ThreeAnswersParameters:
        if self.recursive == "false":
            raise PydanticCustomError("recursive", "The third answer is Recursive ROAR: write recursive=true or both")
        if len(self.compared) < FEWEST:
            problem = "An order needs {fewest} measures, random words among them: name one more, by a comma"
            raise PydanticCustomError("measures", problem, {"fewest": FEWEST})
        for name in _OF_MASKS:
            if self.settings.get(name):
                problem = "The plain model must not be trained with masks: leave {name} out of the settings"
                raise PydanticCustomError("settings", problem, {"name": name})
        return self
