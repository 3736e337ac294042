"""Dependencies as lower bounds, and the app's files inside the package: pyproject.toml has no place for them."""

import re
from pathlib import Path

from setuptools import find_namespace_packages, setup

INSTALLED = "explainlab.installed"
"""The package with the files beside explainlab/: see ROOT in explainlab/settings.py."""


def since(pins: str) -> list[str]:
    """Return a requirement for each pinned release: that one or a newer one."""
    return [f"{name}>={release}" for name, release in re.findall(r"^([^#\s]+)==(\S+)", pins, re.MULTILINE)]


library = Path("tests/oldest.txt").read_text(encoding="utf-8")
_, _, app = Path("requirements.txt").read_text(encoding="utf-8").partition("# The app:")
setup(
    packages=[*find_namespace_packages(include=["explainlab", "explainlab.*"], exclude=["*__pycache__*"]), INSTALLED],
    package_dir={INSTALLED: "."},
    package_data={
        "": ["*.json", "py.typed"],
        INSTALLED: [
            ".streamlit/config.toml",
            "pages/*.py",
            "assets/*.*",
            *(f"assets/{name}/**/*" for name in ("components", "examples", "models", "notebooks", "templates")),
        ],
    },
    install_requires=since(library),
    extras_require={"app": since(app)},
)
