"""The command line for these tests too."""

from tests.test_cli import run  # noqa: F401
