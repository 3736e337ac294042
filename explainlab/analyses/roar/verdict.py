from __future__ import annotations

from explainlab.analyses.roar.result import RoarData


def verdict(body: RoarData) -> str:
    return "stub"


def lines(body: RoarData) -> list[str]:
    return []
