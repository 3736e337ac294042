"""The pages of the app, which declare themselves as ``ENTRY`` in ``app/pages``, and the page that shows a request."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, cast

from explainlab.analyses.registry import complete
from explainlab.app import pages
from explainlab.app.view import AnalysisView
from explainlab.errors import RequestError
from explainlab.request import Request
from explainlab.settings import ROOT

if TYPE_CHECKING:
    from explainlab.app.page import AnalysisPage


@dataclass(frozen=True)
class PageEntry:
    """One page in the navigation: ``url`` is the word in the address, ``help`` describes its purpose.

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
    """Return all pages, in the order of the navigation."""
    return tuple(_declared())


@cache
def analysis_pages() -> dict[PageEntry, AnalysisPage]:
    """Return the pages of analyses: ``PAGE`` in the module of their entry, or in ``form`` where that is a folder."""
    pages_of = {entry: _page_of(name) for entry, name in _declared().items()}
    return {entry: page for entry, page in pages_of.items() if page is not None}


def _page_of(name: str) -> AnalysisPage | None:
    """Return the ``PAGE`` of the page in the module or the folder called ``name``; None if it shows no analysis."""
    module = import_module(name)
    if hasattr(module, "__path__") and find_spec(f"{name}.form"):
        module = import_module(f"{name}.form")
        return cast("AnalysisPage", module.PAGE)
    return getattr(module, "PAGE", None)


@cache
def _declared() -> dict[PageEntry, str]:
    """Return each ``ENTRY`` with the name of the module that declares it."""
    modules = [import_module(f"{pages.__name__}.{found.name}") for found in iter_modules(pages.__path__)]
    declared = {module.ENTRY: module.__name__ for module in modules}
    return dict(sorted(declared.items(), key=lambda item: item[0].order))


@dataclass(frozen=True)
class ShownBy:
    """A page with the view that shows a request."""

    entry: PageEntry
    view: AnalysisView


def page_of(request: Request) -> ShownBy | None:
    """Return the page and view for the answer to ``request``; None if no page shows it, or it is no longer accepted.

    A page whose view cannot say all of the request would show the answer to another one.
    """
    for entry, page in analysis_pages().items():
        with suppress(RequestError):
            view = page.shows(complete(request))
            if view is not None and _decided(request) in map(_decided, view.shown_requests()):
                return ShownBy(entry, view)
    return None


def _decided(request: Request) -> dict[str, Any]:
    """Return the fields that decide the result of ``request``; a single text depends on no number of rows."""
    fields = complete(request).model_dump()
    if request.text is not None:
        fields["parameters"] = {k: v for k, v in fields["parameters"].items() if k not in ("rows", "sample")}
    return fields
