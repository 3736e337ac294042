"""The request: everything that decides a result, as one plain serialisable record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from reprlib import repr as quote
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from explainlab.errors import RequestError, first_refused

R = TypeVar("R", bound=BaseModel)
Output = Literal["probability", "logit"]
Unit = Literal["token", "word", "sentence"]
Dtype = Literal["float32", "bfloat16", "float16"]
Spans = tuple[tuple[int, int], ...]
"""Half-open spans of characters of a text; none where nothing is marked."""
Rationale = tuple[Spans | None, Spans | None]
"""The marked spans of a text, and those of the second text of a pair; None without marks."""
Kind = Literal["attribution", "study"]
"""The kind of a question: a method's, whose answer is an attribution, or a study's."""

GOLD = "gold"
"""The target of a data set's rows that names every row's own label."""
RECORD_VERSION = 3
"""Rises when models come to read texts in another way, or the stored form of results changes.

It is part of the key of every result, so that older ones are computed again, neither misread nor taken for today's.
"""
_OF_DATA = ("data", "columns", "classes")
_MARKS = ("rationale", "rationale_pair", "paraphrases")
_ABOUT = ("text", "text_pair", *_MARKS, *_OF_DATA)


class Request(BaseModel):
    """One question to one model, about one text (and its pair) or about the data set ``data``.

    A few questions are about none of these (see :attr:`self_contained`): their ``model`` is empty. ``question`` is the
    id of a method or of an analysis. ``target`` is ``predicted``, a class name or a class index (as text), for a data
    set also ``gold``. ``rationale`` and ``rationale_pair`` are the spans that are marked in the texts; None where no
    spans are marked, or nothing compares with them. So are ``paraphrases``, the text in other words. ``columns`` and
    ``classes`` say how the data set is read (see :func:`explainlab.data.read_dataset`). ``reader`` is the id of the
    user whose uploads are read; it is not stored.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    model: str
    text: str | None = None
    text_pair: str | None = None
    rationale: Spans | None = None
    rationale_pair: Spans | None = None
    paraphrases: tuple[str, ...] | None = None
    data: str | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    classes: dict[str, str] = Field(default_factory=dict)
    parameters: dict[str, Any] = Field(default_factory=dict)
    target: str = "predicted"
    output: Output = "probability"
    unit: Unit = "token"
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Dtype = "float32"
    reader: str = Field("", exclude=True)

    @model_validator(mode="after")
    def _one_source(self) -> Request:
        if (self.text is None) == (self.data is None) and not self.self_contained:
            raise PydanticCustomError("source", "A question needs either a text or a data set")
        return self

    @model_validator(mode="after")
    def _rationale_in_text(self) -> Request:
        for spans, text in zip(self.rationales, (self.text or "", self.text_pair or ""), strict=True):
            for start, end in spans or ():
                if not 0 <= start < end <= len(text):
                    problem = f"The rationale's span [{start}, {end}) is not inside its text of {len(text)} characters"
                    raise PydanticCustomError("rationale", problem)
        return self

    def __eq__(self, other: object) -> bool:
        """Return whether both have equal fields; a complete request equals one that was written out in full."""
        return isinstance(other, Request) and self.__dict__ == other.__dict__

    @property
    def self_contained(self) -> bool:
        """True if it names no model, no text and no data set: parameters and seed decide everything."""
        return not self.model and all(getattr(self, name) in (None, {}) for name in _ABOUT)

    @property
    def single_text(self) -> str:
        """The text; raises :class:`RequestError` for a request about a data set."""
        if self.text is None:
            raise RequestError("This question is about one text, not about a data set.", "Name a text instead.")
        return self.text

    @property
    def rationales(self) -> Rationale:
        """The rationales of the text and of its pair."""
        return self.rationale, self.rationale_pair

    def completed(self, parameters: BaseModel) -> CompleteRequest:
        """Return the same request with all ``parameters`` of its question."""
        return CompleteRequest(**{**dict(self), "parameters": parameters.model_dump(mode="json")})

    def to_json(self, kind: Kind) -> dict[str, Any]:
        """Return the plain record of this request, without the fields that a question of this ``kind`` cannot have.

        Rationales and paraphrases that are None are left out too: few questions read them.
        """
        fields = self.model_dump(mode="json")
        fields = {name: value for name, value in fields.items() if value is not None or name not in _MARKS}
        question = fields.pop("question")
        if kind == "study":
            return {"study": question, **fields}
        about = {name: fields.pop(name) for name in ("model", "text", "text_pair")}
        return {**about, "method": question, **{k: v for k, v in fields.items() if k not in _OF_DATA}}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Request:
        """Return the request of a record of :meth:`to_json`; raises :class:`RequestError` as :func:`validated` does."""
        fields = dict(record)
        name = "study" if "study" in fields else "method"
        if name not in fields:
            raise RequestError("The request names neither a method nor a study.", "Use one that was exported here.")
        if "question" in fields:
            raise RequestError("The request names its question twice.", "Use one that was exported here.")
        return validated(cls, question=fields.pop(name), **fields)

    @classmethod
    def of_result(cls, record: Mapping[str, Any]) -> Request:
        """Return the request that the JSON of a result answers; raises as :meth:`from_json`."""
        names = {*cls.model_fields, "study" if "study" in record else "method"} - {"target", "question", "reader"}
        fields = {name: value for name, value in record.items() if name in names}
        return cls.from_json({**fields, "target": record["target_asked"]})


class CompleteRequest(Request):
    """A request with every parameter of its question: equal questions are equal however they were written.

    Made by :func:`explainlab.analyses.registry.complete`, once, where a request comes in.
    """

    def completed(self, parameters: BaseModel) -> CompleteRequest:
        """Return the same request."""
        return self


def validated(record: type[R], /, **fields: Any) -> R:
    """Return a ``record`` of these fields.

    Raises :class:`RequestError` naming the first one that is not accepted.
    """
    try:
        return record(**fields)
    except ValidationError as error:
        first = first_refused(error)
        if not first.name:
            raise RequestError("This is not accepted.", f"{first.reason}.") from None
        problem = "is missing" if first.kind == "missing" else f"= {quote(first.value)} is not accepted"
        raise RequestError(f"{first.name} {problem}.", f"{first.reason}.") from None
    except UnicodeEncodeError:
        raise RequestError("A name or a value has a character that cannot be written.", "Write it again.") from None


def result_key(identity: str, model_digest: str) -> str:
    """Return the store's key, 64 hexadecimal digits, of the result with this identity by the model with this digest.

    Models count by their digests, not by their names: a retrained directory gets new answers, and one model under two
    names computes once.
    """
    return digest([identity, model_digest])


def digest(body: Any) -> str:
    """Return the SHA-256 of the canonical JSON of ``body``, as 64 hexadecimal digits."""
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
