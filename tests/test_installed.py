"""The wheel in an empty folder: the manual's example runs from anywhere, and without what only the app needs."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import explainlab
from explainlab.settings import ROOT

MOST_BYTES = 25_000_000
OLDEST = ROOT / "tests" / "oldest.txt"
NOT_OF_THE_LIBRARY = ("streamlit", "sqlalchemy", "alembic", "plotly", "altair", "psycopg", "authlib")
BLOCKED = """
import sys
for name in {names}:
    sys.modules[name] = None  # as if it was not installed
"""

NOTEBOOK = """
from types import SimpleNamespace
sys.modules["IPython"] = SimpleNamespace(get_ipython=object)
sys.modules["ipykernel.zmqshell"] = SimpleNamespace()  # one without widgets
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, as a build leaves files behind."""
    source = tmp_path_factory.mktemp("tree")
    for name in ("explainlab", "assets", "pages", ".streamlit"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "secrets.toml"))
    for name in ("app.py", "setup.py", "pyproject.toml", "requirements.txt", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    (source / OLDEST.parent.name).mkdir()
    shutil.copy(OLDEST, source / OLDEST.parent.name)
    return source


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, as an index has it."""
    folder = tmp_path_factory.mktemp("sdist")
    code = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=tree, check=True, capture_output=True)
    (archive,) = folder.glob("*.tar.gz")
    return built(archive, folder)


def built(source: Path, folder: Path) -> Path:
    """Return the wheel that pip builds from ``source``."""
    build = ["wheel", "--no-build-isolation", "--no-deps", "-w", str(folder), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the wheel is installed into, without what it depends on."""
    folder = tmp_path_factory.mktemp("site")
    install = ["install", "--no-deps", "--no-compile", "--target", str(folder), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    return folder


def run(code: str, site: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Return the output of Python for ``code``, in a new folder."""
    measured = "COVERAGE_PROCESS_CONFIG"  # the copy that is installed is not, and its plugin is not there
    kept = {name: value for name, value in os.environ.items() if name != measured}
    environment = {**kept, "PYTHONPATH": str(site), "EXPLAINLAB_HOME": str(folder / "home")}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_wheel_is_light(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES


@pytest.mark.full("3 s: builds another wheel")
def test_the_source_distribution_makes_the_wheel_of_the_tree(wheel: Path, tree: Path, tmp_path: Path) -> None:
    made, own = (zipfile.ZipFile(path) for path in (wheel, built(tree, tmp_path)))
    assert {entry.filename: entry.CRC for entry in made.infolist()} == {
        entry.filename: entry.CRC for entry in own.infolist()
    }


def test_the_library_takes_every_release_from_the_oldest_tested_one_to_the_pin(site: Path) -> None:
    (installed,) = importlib.metadata.distributions(name="explainlab", path=[str(site)])
    wanted = [Requirement(line) for line in installed.requires or ()]
    oldest, pins = pinned(OLDEST), pinned(ROOT / "requirements.txt")
    library = {need.name: str(need.specifier) for need in wanted if not need.marker}
    app = {need.name: str(need.specifier) for need in wanted if need.marker}
    assert library == {name: f">={release}" for name, release in oldest.items()}
    assert app == {name: f">={release}" for name, release in pins.items() if name not in oldest}
    assert all(release <= pins[name] for name, release in oldest.items())


def pinned(path: Path) -> dict[str, Version]:
    """Return the release of each package that a list of requirements pins."""
    lines = re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: Version(release) for name, release in lines}


def test_the_first_example_of_the_library_runs_there_in_a_notebook_without_the_app(site: Path, tmp_path: Path) -> None:
    manual = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", manual, re.DOTALL)[1]  # type: ignore[index]
    first = example.partition("\nstudy = ")[0]
    told = "\nprint(explainlab.__file__, len(result._repr_html_()) > 1000)"
    ran = run(BLOCKED.format(names=NOT_OF_THE_LIBRARY) + NOTEBOOK + first + told, site, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Warning" not in ran.stderr
    assert ran.stdout.split() == [str(site / "explainlab" / "__init__.py"), "True"]


@pytest.mark.full("6 s: starts two processes")
def test_what_it_lacks_is_one_line(site: Path, tmp_path: Path) -> None:
    main = "\nfrom explainlab.cli import main\nsys.argv[1:] = {arguments}\nmain()"
    blocked = BLOCKED.format(names=NOT_OF_THE_LIBRARY)
    for arguments in (["app"], ["models"]):
        ran = run(blocked + main.format(arguments=arguments), site, tmp_path)
        assert ran.returncode == 2
        assert not ran.stdout
        assert "pip install 'explainlab[app]'" in ran.stderr
        assert ran.stderr.count("\n") == 1


@pytest.mark.full("4 s: starts a process")
def test_pages_and_components_are_in_it(site: Path, tmp_path: Path) -> None:
    code = """
from explainlab.app.entries import entries
from explainlab.figures.export import component_file
from explainlab.settings import ROOT
from pathlib import Path
assert len(entries()) >= 10 and all(Path(entry.path).is_file() for entry in entries())
assert (ROOT / "app.py").is_file() and (ROOT / ".streamlit" / "config.toml").is_file()
assert component_file("tokens.js")
"""
    ran = run(code, site, tmp_path)
    assert ran.returncode == 0, ran.stderr


def test_the_command_is_there(site: Path) -> None:
    (entry,) = site.glob(f"explainlab-{explainlab.__version__}.dist-info/entry_points.txt")
    assert "explainlab = explainlab.cli:main" in entry.read_text(encoding="utf-8")
    assert (site / "explainlab" / "py.typed").is_file()


def test_the_import_itself_loads_nothing_heavy(site: Path, tmp_path: Path) -> None:
    heavy = {"torch", "transformers", "pandas", "captum", "numpy", "pydantic"}
    code = f"import sys, explainlab\nassert dir(explainlab)\nprint({heavy} & {{*sys.modules}})"
    assert run(code, site, tmp_path).stdout.strip() == "set()"
