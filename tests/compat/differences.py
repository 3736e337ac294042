"""The fields in which two printed results differ."""

from __future__ import annotations

from typing import Any

IGNORED = {
    *("definition", "device", "torch", "transformers", "tokenizers", "numpy", "scipy", "captum"),
    *("seconds", "training", "importance"),
}
"""Sentences, the device, the libraries, and the seconds that a result and the parts of a grid took."""


def differences(before: Any, now: Any, where: str = "", *, within: float) -> list[str]:
    """Name every field in which ``now`` differs from ``before``.

    Floats may differ by ``within`` of the largest in their list, and of 1. Sentences (``definition``, ``warnings``) may
    have other words; fields and warnings may be added.
    """
    if isinstance(before, dict) and isinstance(now, dict):
        kept = [name for name in now if name in before]
        gone = [] if kept == list(before) else [f"{where}: fields {list(before)} are now {list(now)}"]
        names = [name for name in kept if name not in IGNORED]
        return gone + [
            d for name in names for d in differences(before[name], now[name], f"{where}.{name}", within=within)
        ]
    if where.endswith(".warnings"):
        fewer = len(now) < len(before)
        return [f"{where}: {len(before)} warnings are now {len(now)}"] if fewer else []
    if isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            return [f"{where}: {len(before)} entries are now {len(now)}"]
        numbers = [abs(value) for value in before if isinstance(value, float)]
        share = within * max([1.0, *numbers]) if numbers else within
        pairs = enumerate(zip(before, now, strict=True))
        return [d for i, pair in pairs for d in differences(*pair, f"{where}[{i}]", within=share)]
    if isinstance(before, float) and isinstance(now, float):
        same = abs(before - now) <= within * max(1.0, abs(before)) or before == now
    else:
        same = type(before) is type(now) and before == now
    return [] if same else [f"{where}: {before!r} is now {now!r}"]
