"""A session of the app without a browser: the messages that a page and the server exchange, and nothing drawn."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import httpx
import websockets
from google.protobuf.message import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState, FileURLs, UploadedFileInfo
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

TIMEOUT = 120.0


class Session:
    """One connection to a running app at ``url`` (``http://host:port``), on ``page`` with ``query`` in its address.

    ``headers`` are sent beside those of a browser. ``id`` is what the server calls the session; ``elements`` holds what
    the page shows, by its place; ``errors`` the exceptions that the page has shown.
    """

    def __init__(self, url: str, query: str = "", page: str = "", headers: Mapping[str, str] | None = None) -> None:
        self._origin, self._headers = url, headers
        self.id = ""
        self._query = query
        self._name, self._page = page, ""
        self._pages: dict[str, str] = {}
        self._values: dict[str, WidgetState] = {}
        self.elements: dict[tuple[int, ...], Message] = {}
        self._folds: dict[str, str] = {}
        self.errors: list[str] = []

    async def __aenter__(self) -> Self:
        self._socket = await websockets.connect(
            self._origin.replace("http", "ws", 1) + "/_stcore/stream",
            subprotocols=["streamlit"],
            origin=self._origin,
            additional_headers=self._headers,
            max_size=None,
        )
        await self.run()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._socket.close()

    async def run(self, changed: Iterable[WidgetState] = ()) -> float:
        """Run the page with widgets ``changed``; the seconds until it has finished."""
        self._values |= {state.id: state for state in changed}
        message = BackMsg()
        message.rerun_script.query_string = self._query
        message.rerun_script.page_script_hash = self._page
        message.rerun_script.page_name = "" if self._page else self._name
        message.rerun_script.widget_states.widgets.extend(self._values.values())
        self._values = {key: state for key, state in self._values.items() if not state.trigger_value}
        start = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        await asyncio.wait_for(self._until_finished(), TIMEOUT)
        return time.perf_counter() - start

    async def answered(self) -> None:
        """Run the page, as its fragment does, until no job of it is left."""
        while any(button.label == "Cancel" for button in self.shown("button")):
            await asyncio.sleep(0.5)
            await self.run()

    async def press(self, label: str) -> float:
        """Press the button of this label; the seconds until the page has run."""
        return await self.run([WidgetState(id=self._button(label).id, trigger_value=True)])

    async def write(self, label: str, text: str) -> float:
        """Write into the text area of this label; the seconds until the page has run."""
        area = next(widget for widget in self.shown("text_area") if widget.label == label)
        return await self.run([WidgetState(id=area.id, string_value=text)])

    async def unfold(self, label: str) -> float:
        """Open the expander of this label; the seconds until the page has run."""
        return await self.run([WidgetState(id=self._folds[label], bool_value=True)])

    async def upload(self, label: str, name: str, content: bytes) -> int:
        """Choose a file in the uploader of this label; return the status of the server's answer to its bytes."""
        number = uuid.uuid4().hex
        status = await asyncio.to_thread(self.put, number, name, content)
        info = UploadedFileInfo(file_id=number, name=name, size=len(content), file_urls=FileURLs(file_id=number))
        uploader = next(widget for widget in self.shown("file_uploader") if widget.label.startswith(label))
        files = FileUploaderState(uploaded_file_info=[info])
        await self.run([WidgetState(id=uploader.id, file_uploader_state_value=files)])
        return status

    def put(self, number: str, name: str, content: bytes, headers: Mapping[str, str] | None = None) -> int:
        """Send the bytes of a file as a browser does, or with other ``headers``; the status of the answer."""
        return self._upload("PUT", number, headers, files={"file": (name, content)}).status_code

    def delete(self, number: str, headers: Mapping[str, str] | None = None) -> int:
        """Delete a file as a browser does, or with other ``headers``; the status of the answer."""
        return self._upload("DELETE", number, headers).status_code

    def _upload(self, method: str, number: str, headers: Mapping[str, str] | None, **content: Any) -> httpx.Response:
        token = httpx.get(f"{self._origin}/_stcore/health").cookies["_streamlit_xsrf"]
        return httpx.request(
            method,
            f"{self._origin}/_stcore/upload_file/{self.id}/{number}",
            headers={
                **((self._headers if headers is None else headers) or {}),
                "X-Xsrftoken": token,
                "Cookie": f"_streamlit_xsrf={token}",
            },
            timeout=60,
            **content,
        )

    async def visit(self, page: str) -> float:
        """Go to another page by its name in the address; the seconds until it has run."""
        self._page, self._query, self._values = self._pages[page], "", {}
        return await self.run()

    def shown(self, kind: str) -> list[Any]:
        """Return every element of this kind that the page shows."""
        found = (element for element in self.elements.values() if element.WhichOneof("type") == kind)
        return [getattr(element, kind) for element in found]

    def told(self) -> str:
        """Return the words of the page's boxes: information, successes, warnings and errors."""
        return " ".join(box.body for box in self.shown("alert"))

    def _button(self, label: str) -> Any:
        labels = {widget.label: widget for widget in self.shown("button")}
        if label not in labels:
            raise LookupError(f"The page shows no button {label!r}, but {sorted(labels)}.")
        return labels[label]

    async def _until_finished(self) -> None:
        while True:
            message = ForwardMsg.FromString(await self._socket.recv())
            kind = message.WhichOneof("type")
            if kind == "new_session":
                self.elements.clear()
                self._folds.clear()
                self.id = message.new_session.initialize.session_id
            elif kind == "navigation":
                self._page = message.navigation.page_script_hash
                self._pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            elif kind == "page_info_changed":
                self._query = message.page_info_changed.query_string
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                self._take(tuple(message.metadata.delta_path), message.delta.new_element)
            elif kind == "delta" and message.delta.add_block.expandable.id:
                self._folds[message.delta.add_block.expandable.label] = message.delta.add_block.expandable.id
            elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return

    def _take(self, place: tuple[int, ...], element: Message) -> None:
        self.elements[place] = element
        if element.WhichOneof("type") == "exception":
            self.errors.append(element.exception.message)
