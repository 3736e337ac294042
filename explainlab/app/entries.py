"""The pages of the app: each folder with a page declares it as ``ENTRY``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from explainlab.settings import PACKAGE, ROOT

if TYPE_CHECKING:
    from explainlab.app.page import AnalysisPage

_FOLDERS = ("app/pages/*", "app/*")


@dataclass(frozen=True)
class PageEntry:
    """One page in the navigation: ``url`` is the word in the address, ``help`` what it is for.

    Pages are sorted by ``order``. The first is the home page.
    """

    title: str
    icon: str
    url: str
    help: str
    order: int

    @property
    def file(self) -> str:
        """Its file under ``pages/``."""
        return f"{self.url}.py"

    @property
    def path(self) -> str:
        """The full path of that file."""
        return str(ROOT / "pages" / self.file)


def entries() -> tuple[PageEntry, ...]:
    """All pages."""
    return tuple(_declared())


@cache
def analysis_pages() -> dict[PageEntry, AnalysisPage]:
    """The pages that show results of analyses: ``PAGE`` in the module ``main`` beside the entry."""
    declared = _declared().items()
    return {entry: import_module(f"{package}.main").PAGE for entry, package in declared if ".pages." in package}


@cache
def _declared() -> dict[PageEntry, str]:
    """Every entry with the package that declares it as ``ENTRY``."""
    folders = [file.parent for pattern in _FOLDERS for file in PACKAGE.glob(f"{pattern}/__init__.py")]
    modules = [import_module(".".join(folder.relative_to(PACKAGE.parent).parts)) for folder in folders]
    declared = {module.ENTRY: module.__name__ for module in modules if hasattr(module, "ENTRY")}
    return dict(sorted(declared.items(), key=lambda item: item[0].order))
