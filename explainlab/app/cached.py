"""Figures that pages draw, made once for all users and runs of a page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar
from weakref import finalize

from pydantic import BaseModel

from explainlab.result import Result

T = TypeVar("T")

_OWNERS, _MOST = 512, 64
"""Numbers of owners kept, the last used, and of values of each, the last made. A study's figures take about 2 MB, a
heatmap 0.1; heatmaps that a page makes anew count too while a session shows them."""
_made: OrderedDict[int, dict[tuple[Any, ...], Any]] = OrderedDict()
_lock = Lock()


def cached_for(owner: Any, make: Callable[..., T], *arguments: Any) -> T:
    """Return ``make(*arguments)``, made once and kept while ``owner`` is in memory and in use. Do not change it.

    ``make`` gives the same for the same arguments, never None. Arguments are ``owner`` itself (a result, a figure), its
    body, other results, requests, plain values, and tuples of these.
    """
    key = (make, *(_key_of(owner, argument) for argument in arguments))
    kept = _kept(owner)
    made = kept.get(key)
    if made is None:
        made = make(*arguments)
        with _lock:
            if len(kept) >= _MOST:
                del kept[next(iter(kept))]
            kept[key] = made
    return made


def _kept(owner: Any) -> dict[tuple[Any, ...], Any]:
    with _lock:
        if id(owner) not in _made:
            _made[id(owner)] = {}
            finalize(owner, _made.pop, id(owner), None).atexit = False
        _made.move_to_end(id(owner))
        kept = _made[id(owner)]
        while len(_made) > _OWNERS:
            _made.popitem(last=False)
        return kept


def _key_of(owner: Any, argument: Any) -> Any:
    """Return the part of the key for an argument; the owner and its body need none."""
    if argument is owner or argument is getattr(owner, "body", None):
        return None
    if isinstance(argument, tuple):
        return tuple(_key_of(owner, part) for part in argument)
    if isinstance(argument, Result):  # the seconds tell a result from one that was computed again
        return argument.request.model_dump_json(), argument.cost
    return argument.model_dump_json() if isinstance(argument, BaseModel) else (type(argument), argument)
