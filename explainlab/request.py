"""The request: everything that decides a result, as one plain serialisable record."""

from __future__ import annotations

import hashlib
import json
from reprlib import repr as quote
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from explainlab.errors import RequestError

R = TypeVar("R", bound=BaseModel)
Output = Literal["probability", "logit"]
Unit = Literal["token", "word", "sentence"]
Dtype = Literal["float32", "bfloat16", "float16"]

RECORD_VERSION = 2
"""Rises when the stored form of results changes, so that older ones are computed again instead of misread."""


class Request(BaseModel):
    """One question to one model: explain ``text`` with ``method``.

    ``target`` is ``predicted``, a class name or a class index (as text). ``parameters`` are complete (defaults filled
    in) once the request has passed :func:`explainlab.attribution.registry.complete`, so that equal questions have equal
    keys however they were asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    text: str
    text_pair: str | None = None
    method: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    target: str = "predicted"
    output: Output = "probability"
    unit: Unit = "token"
    seed: int = Field(0, ge=0, lt=2**32)
    dtype: Dtype = "float32"

    def key(self, model_digest: str, method_version: int, data_digest: str = "") -> str:
        """The store's key: 64 hexadecimal digits.

        The model enters by its digest, not by its name: a retrained directory gets new answers, and one model under
        two names computes once. So does the data that the method reads beside the text, if it reads any.
        """
        body = self.model_dump(mode="json", exclude={"model"})
        versions = {"model_digest": model_digest, "method_version": method_version, "record_version": RECORD_VERSION}
        data = {"data_digest": data_digest} if data_digest else {}
        return digest({**body, **versions, **data})


def checked(record: type[R], /, **fields: Any) -> R:
    """A ``record`` of these fields; raises :class:`RequestError` naming the first one that is not accepted."""
    try:
        return record(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        problem = "is missing" if first["type"] == "missing" else f"= {quote(first['input'])} is not accepted"
        raise RequestError(f"{name} {problem}.", f"{first['msg']}.") from None


def digest(body: Any) -> str:
    """SHA-256 of the canonical JSON of ``body``, as 64 hexadecimal digits."""
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
