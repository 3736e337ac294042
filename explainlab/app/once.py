"""What pages draw is made once, whoever looks and however often a page runs: see :func:`once`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar
from weakref import finalize

from pydantic import BaseModel

T = TypeVar("T")

_OWNERS, _MOST = 512, 64
"""Owners of whom things are kept, the last asked for, and things kept of each, the last made. A study's figures take
about 2 MB, a map 0.1; maps that a page makes anew count as well while a session shows them."""
_made: OrderedDict[int, dict[tuple[Any, ...], Any]] = OrderedDict()
_lock = Lock()


def once(owner: Any, make: Callable[..., T], *arguments: Any) -> T:
    """``make(*arguments)``, made once and kept while ``owner`` is in memory and looked at: not to be changed.

    ``make`` gives the same, and not None, for the same arguments: ``owner`` itself (a result, a figure), its body, and
    beside them requests and plain values.
    """
    given = (make, *(_named(owner, argument) for argument in arguments))
    kept = _kept(owner)
    made = kept.get(given)
    if made is None:
        made = make(*arguments)
        with _lock:
            if len(kept) >= _MOST:
                del kept[next(iter(kept))]
            kept[given] = made
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


def _named(owner: Any, argument: Any) -> Any:
    """What tells an argument from others; the owner and its body are always the same."""
    if argument is owner or argument is getattr(owner, "body", None):
        return None
    return argument.model_dump_json() if isinstance(argument, BaseModel) else (type(argument), argument)
