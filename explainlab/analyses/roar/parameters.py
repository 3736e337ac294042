"""The parameters of the study ``roar``."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.analyses.parameters import EACH, RANDOM, Counts, JoinedMethods, split
from explainlab.analyses.training.analysis import training_settings
from explainlab.attribution.methods.paths import IntegratedGradients
from explainlab.attribution.registry import MethodSpec, get_method, parse_spec
from explainlab.declared import as_validation_error

WHOLE = 100
"""The last ratio: all tokens masked."""
_MOST_COUNT = 99
"""Beyond it counts would be taken for :data:`WHOLE`."""
PAPER_MEASURES = [
    "attention_last",
    "gradient:norm=one_hot",
    "input_x_gradient:reduction=abs",
    "integrated_gradients:rule=right:baseline=zero",
]
"""The paper's measures, as it reads them; 50 steps are integrated gradients' own default."""


def _ratios(ratios: list[int]) -> list[int]:
    """Check the ratios, and add 0 and 100."""
    if ratios != sorted(set(ratios)):
        raise PydanticCustomError("order", "Give the ratios in rising order, each once")
    if any(not 0 <= ratio <= WHOLE for ratio in ratios):
        raise PydanticCustomError("range", "Ratios are per cent: from 0 to 100")
    if not set(ratios) - {0, WHOLE}:
        raise PydanticCustomError("few", "Give a ratio between 0 and 100, as in 0:100:20")
    return sorted({0, *ratios, WHOLE})


def _counts(counts: list[int]) -> list[int]:
    if counts != sorted(set(counts)) or any(not 1 <= count <= _MOST_COUNT for count in counts):
        problem = "Give the counts in rising order, each once, from 1 to {most}"
        raise PydanticCustomError("order", problem, {"most": _MOST_COUNT})
    return counts


def _measures(names: list[str]) -> list[str]:
    """Drop random, which is always compared with."""
    named = [name for name in names if parse_spec(name).method != RANDOM]
    if not named:
        raise PydanticCustomError("measures", "Give a measure beside random, as in gradient:norm=one_hot")
    return named


def _range(value: Any) -> Any:
    """Read ``1:10`` as ``1:10:1``."""
    return f"{value}:1" if isinstance(value, str) and value.count(":") == 1 else value


def _written(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _absolute(folder: str) -> str:
    return os.path.abspath(os.path.expanduser(folder)) if folder.strip() else ""


def measure_requests(names: list[str]) -> list[MethodSpec]:
    """Parse the measures of these canonical names."""
    return [as_validation_error(partial(parse_spec, name)) for name in names]


class RoarParameters(declared.Parameters):
    """The parameters of a grid: its masks, its training and its judgement."""

    test: Annotated[str, EACH] = Field(
        min_length=1,
        description="Data set on which performance is measured, or a share of the rows; of several data sets one for "
        "each, by commas.",
    )
    measures: Annotated[JoinedMethods, AfterValidator(_measures)] = Field(
        PAPER_MEASURES, description="Measures of importance: methods with options, by commas or joined by plus."
    )
    recursive: Annotated[Literal["true", "false", "both"], BeforeValidator(_written)] = Field(
        "true",
        description="Ask each masked model what to mask next (Recursive ROAR), only the first one (ROAR), or both.",
    )
    ratios: Annotated[Counts, BeforeValidator(split), AfterValidator(_ratios)] = Field(
        [*range(0, 101, 10)], description="Shares of a text's tokens to mask, in per cent: 0:100:20 or a list."
    )
    counts: Annotated[Counts, BeforeValidator(split), BeforeValidator(_range), AfterValidator(_counts)] = Field(
        [], description="Numbers of tokens to mask in place of shares: 1:10 or a list."
    )
    seeds: int = Field(5, ge=1, le=100, description="Models at each ratio, with seeds from the request's on.")
    metric: Literal["macro_f1", "micro_f1", "accuracy"] = Field(
        "macro_f1", description="What performance is; it also decides the best epoch on validation data."
    )
    validation: Annotated[str, EACH] = Field(
        "0.15", description="Data set to measure each epoch on, or a share of the rows; the best epoch is kept."
    )
    shortest: int = Field(1, ge=1, le=1_000, description="Texts with fewer words are left out.")
    signs: Literal["absolute", "signed"] = Field(
        "absolute", description="Mask the largest |scores| first, as the paper, or the largest scores."
    )
    preset: Literal["paper", "reference"] = Field(
        "paper",
        description="reference: as the paper's code computes integrated gradients, weighted by the place on the path, "
        "and faithfulness, cut to [-1, 1] unless told; for comparison only.",
    )
    clip: bool = Field(False, description="Cut faithfulness to [-1, 1], as the paper's code does.")
    recipe: Literal["", "embedded", "thesis", "roar", "progressive", "bilstm"] = Field(
        "", description="Named settings of training; empty: that of the architecture, of other models roar."
    )
    settings: Annotated[dict[str, Any], BeforeValidator(training_settings)] = Field(
        {}, description="Other settings of training: epochs=3,batch_size=8."
    )
    weights_folder: Annotated[str, AfterValidator(_absolute)] = Field(
        "",
        description="Folder in which the weights of every model stay, each as a directory that --model reads, on the "
        "machine that trains; empty: they stay only while a later model needs them.",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_preset(cls, parameters: Any) -> Any:
        if not isinstance(parameters, dict) or parameters.get("preset") != "reference":
            return parameters
        return {"clip": True, **parameters}

    @model_validator(mode="after")
    def _fixed_points(self) -> RoarParameters:
        for own in self.requests if self.preset == "reference" else ():
            if own.method == IntegratedGradients.id and get_method(own.method).adaptive(own.parameters):
                problem = "The paper's code takes points at equal distances: write {id}:rule=right"
                raise PydanticCustomError("rule", problem, {"id": own.method})
        return self

    @property
    def steps(self) -> list[int]:
        """The ratios, or the counts between 0 and all tokens (written 100)."""
        return [0, *self.counts, WHOLE] if self.counts else self.ratios

    @property
    def kinds(self) -> list[bool]:
        """The kinds of the curves: recursive, plain, or both."""
        return {"true": [True], "false": [False], "both": [True, False]}[self.recursive]

    @property
    def requests(self) -> list[MethodSpec]:
        """The measures."""
        return measure_requests(self.measures)
