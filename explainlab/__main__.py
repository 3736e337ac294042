"""``python -m explainlab``."""

from explainlab.cli import main

main()
