"""Libraries that only some models need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from explainlab.errors import ModelError


def require_library(name: str, why: str) -> ModuleType:
    """The library called ``name``; raises :class:`ModelError`, which begins with ``why`` it is needed, without it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ModelError(f"{why}, which needs the library {name}.", f"Install it with pip install {name}.") from error
