"""The rules of the house, checked on the source: imports between rooms, forbidden calls, the writing of files."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from explainlab.models.model_types import MODEL_TYPES
from explainlab.settings import ASSETS, ROOT

PACKAGE = ROOT / "explainlab"
LAYERS = (
    {"errors", "files", "limits", "logs"},
    {"declared", "guard", "reader", "request", "settings", "disk_backed"},
    {"result"},
    {"data", "text"},
    {"models"},
    {"metrics", "training"},
    {"attribution"},
    {"figures"},
    {"analyses"},
    {"workers"},
    {"service"},
)
"""The rooms from the lowest up: each imports only rooms of the layers below it."""

FACES = (
    ({"app"},),
    ({"testing"},),
    ({"options", "reporting"}, {"instance", "notebook"}, {"cli"}, {"__init__", "__main__"}),
)
"""The faces of the house, side by side on the layers: the app, the contracts, and the library with its command line."""
ORDERS = [(*LAYERS, *face) for face in FACES]
ROOMS = set().union(*(layer for order in ORDERS for layer in order))
ENGINE = ("text", "models", "metrics", "attribution", "data", "training")

LIBRARY = sorted(PACKAGE.rglob("*.py"))
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))
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
    ".timings",
    "build",
    "dist",
}

Rule = Callable[[Path], None]


def every(paths: Iterable[Path]) -> Callable[[Rule], Callable[[], None]]:
    """Return a test of a rule for all ``paths``, which names each path that breaks the rule."""

    def checked(rule: Rule) -> Callable[[], None]:
        def test() -> None:
            broken = {}
            for path in paths:
                try:
                    rule(path)
                except AssertionError as error:
                    broken[str(path.relative_to(ROOT))] = str(error)
            assert not broken

        return test

    return checked


@lru_cache(maxsize=1)
def tree(path: Path) -> ast.Module:
    """Return the tree of a file; those of all files would take 120 MB."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Return the full names of all modules and names that a file imports, wherever in it."""
    names: list[str] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


def files() -> list[Path]:
    """Return every file of the project that people write."""
    tops = [path for path in ROOT.iterdir() if path.name not in KEPT_OUT]
    paths = [path for top in tops for path in ([top] if top.is_file() else top.rglob("*"))]
    return [path for path in paths if path.is_file() and not KEPT_OUT & set(path.relative_to(ROOT).parts)]


# Arrows --------------------------------------------------------------------------------------------------------------


def test_every_room_is_on_the_map() -> None:
    assert {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in LIBRARY} == ROOMS
    table = re.findall(r"^\| `(\w+)/` \|", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(table) == {room for room in ROOMS if (PACKAGE / room).is_dir()}
    for order in ORDERS:
        places = [place for room in table for place, layer in enumerate(order) if room in layer]
        assert places == sorted(places), "each room stands below those that it uses"


@every([*LIBRARY, *PAGES])
def test_nothing_needs_the_benchmarks(path: Path) -> None:
    assert not [name for name in imports(path) if name.split(".")[0] == "benchmarks"]


@every(BENCHMARKS)
def test_the_benchmarks_use_the_library_and_no_page(path: Path) -> None:
    assert not [name for name in imports(path) if name.startswith("explainlab.app")]


@every(LIBRARY)
def test_every_room_uses_only_rooms_below_it(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    used = {name.split(".")[1] for name in imports(path) if name.startswith("explainlab.")} & ROOMS - {room}
    order = next(order for order in ORDERS if any(room in layer for layer in order))
    place = next(place for place, layer in enumerate(order) if room in layer)
    assert used <= set().union(*order[:place])


def test_no_module_imports_itself_through_others() -> None:
    names_of = {path: path.relative_to(ROOT).with_suffix("").parts for path in LIBRARY}
    modules = {".".join(parts).removesuffix(".__init__"): path for path, parts in names_of.items()}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        statements = [node for node in tree(path).body if isinstance(node, ast.ImportFrom)]
        names = [(f"{node.module}.{alias.name}", str(node.module)) for node in statements for alias in node.names]
        graph[module] = {name if name in modules else package for name, package in names} & modules.keys() - {module}
    TopologicalSorter(graph).prepare()


FIND_FOLDERS = ("models/prompting.py", "models/places.py")
"""The files of the engine that still ask the settings: for the folders of saved templates and of made models."""


@every(LIBRARY)
def test_the_engine_and_analyses_are_told_all_that_decides_an_answer(path: Path) -> None:
    room, *parts = path.relative_to(PACKAGE).parts
    if room in (*ENGINE, "testing", "analyses"):
        used = set(imports(path))
        above = ("explainlab.service", "explainlab.app", "streamlit")
        assert not [name for name in used if name.startswith(above)]
        constants = {"explainlab.settings.ASSETS", "explainlab.settings.ROOT"}
        told = {name for name in used if name.startswith("explainlab.settings")} <= constants
        assert told or f"{room}/{parts[-1]}" in FIND_FOLDERS


@every(PRODUCT)
def test_only_the_app_imports_streamlit(path: Path) -> None:
    if any(name.split(".")[0] == "streamlit" for name in imports(path)):
        assert path.is_relative_to(PACKAGE / "app") or path not in LIBRARY


ANALYSES = sorted(path.parent for path in (PACKAGE / "analyses").glob("*/__init__.py"))


@every(ANALYSES)
def test_an_analysis_computes_without_figures(folder: Path) -> None:
    for path in (folder / "analysis.py", folder / "result.py"):
        used = {part for name in imports(path) for part in name.split(".")} if path.exists() else set()
        assert "figures" not in used, path.name


@every(PRODUCT)
def test_only_models_know_transformers(path: Path) -> None:
    """Other rooms name no model type; training runs networks of transformers as such."""
    if path in LIBRARY and path.relative_to(PACKAGE).parts[0] in ("models", "training"):
        return
    tokenizer = "transformers.PreTrainedTokenizerBase"
    assert not [name for name in imports(path) if name.split(".")[0] == "transformers" and name != tokenizer]
    assert not [node for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute) and node.attr == "model_type"]


@every(path for room in ("attribution", "metrics") for path in sorted((PACKAGE / room).rglob("*.py")))
def test_methods_and_metrics_know_no_architecture(path: Path) -> None:
    """They read the capabilities that a model declares, so the tests need not cross each of them with each model."""
    of_one_family = ("explainlab.models.model_types", "explainlab.models.networks")
    assert not [name for name in imports(path) if name.startswith(of_one_family)]
    nodes = list(ast.walk(tree(path)))
    named = {node.value for node in nodes if isinstance(node, ast.Constant)} & set(MODEL_TYPES)
    assert not named
    compared = [part for node in nodes if isinstance(node, ast.Compare) for part in (node.left, *node.comparators)]
    assert not [part for part in compared if ast.unparse(part).endswith("architecture.family")]


@every(LIBRARY)
def test_nothing_knows_another_page(path: Path) -> None:
    own = ".".join(path.relative_to(ROOT).with_suffix("").parts[:4])
    of_pages = {name for name in imports(path) if name.startswith("explainlab.app.pages.")}
    assert not {name for name in of_pages if not f"{name}.".startswith(f"{own}.")}


@every(PAGES)
def test_a_page_calls_its_guard_before_anything_else(path: Path) -> None:
    _, *body = tree(path).body
    first = next(node for node in body if not isinstance(node, ast.Import | ast.ImportFrom))
    assert ast.unparse(first) == "guard()"
    assert "explainlab.app.frame.guard" in imports(path)


# Forbidden calls -----------------------------------------------------------------------------------------------------

UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
UNSAFE_NAMES = {"torch.load", "st.components.v1", "streamlit.components.v1", "eval", "exec", "os.system"}
LAST_PARTS = {name.split(".")[-1] for name in UNSAFE_NAMES}
UNSAFE_KEYWORDS = {"unsafe_allow_html", "unsafe_allow_javascript", "shell"}
ONLY_FALSE, ONLY_TRUE = {"trust_remote_code"}, {"weights_only", "use_safetensors"}


@every(PRODUCT)
def test_nothing_unsafe_is_called(path: Path) -> None:
    for name in imports(path):
        assert name.split(".")[0] not in UNSAFE_MODULES
        assert not name.startswith("streamlit.components.v1")
        assert name != "torch.load"
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute | ast.Name):
            last = node.attr if isinstance(node, ast.Attribute) else node.id
            assert last not in LAST_PARTS or ast.unparse(node) not in UNSAFE_NAMES
        elif isinstance(node, ast.keyword):
            assert node.arg not in UNSAFE_KEYWORDS
            assert node.arg not in ONLY_FALSE or ast.unparse(node.value) == "False"
            assert node.arg not in ONLY_TRUE or ast.unparse(node.value) == "True"


def test_scripts_write_text_and_never_html() -> None:
    scripts = [*ASSETS.rglob("*.js"), *PACKAGE.rglob("*.js")]
    assert scripts
    for path in scripts:
        unsafe = re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", path.read_text("utf-8")
        )
        assert not unsafe, f"{path.name}: {unsafe}"


def test_templates_escape_all_but_our_own_styles_and_scripts() -> None:
    for path in ASSETS.rglob("*.j2"):
        template = re.sub(r"\{\{ (style|script) \| safe \}\}", "", path.read_text("utf-8"))
        assert not re.search(r"\|\s*safe\b|autoescape\s+false", template), path.name


# How files are kept --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["requirements.txt", "tests/requirements.txt", "tests/oldest.txt", "docs/requirements.txt"]
)
def test_requirements_are_pinned(name: str) -> None:
    lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    loose = [line for line in lines if line and not re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==[\w.]+", line)]
    assert not loose


@every(PRODUCT)
def test_every_public_thing_says_what_it_is_for(path: Path) -> None:
    if not path.read_text(encoding="utf-8"):
        assert path.name == "__init__.py"
        return
    assert ast.get_docstring(tree(path)), "the module"
    silent = [name for name, node in _public(tree(path)) if not ast.get_docstring(node) and not _inherits(path, name)]
    assert not silent


def _public(scope: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield public functions, classes and methods by their dotted names."""
    for node in scope.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _public(node, f"{prefix}{node.name}.")


def _inherits(path: Path, name: str) -> bool:
    """Return True if a base class documents this member."""
    owner, _, member = name.rpartition(".")
    if not owner or path not in LIBRARY:
        return False
    scope: Any = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    for part in owner.split("."):
        scope = getattr(scope, part)
    return any(getattr(vars(base).get(member), "__doc__", None) for base in scope.__mro__[1:])


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    machine = re.compile(r"(?<![\w.])/(work|root|tmp)/")
    text = [path for path in files() if path.suffix not in (".safetensors", ".png", ".webp", ".parquet", ".gz")]
    assert not [str(path) for path in text if machine.search(path.read_text("utf-8"))]


def test_assets_are_small() -> None:
    assert sum(path.stat().st_size for path in ASSETS.rglob("*") if path.is_file()) < 25 * 10**6
