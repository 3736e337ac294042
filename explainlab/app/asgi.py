"""The hosted entry point: the same app with readiness, version, security headers, and JSON logs.

    python -m streamlit run explainlab/app/asgi.py

Queue and models live in one process. `streamlit run app.py` needs none of this.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from streamlit import config, logger
from streamlit.runtime import memory_uploaded_file_manager

from explainlab.app.hosted import Door, SecurityHeaders, Uploads, WaitingUploads
from explainlab.app.sign_in import PROXY_USER
from explainlab.logs import leave_to_root, log_as_json
from explainlab.service.service import service
from explainlab.service.status import health, library_versions
from explainlab.settings import ROOT, settings

log = logging.getLogger(__name__)


@asynccontextmanager
async def warm(_: Any) -> AsyncIterator[None]:
    """Prepare for the first request: the store open, the worker waiting, logs as JSON, also those of uvicorn."""
    log_as_json()
    await asyncio.to_thread(service)
    yield


async def ready(_: Request) -> JSONResponse:
    """Answer 200 while store and worker answer, else 503; also counts of running and waiting jobs."""
    state = await asyncio.to_thread(lambda: health(service()))
    return JSONResponse(state, status_code=200 if state["ready"] else 503)


async def tell_versions(_: Request) -> JSONResponse:
    """Return the versions of libraries, by name."""
    return JSONResponse(library_versions())


def tell_error(error: Exception) -> bool:
    """Log an unexpected error under a random number, and show that number."""
    number = secrets.token_hex(4)
    log.error("a page failed", exc_info=error, extra={"error_id": number})
    st.error(
        f"Something unexpected went wrong; the server's log has it under {number}. Reload the page, or report it.",
        icon=":material/error:",
    )
    return True


log_as_json()
logger.setup_formatter = leave_to_root  # of loggers that Streamlit makes later

if settings().auth == "proxy":
    config.set_option("server.trustedUserHeaders", {settings().auth_header: PROXY_USER})

memory_uploaded_file_manager.MemoryUploadedFileManager = WaitingUploads  # type: ignore[misc]  # st.App takes this one

app = st.App(
    ROOT / "app.py",
    lifespan=warm,
    routes=[Route("/api/ready", ready), Route("/api/version", tell_versions)],
    middleware=[Middleware(SecurityHeaders), Middleware(Door), Middleware(Uploads)],
    on_script_error=tell_error,
)
