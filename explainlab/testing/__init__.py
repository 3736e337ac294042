"""Checks that every method, metric, analysis and model must pass, in this project or written elsewhere.

    from explainlab.testing import check_method
    check_method(MyMethod(), explainlab.load_model("embedded:bert-mini-sst2"), samples=6)

Each check raises :class:`AssertionError` with a sentence that says what is wrong. Two computations are compared in
float64 (:func:`exact`), so that the comparison holds on every processor.
"""

from explainlab.testing.analyses import check_analysis
from explainlab.testing.exact import exact
from explainlab.testing.methods import check_method
from explainlab.testing.metrics import check_metric
from explainlab.testing.models import check_model
from explainlab.testing.observation import traces, watched

__all__ = ["check_analysis", "check_method", "check_metric", "check_model", "exact", "traces", "watched"]
