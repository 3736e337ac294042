"""Results read from files: every field is checked before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from explainlab.analyses.registry import complete, read_result
from explainlab.attribution.records import Completeness, Target
from explainlab.errors import RequestError
from explainlab.guard import Exceeded, guarded_json
from explainlab.models.classifier import Prediction
from explainlab.request import Dtype, Output, Unit, validated
from explainlab.result import VERDICT, Result
from explainlab.settings import settings

MOST_MB = 20
"""The largest file, in MB."""
MOST_RESULTS = 100
"""The most attributions of one file."""
MOST_VALUES = 1_000_000
"""The most values in a file, which are the items of its lists and the fields of its objects."""
MOST_FEATURES = 50_000
"""The most features of all attributions of a file together."""

Name = Annotated[str, Field(max_length=500, pattern=r"^[^\x00-\x1f]*$")]
Seed = Annotated[int, Field(ge=0, lt=2**32)]
Count = Annotated[int, Field(ge=0)]


class _Scored(BaseModel):
    """A feature with its score, as :meth:`Attribution.to_json` writes it."""

    model_config = ConfigDict(extra="forbid")

    text: str
    start: Count
    end: Count
    special: bool
    part: int = Field(ge=0, le=1)
    pieces: list[str]
    ids: list[int]
    prompt: bool
    score: float
    error: float | None
    spread: float | None = None


class _Cost(BaseModel):
    """A cost that a database can hold."""

    forward: int = Field(ge=0, lt=2**63)
    backward: int = Field(ge=0, lt=2**63)
    seconds: float = Field(ge=0)


class _Common(BaseModel):
    """Fields of both kinds of results."""

    model: Name
    text: str | None
    text_pair: str | None
    parameters: dict[str, Any]
    target_asked: str
    output: Output
    unit: Unit
    seed: Seed
    dtype: Dtype
    cost: _Cost
    warnings: list[str]
    versions: dict[str, str]

    @model_validator(mode="after")
    def _within_the_limits(self) -> _Common:
        most = settings().max_characters
        if any(len(text) > most for text in (self.text, self.text_pair) if text):
            raise PydanticCustomError("long", "A text is longer than the limit of {most} characters", {"most": most})
        return self


class _AttributionFile(_Common):
    """The record of :meth:`Attribution.to_json`; every feature lies within its text."""

    model_config = ConfigDict(extra="forbid")

    text: str
    method: Name
    prediction: Prediction
    target: Target
    features: list[_Scored] = Field(min_length=1)
    signed: bool
    completeness: Completeness | None
    truncated: bool
    cut: Count
    label_share: float | None = Field(None, ge=0, le=1)
    logit: float | None = None
    notes: list[str]

    @model_validator(mode="after")
    def _of_this_text(self) -> _AttributionFile:
        lengths = [len(self.text), len(self.text_pair or "")]
        if any(not f.special and not f.start <= f.end <= lengths[f.part] for f in self.features):
            raise PydanticCustomError("span", "A feature lies outside of the text")
        if not {self.prediction.label, self.target.label} <= self.prediction.probabilities.keys():
            raise PydanticCustomError("label", "The prediction or the target is none of the classes")
        return self


class _StudyFile(_Common):
    """The record of :meth:`AnalysisResult.to_json`; further fields hold what the study computed."""

    model_config = ConfigDict(extra="allow")

    study: Name
    data: Name | None


def read_results(file: bytes) -> list[Result]:
    """Return the results in an exported JSON file: one attribution or study, or ``{"attributions": [...]}``.

    Raises :class:`RequestError` for a file that is too large, is no JSON, or holds anything else. A child process
    parses it.
    """
    if len(file) > MOST_MB * 2**20:
        raise RequestError(f"The file is larger than the limit of {MOST_MB} MB.", "Import fewer results at once.")
    try:
        body = guarded_json(file, MOST_VALUES)
    except Exceeded as error:
        raise RequestError(f"The file {error}.", "Choose a file exported here.") from None
    if isinstance(body, dict):
        body.pop(VERDICT, None)
    return list(_results(body))


def _results(body: Any) -> Iterator[Result]:
    bodies = body["attributions"] if isinstance(body, dict) and set(body) == {"attributions"} else [body]
    if not isinstance(bodies, list) or not bodies or not all(isinstance(record, dict) for record in bodies):
        raise RequestError("The file holds no results.", "Choose a JSON file exported here.")
    if len(bodies) > MOST_RESULTS:
        raise RequestError(
            f"The file holds {len(bodies)} results; the limit is {MOST_RESULTS}.", "Import fewer at once."
        )
    features = sum(len(record["features"]) for record in bodies if isinstance(record.get("features"), list))
    if features > MOST_FEATURES:
        raise RequestError(f"The file holds {features:,} features; the limit is {MOST_FEATURES:,}.", "Import fewer.")
    for record in bodies:
        if "study" in record:
            yield _result(_StudyFile, record)
        elif "method" in record:
            yield _result(_AttributionFile, record)
        else:
            raise RequestError(
                "The file holds neither a method's nor a study's result.", "Choose a file exported here."
            )


def _result(form: type[BaseModel], body: dict[str, Any]) -> Result:
    body = {name: value for name, value in body.items() if name != "parts"}  # files of the store that it comes from
    if "skipped_rows" in body:  # the command line counts them in ``skipped``
        body = {**body, "skipped": body["skipped_rows"]}
    try:
        result = read_result(validated(form, **body).model_dump(mode="json"))
    except (ValueError, KeyError, TypeError) as error:
        raise RequestError(
            f"The result is in another form than ours: {error}.", "Choose a file exported here."
        ) from None
    complete(result.request)
    return result
