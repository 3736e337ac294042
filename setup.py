"""What pyproject.toml cannot say: dependencies out of requirements.txt, and the app's files inside the package."""

from pathlib import Path

from setuptools import find_namespace_packages, setup

INSTALLED = "explainlab.installed"
"""The package with the files beside explainlab/: see ROOT in explainlab/settings.py."""


def requirements() -> tuple[list[str], list[str]]:
    """Those of the library and of the app, as lower bounds: what is pinned is tested."""
    library, _, app = Path("requirements.txt").read_text(encoding="utf-8").partition("# The app:")
    lists = [[line.split("#")[0].strip() for line in part.splitlines()[1:]] for part in (library, app)]
    found, more = ([line.replace("==", ">=") for line in lines if line] for lines in lists)
    return found, more


library, app = requirements()
setup(
    packages=[*find_namespace_packages(include=["explainlab", "explainlab.*"], exclude=["*__pycache__*"]), INSTALLED],
    package_dir={INSTALLED: "."},
    package_data={
        "": ["*.css", "*.js", "*.json", "py.typed"],
        INSTALLED: [
            ".streamlit/config.toml",
            "pages/*.py",
            "assets/*.*",
            *(f"assets/{name}/**/*" for name in ("components", "examples", "models", "notebooks", "templates")),
        ],
    },
    install_requires=library,
    extras_require={"app": app},
)
