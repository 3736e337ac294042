"""What changes where one text is drawn with other scores: frames that share a heatmap's tokens."""

from __future__ import annotations

from explainlab.figures.heatmap import Record, Token


class FrameToken(Record):
    """What of a :class:`explainlab.figures.heatmap.Token` changes where one text is drawn with other scores."""

    score: float
    error: float | None
    value: str
    error_value: str | None
    share: float | None
    rank: int | None
    strength: float
    clipped: bool = False

    @classmethod
    def of(cls, token: Token) -> FrameToken:
        """These fields of ``token``."""
        return cls(**token.model_dump(include=set(cls.model_fields)))
