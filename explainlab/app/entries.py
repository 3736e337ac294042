"""The pages of the app: each folder with a page declares it as ``ENTRY``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from explainlab.app import pages
from explainlab.settings import ROOT

if TYPE_CHECKING:
    from explainlab.app.page import AnalysisPage


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
    return {entry: import_module(f"{name}.main").PAGE for entry, name in declared if find_spec(f"{name}.main")}


@cache
def _declared() -> dict[PageEntry, str]:
    """Every entry with the package that declares it as ``ENTRY``."""
    modules = [import_module(f"{pages.__name__}.{found.name}") for found in iter_modules(pages.__path__)]
    declared = {module.ENTRY: module.__name__ for module in modules}
    return dict(sorted(declared.items(), key=lambda item: item[0].order))
