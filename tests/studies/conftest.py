"""What tests of studies share with those of the methods."""

from tests.attribution.conftest import model, toys

__all__ = ["model", "toys"]
