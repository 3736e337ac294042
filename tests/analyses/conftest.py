"""Fixtures that tests of analyses share with tests of methods and figures."""

from tests.attribution.conftest import model, toys
from tests.figures.conftest import attribution

__all__ = ["attribution", "model", "toys"]
