"""What tests of analyses share with those of methods and figures."""

from tests.attribution.conftest import model, toys
from tests.figures.conftest import attribution

__all__ = ["attribution", "model", "toys"]
