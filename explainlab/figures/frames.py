"""What changes where one text is drawn with other scores: frames that share a heatmap's tokens."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen payload; numbers must be finite, as in JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class FrameToken(Record):
    """What of a drawn token changes with its score.

    ``share`` and ``rank`` are None for special tokens; ``strength``: |score| / limit, at most 1; ``clipped``: it was
    more than 1; ``value`` and ``error_value``: score and error as text.
    """

    score: float
    error: float | None
    value: str
    error_value: str | None
    share: float | None
    rank: int | None
    strength: float
    clipped: bool = False

    @classmethod
    def of(cls, token: FrameToken) -> FrameToken:
        """These fields of ``token``."""
        return cls(**token.model_dump(include=set(cls.model_fields)))
