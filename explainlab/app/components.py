"""Components made of our own scripts and styles, and helpers for them that pages share.

Enter runs a text area, which reports its limit in words; a narrow window reports itself; the page scrolls to the part
that a press has opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from explainlab.app.text import plain
from explainlab.figures.export import component_file
from explainlab.settings import settings


def component(name: str, scripts: Sequence[str] = (), styles: Sequence[str] | None = None) -> Callable[..., Any]:
    """Return a component made of ``*.js`` and ``*.css`` files of ``assets/components``, joined in order.

    By default both are named ``name``.
    """

    def read(names: Sequence[str], suffix: str) -> str:
        return "\n".join(component_file(f"{part}{suffix}") for part in names)

    style = read([name] if styles is None else styles, ".css") or None
    return st.components.v2.component(name, js=read(scripts or [name], ".js"), css=style)


_enter_runs = component("enter_runs", styles=())


def enter_runs(keys: list[str]) -> None:
    """Enter in the text areas with these keys commits them; Shift+Enter starts a new line."""
    _enter_runs(data={"keys": keys}, key="enter_runs", height=0)


_narrow = component("narrow", styles=())
_NARROW = "window.narrow"


def is_narrow() -> bool:
    """Return True if the window has been as narrow as a phone's in this session."""
    return bool(st.session_state.get(_NARROW))


def watch_narrow(page: str, on_narrow: Callable[[], None]) -> None:
    """Call ``on_narrow`` once in a session, on the first ``page`` whose window is as narrow as a phone's."""

    def became() -> None:
        st.session_state[_NARROW] = True
        on_narrow()

    _narrow(data={"known": is_narrow()}, key=f"{page}_narrow", height=0, on_narrow_change=became)


_scroll_to = component("scroll_to", styles=())
_OPENED, _PRESSES = "scroll.opened", "scroll.presses"


def bring_into_view(container: str) -> None:
    """Scroll to the container of this key, which a press has opened (from a callback)."""
    st.session_state[_OPENED] = container
    st.session_state[_PRESSES] = st.session_state.get(_PRESSES, 0) + 1


def follow_press(key: str) -> None:
    """Scroll to what was pressed for since; ``key`` is that of a page, or of a part that runs on its own."""
    data = {"target": st.session_state.pop(_OPENED, ""), "press": st.session_state.get(_PRESSES, 0)}
    _scroll_to(data=data, key=f"{key}_scroll_to", height=0)


def draw_text_area(
    label: str, text: str, key: str, height: int, run: Callable[[], None] | None = None, help_text: str | None = None
) -> None:
    """Draw a text area that refuses a text beyond the limit with a message, and keeps the one before.

    ``run`` is called when another text is entered that is not refused.
    """
    accepted, refused = f"{key}_accepted", f"{key}_refused"

    def take() -> None:
        entered, before = st.session_state[key], st.session_state[accepted]
        if len(entered) > settings().max_characters:
            words = f"The text that was entered has {len(entered):,} characters. {settings().words('max_characters')}"
            st.session_state[refused] = (before, f"{words} The earlier text was kept.")
            st.session_state[key] = before
        elif run is not None:
            run()

    st.session_state[accepted] = st.text_area(label, text, key=key, height=height, on_change=take, help=help_text)
    before, words = st.session_state.get(refused, (None, ""))
    if before == st.session_state[accepted]:
        st.error(plain(words), icon=":material/content_paste_off:")
