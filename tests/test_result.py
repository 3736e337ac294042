"""JSON that is written in pieces is the JSON that is written at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explainlab.result import written

RECORD: dict[Any, Any] = {
    "empty": {},
    "text": "a\n0, 0 é",
    5: [1.5, None, {"deep": []}],
    None: True,
    "rows": [{"a": 1}, 0],
}


@pytest.mark.parametrize("options", [{}, {"indent": 2, "ensure_ascii": False}])
def test_pieces_are_the_whole(options: dict[str, Any]) -> None:
    whole = json.dumps(RECORD, **options)
    assert "".join(written(RECORD, **options)) == whole
    assert "".join(written({**RECORD, "rows": iter(RECORD["rows"])}, **options)) == whole
    assert "".join(written({**RECORD, "rows": iter([RECORD["rows"][:1], RECORD["rows"][1:]])}, **options)) == whole
