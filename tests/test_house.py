"""The rules of the house, read from the code itself: who may use whom, what is never called, how files are kept."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from explainlab.settings import ASSETS, ROOT

PACKAGE = ROOT / "explainlab"
BASE = {"declared", "errors", "limits", "request", "settings"}
"""What every room may use."""

MAY_USE: dict[str, set[str]] = {
    "errors": set(),
    "limits": set(),
    "settings": {"errors", "limits"},
    "declared": {"errors"},
    "request": {"errors"},
    "text": set(),
    "models": {"text"},
    "metrics": {"models", "text"},
    "attribution": {"metrics", "data", "models", "text"},
    "data": set(),
    "training": {"models", "text"},
    "testing": {"attribution", "metrics", "models", "text", "data"},
    "figures": {"attribution", "metrics", "data", "models", "text"},
    "analyses": {"app", "service", "figures", "attribution", "metrics", "data", "models", "text"},
    "service": {"analyses", "attribution", "metrics", "data", "models", "text"},
    "bench": {"figures", "service", "analyses", "attribution", "metrics", "data", "models", "text"},
    "app": {"analyses", "figures", "service", "training", "attribution", "metrics", "data", "models", "text"},
    "cli": {"bench", "figures", "service", "analyses", "training", "attribution", "metrics", "data", "models", "text"},
    "__main__": {"cli"},
    "__init__": {"attribution", "metrics", "models", "analyses"},
}
"""The table of explainlab/README.md, room by room; a room that is not here has not found its place yet."""

LIBRARY = sorted(PACKAGE.rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
PRODUCT = [*LIBRARY, *PAGES, ROOT / "app.py"]
KEPT_OUT = {
    ".git",
    ".mypy_cache",
    ".venv",
    ".hypothesis",
    ".pytest_cache",
    ".ruff_cache",
    "__pycache__",
    "shared",
    "build",
    "dist",
}
MOST_LINES = 400

every_product_file = pytest.mark.parametrize("path", PRODUCT, ids=lambda path: str(path.relative_to(ROOT)))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    """Full names of all modules and names that a file imports, wherever in it."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files() -> list[Path]:
    """Every file of the project that is not made by a tool."""
    tops = [path for path in ROOT.iterdir() if path.name not in KEPT_OUT]
    found = [path for top in tops for path in ([top] if top.is_file() else top.rglob("*"))]
    return [path for path in found if path.is_file() and not KEPT_OUT & set(path.relative_to(ROOT).parts)]


# Arrows --------------------------------------------------------------------------------------------------------------


def test_every_room_is_on_the_map() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in LIBRARY}
    assert rooms == MAY_USE.keys()
    table = (PACKAGE / "README.md").read_text(encoding="utf-8")
    for room in sorted(rooms - BASE - {"__main__", "__init__", "cli"}):
        assert f"| `{room}/` |" in table


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_knows_what_is_above_it(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    allowed = MAY_USE[room] | {room} | (BASE if room not in BASE else set())
    used = {name.split(".")[1] for name in imports(path) if name.startswith("explainlab.")}
    assert used <= allowed


@every_product_file
def test_streamlit_stays_in_the_pages_and_app(path: Path) -> None:
    uses = any(name.split(".")[0] == "streamlit" for name in imports(path))
    assert not uses or path not in LIBRARY or path.is_relative_to(PACKAGE / "app") or "page" in path.parts


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_knows_the_page_of_another_analysis(path: Path) -> None:
    own = ".".join(path.relative_to(ROOT).parts[:3])
    of_pages = {name for name in imports(path) if re.match(r"explainlab\.analyses\.\w+\.page\b", name)}
    assert not {name for name in of_pages if not name.startswith(f"{own}.")}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_calls_its_guard_before_anything_else(path: Path) -> None:
    _, *body = tree(path).body
    first = next(node for node in body if not isinstance(node, ast.Import | ast.ImportFrom))
    assert ast.unparse(first) == "guard()"
    assert "explainlab.app.frame.guard" in imports(path)


# What is never done --------------------------------------------------------------------------------------------------

UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
UNSAFE_NAMES = {"torch.load", "st.components.v1", "streamlit.components.v1", "eval", "exec", "os.system"}
UNSAFE_KEYWORDS = {"unsafe_allow_html", "unsafe_allow_javascript", "shell"}
ONLY_FALSE, ONLY_TRUE = {"trust_remote_code"}, {"weights_only", "use_safetensors"}


@every_product_file
def test_nothing_unsafe_is_called(path: Path) -> None:
    for name in imports(path):
        assert name.split(".")[0] not in UNSAFE_MODULES
        assert not name.startswith("streamlit.components.v1")
        assert name != "torch.load"
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute | ast.Name):
            assert ast.unparse(node) not in UNSAFE_NAMES
        elif isinstance(node, ast.keyword):
            assert node.arg not in UNSAFE_KEYWORDS
            assert node.arg not in ONLY_FALSE or ast.unparse(node.value) == "False"
            assert node.arg not in ONLY_TRUE or ast.unparse(node.value) == "True"


def test_scripts_write_text_and_never_html() -> None:
    scripts = [*ASSETS.rglob("*.js"), *PACKAGE.rglob("*.js")]
    assert scripts
    for path in scripts:
        found = re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", path.read_text("utf-8")
        )
        assert not found, f"{path.name}: {found}"


def test_templates_escape_all_but_our_own_styles_and_scripts() -> None:
    for path in ASSETS.rglob("*.j2"):
        template = re.sub(r"\{\{ (style|script) \| safe \}\}", "", path.read_text("utf-8"))
        assert not re.search(r"\|\s*safe\b|autoescape\s+false", template), path.name


# How files are kept --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["requirements.txt", "tests/requirements.txt"])
def test_requirements_are_pinned(name: str) -> None:
    lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    loose = [line for line in lines if line and not re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==[\w.]+", line)]
    assert not loose


@every_product_file
def test_every_public_thing_says_what_it_is_for(path: Path) -> None:
    if not path.read_text(encoding="utf-8"):
        assert path.name == "__init__.py"
        return
    assert ast.get_docstring(tree(path)), "the module"
    silent = [name for name, node in _public(tree(path)) if not ast.get_docstring(node) and not _inherits(path, name)]
    assert not silent


def _public(scope: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Public functions, classes and methods by their dotted names."""
    for node in scope.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _public(node, f"{prefix}{node.name}.")


def _inherits(path: Path, name: str) -> bool:
    """Whether a base class says what its member is for."""
    owner, _, member = name.rpartition(".")
    if not owner or path not in LIBRARY:
        return False
    found: object = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for part in owner.split("."):
        found = getattr(found, part)
    return any(getattr(vars(base).get(member), "__doc__", None) for base in found.__mro__[1:])


def test_files_are_short() -> None:
    written = [path for path in files() if path.suffix in (".py", ".js", ".css", ".j2")]
    assert len(written) > 50
    long = {str(path): n for path in written if (n := path.read_text("utf-8").count("\n")) >= MOST_LINES}
    assert not long


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    machine = re.compile(r"(?<![\w.])/(work|root|tmp)/")
    text = [path for path in files() if path.suffix not in (".safetensors", ".png", ".parquet", ".gz")]
    assert not [str(path) for path in text if machine.search(path.read_text("utf-8"))]


def test_assets_are_small() -> None:
    assert sum(path.stat().st_size for path in ASSETS.rglob("*") if path.is_file()) < 25 * 10**6
