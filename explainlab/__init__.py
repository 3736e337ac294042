"""ExplainLab: why a transformer classified a text as it did, and how far that explanation can be trusted.

import explainlab
classifier = explainlab.load_model("embedded:bert-mini-sst2")
result = explainlab.explain(classifier, "a stirring, funny film", method="integrated_gradients", tolerance=0.005)
result.to_frame()

Each name is imported when it is first used, so that the import itself takes no time.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explainlab.attribution.records import Attribution
    from explainlab.attribution.registry import methods
    from explainlab.data import plant
    from explainlab.errors import ExplainLabError
    from explainlab.metrics.registry import metrics
    from explainlab.models.loading import load_model
    from explainlab.notebook.asking import evaluate, explain, study, train
    from explainlab.notebook.showing import show

__version__ = "1.0.0"

__all__ = [
    "Attribution",
    "ExplainLabError",
    "evaluate",
    "explain",
    "load_model",
    "methods",
    "metrics",
    "plant",
    "show",
    "study",
    "train",
]

_MODULES = {
    "Attribution": "attribution.records",
    "ExplainLabError": "errors",
    "evaluate": "notebook.asking",
    "explain": "notebook.asking",
    "load_model": "models.loading",
    "methods": "attribution.registry",
    "metrics": "metrics.registry",
    "plant": "data",
    "show": "notebook.showing",
    "study": "notebook.asking",
    "train": "notebook.asking",
}

import_module("explainlab.metrics")
del globals()["metrics"]  # a room and a function share this name: imported later, the room would take its place


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'explainlab' has no attribute '{name}'")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")  # tqdm's, in notebooks without widgets
        module = import_module(f"explainlab.{_MODULES[name]}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
