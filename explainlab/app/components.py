"""Components made of our own scripts and styles, and a shared one for text areas: Enter to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from explainlab.figures.export import COMPONENTS, component_file


def component(
    name: str, scripts: Sequence[str] = (), styles: Sequence[str] | None = None, folder: Path = COMPONENTS
) -> Callable[..., Any]:
    """A component made of ``*.js`` and ``*.css`` files in ``folder``, joined in order.

    By default both are named ``name``, in the folder that pages share.
    """

    def read(names: Sequence[str], suffix: str) -> str:
        return "\n".join(component_file(f"{part}{suffix}", folder) for part in names)

    style = read([name] if styles is None else styles, ".css") or None
    return st.components.v2.component(name, js=read(scripts or [name], ".js"), css=style)


_enter_runs = component("enter_runs", styles=())


def enter_runs(keys: list[str]) -> None:
    """Enter in the text areas with these keys commits them; Shift+Enter starts a new line."""
    _enter_runs(data={"keys": keys}, key="enter_runs", height=0)
