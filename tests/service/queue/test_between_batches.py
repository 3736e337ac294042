"""Single texts answered in the middle of a data set's job: no number of either depends on the other."""

from __future__ import annotations

import numpy as np

from explainlab.request import Request
from explainlab.service.resolved import resolve
from explainlab.service.service import Service
from explainlab.service.store.store import Store
from explainlab.service.users import User

MODEL = "embedded:bert-mini-sst2"
METHODS = ("lrp", "deep_lift", "rpi", "gae")
DATA = Request(
    model=MODEL,
    question="integration_error",
    data="embedded:sentiment",
    parameters={"rows": 8, "steps": [100], "rules": ["right"]},
)
SOON = 120


def test_numbers_do_not_depend_on_what_runs_between() -> None:
    service, alone = Service(Store("sqlite://"), "cpu"), Service(Store("sqlite://"), "cpu")
    few = {"rpi": {"samples": 2, "steps": 5}}
    singles = [
        Request(model=MODEL, text=f"a stirring, funny film {n}", question=method, parameters=few.get(method, {}))
        for n, method in enumerate(METHODS)
    ]
    data = service.submit(resolve(DATA, User("ann", "Ann")))
    while data.progress.done < 1:
        assert not service.engine.wait(data, 0.01)
    jobs = [service.submit(resolve(single, User("bob", "Bob"))) for single in singles]
    assert all(service.engine.wait(job, SOON) for job in jobs)
    assert not data.progress.finished, "they ran in its middle"
    for job in jobs:
        np.testing.assert_allclose(job.result.scores, alone.run(resolve(job.request)).scores, rtol=1e-5, atol=1e-7)
    assert service.engine.wait(data, SOON)
    there, here = data.result.body, alone.run(resolve(DATA)).body
    assert [text.row for text in there.texts] == [text.row for text in here.texts]
    for text, other in zip(there.texts, here.texts, strict=True):
        for rule, errors in text.errors.items():
            for steps, error in errors.items():
                np.testing.assert_allclose(error, other.errors[rule][steps], rtol=1e-3, atol=1e-6)
