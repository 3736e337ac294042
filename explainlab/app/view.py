"""What a page shows, as one plain record: the body of a link, and the requests that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from explainlab.service.questions import Question as Request


class AnalysisView(BaseModel):
    """The view of one page; a page with a section about a data set has its choices in a field ``data``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def text_requests(self) -> Sequence[Request]:
        """What the page needs before all else."""
        raise NotImplementedError

    def data_request(self) -> Any:
        """What the section about a data set needs; None if that is nothing."""
        return None

    def requests(self) -> list[Request]:
        """All of them; raises :class:`explainlab.errors.RequestError` for one that cannot be."""
        data = self.data_request()
        return [*self.text_requests(), *([data] if data else [])]

    def same_setting(self, other: Self) -> bool:
        """Whether both ask the same of the same model, so that the result of one data set belongs to either."""
        return True
