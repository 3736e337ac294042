"""Questions whose answer trains models."""

from __future__ import annotations

from explainlab.analyses.base import ModelFree
from explainlab.models import loading
from explainlab.training import ARCHITECTURES


class Making(ModelFree):
    """A question whose answer trains models: that of its request is the base, an architecture or the id of a model."""

    def known_digest(self, model_id: str) -> str | None:
        """See :meth:`Analysis.known_digest`."""
        return f"architecture:{model_id}" if model_id in ARCHITECTURES else super().known_digest(model_id)

    def model_digest(self, model_id: str) -> str:
        """See :meth:`Analysis.model_digest`."""
        return self.known_digest(model_id) or loading.model_digest(model_id)
