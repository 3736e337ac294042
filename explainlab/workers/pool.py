"""Loaded models, bounded by bytes: the least recently used ones go first."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from explainlab.limits import DEFAULT_LIMITS, Limits
from explainlab.models.classifier import Classifier
from explainlab.models.devices import free_cached, is_out_of_memory
from explainlab.models.loading import load_model, model_digest


@dataclass(frozen=True)
class Loaded:
    """A loaded model, as any thread may read it; ``bytes`` are those of its weights."""

    id: str
    dtype: str
    device: str
    bytes: int


class ModelPool:
    """The models that one worker keeps loaded on its device. Only the job that has its turn may touch it.

    ``loaded`` is a snapshot for other threads: it is replaced, never changed.
    """

    def __init__(self, device: str | None, limit_bytes: int, limits: Limits = DEFAULT_LIMITS) -> None:
        self._device = device
        self._limit = limit_bytes
        self._limits = limits
        self._models: OrderedDict[tuple[str, str], Classifier] = OrderedDict()
        self.loaded: tuple[Loaded, ...] = ()

    @property
    def bytes(self) -> int:
        """Memory of all loaded weights."""
        return sum(classifier.bytes for classifier in self._models.values())

    def get(self, model_id: str, dtype: str) -> Classifier:
        """Return the classifier, loaded if it is not; a directory whose files have changed is loaded again.

        Raises :class:`explainlab.errors.ModelError` as :func:`load_model` does. A model larger than the limit is kept
        alone.
        """
        key = (model_digest(model_id), dtype)
        if key not in self._models:
            self._models[key] = load_model(model_id, self._device, dtype, self._limits)
        self._models.move_to_end(key)
        while self.bytes > self._limit and len(self._models) > 1:
            self._models.popitem(last=False)
            free_cached()
        self._tell()
        return self._models[key]

    def clear(self) -> None:
        """Forget all models; they are loaded anew when they are needed."""
        self._models.clear()
        self._tell()
        free_cached()

    def reads(self, model_id: str, dtype: str) -> bool:
        """Return whether memory suffices for the model; loads it unless it is loaded already."""
        try:
            self.get(model_id, dtype)
        except Exception as error:
            return not is_out_of_memory(error)
        return True

    def _tell(self) -> None:
        self.loaded = tuple(
            Loaded(classifier.id, dtype, str(classifier.device), classifier.bytes)
            for (_, dtype), classifier in self._models.items()
        )
