"""A changed template never gets the answers of the one before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from explainlab.models.templates import save_template
from explainlab.request import Request
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from tests.conftest import ASKED


def test_answers_belong_to_the_templates_content(speaker_path: Callable[[str], Path]) -> None:
    first = ASKED.model_copy(update={"name": "edited"})
    other = first.model_copy(update={"separator": "\n\n"})
    service = Service(Store("sqlite://"), "cpu")
    model = f"completion:edited:{speaker_path('gpt2')}"
    request = Request(model=model, text="a funny film", question="occlusion")
    save_template(first)
    answer = service.run(request)
    assert np.array_equal(service.find(request).scores, answer.scores)
    save_template(other)
    assert service.find(request) is None
    changed = service.run(request)
    assert changed.versions["model"] != answer.versions["model"]
    assert not np.array_equal(changed.scores, answer.scores)
    save_template(first)
    assert np.array_equal(service.find(request).scores, answer.scores)
