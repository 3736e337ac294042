"""What a study is: a question whose answer is a table, for one text or for every text of a data set."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from explainlab.attribution.baselines import data_digest
from explainlab.attribution.records import Cost
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.declared import Parameters
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import RECORD_VERSION, Dtype, Output, Unit, digest

GOLD = "gold"
"""The target of every row's own label."""


class StudyRequest(BaseModel):
    """One question to one model: ``study`` one text (and its pair), or the texts of the data set ``data``.

    ``parameters`` are complete once the request has passed :func:`explainlab.analyses.registry.complete`. ``columns``
    and ``classes`` tell how the data set is read (see :func:`explainlab.data.read_dataset`). The other fields are those
    of :class:`explainlab.request.Request`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: str
    model: str
    text: str | None = None
    text_pair: str | None = None
    data: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    classes: dict[str, str] = Field(default_factory=dict)
    parameters: dict[str, Any] = Field(default_factory=dict)
    target: str = "predicted"
    output: Output = "probability"
    unit: Unit = "token"
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Dtype = "float32"

    @model_validator(mode="after")
    def _one_source(self) -> StudyRequest:
        if (self.text is None) == (self.data is None):
            raise PydanticCustomError("source", "A study needs either a text or a data set")
        return self

    def key(self, model_digest: str, study_version: int, data_digest: str = "") -> str:
        """The store's key, 64 hexadecimal digits; model and data enter by their digests, not by their names.

        How many rows a data set has is nothing to a single text: one that was ever studied is not run again.
        """
        plain = {name for name in ("columns", "classes") if not getattr(self, name)}
        body = self.model_dump(mode="json", exclude={"model", "data", *plain})
        if self.text is not None:
            body["parameters"].pop("rows", None)
        return digest([body, model_digest, study_version, RECORD_VERSION, data_digest])

    def of_row(self, row: Row) -> StudyRequest:
        """The same question about one text of the data set; the target ``gold`` is the row's label."""
        target = row.label if self.target == GOLD else self.target
        text = {"data": None, "columns": {}, "classes": {}, "text": row.text, "text_pair": row.text_pair}
        return self.model_copy(update={**text, "target": target})


@dataclass(frozen=True)
class StudyResult:
    """What a study found: ``body`` is its own part, plain JSON (design: the contract of ``study --json``)."""

    request: StudyRequest
    body: dict[str, Any]
    cost: Cost
    warnings: tuple[str, ...]
    versions: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """The plain record that ``study --json`` prints and the store keeps."""
        told = {"cost": asdict(self.cost), "warnings": list(self.warnings), "versions": self.versions}
        asked = {**self.request.model_dump(mode="json", exclude={"target"}), "target_asked": self.request.target}
        return {**asked, **self.body, **told}

    def with_warning(self, warning: str) -> StudyResult:
        """The same result with one more warning."""
        return replace(self, warnings=(*self.warnings, warning))

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> StudyResult:
        """The inverse of :meth:`to_json`."""
        fields = StudyRequest.model_fields.keys() - {"target"}
        known = {*fields, "target_asked", "cost", "warnings", "versions"}
        return cls(
            request=StudyRequest(
                **{name: record[name] for name in fields if name in record}, target=record["target_asked"]
            ),
            body={name: value for name, value in record.items() if name not in known},
            cost=Cost(**record["cost"]),
            warnings=tuple(record["warnings"]),
            versions=record["versions"],
        )


@dataclass(eq=False)
class DataSubject:
    """The ``rows`` of a data set before one classifier, for a study that judges them together.

    The study counts the passes that it makes in ``forward`` and ``backward`` and adds the rows that this model cannot
    read to ``skipped``, each as its number and the reason.
    """

    classifier: Classifier
    rows: Sequence[Row]
    request: StudyRequest
    context: RunContext
    forward: int = 0
    backward: int = 0
    warnings: list[str] = field(default_factory=list)
    skipped: list[tuple[int, str]] = field(default_factory=list)


class AnyStudy(ABC):
    """What every study declares. ``source`` names paper and figure; ``version`` rises whenever the numbers change.

    ``labelled``: the rows of a data set need labels that are classes of the model.
    """

    id: ClassVar[str]
    label: ClassVar[str]
    source: ClassVar[str]
    definition: ClassVar[str]
    version: ClassVar[int] = 1
    labelled: ClassVar[bool] = False
    Parameters: ClassVar[type[Parameters]] = Parameters

    def default_output(self, parameters: Mapping[str, Any]) -> Output:
        """What a request with these ``parameters`` explains unless it says."""
        return "probability"

    def fingerprint(self, parameters: Parameters) -> str:
        """What the numbers depend on beside the study's version and its data set: other data, others' versions."""
        return data_digest(parameters.model_dump(mode="json"))

    @abstractmethod
    def evaluations(self, parameters: Parameters) -> int:
        """About how many gradients one text costs, known before anything has run."""

    def lines(self, body: dict[str, Any]) -> list[str]:
        """What a command line prints of ``body`` for a reader: the summary as JSON unless overridden."""
        told = body.get("summary") or {
            key: body[key] for key in ("expected", "ideal_steps", "selection", "positions") if key in body
        }
        return [json.dumps(told, indent=2, ensure_ascii=False)]


class Study(AnyStudy):
    """One question to a text; of a data set it is asked text by text."""

    @abstractmethod
    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[dict[str, Any]]:
        """The body of every subject; their model passes are batched together."""

    @abstractmethod
    def of_rows(self, rows: Sequence[Row], bodies: Sequence[dict[str, Any]], parameters: Parameters) -> dict[str, Any]:
        """The body of a data set, from those of its texts: what each text contributes, and a summary."""


class DataStudy(AnyStudy):
    """One question to a whole data set, that a single text cannot answer."""

    @abstractmethod
    def of_data(self, subject: DataSubject, parameters: Parameters) -> dict[str, Any]:
        """The body; what was computed is kept with the subject's context, so that a stopped run goes on."""


def described(subject: Subject) -> dict[str, Any]:
    """What every body tells of its text: prediction, target, features, and how many tokens the model did not read."""
    return {
        "prediction": asdict(subject.prediction),
        "target": asdict(subject.target),
        "features": [{**asdict(f), "pieces": list(f.pieces), "ids": list(f.ids)} for f in subject.units.features],
        "cut": subject.encoding.cut,
    }
