"""Addresses of clusters."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress

from explainlab.errors import RequestError, ResourceError
from explainlab.settings import settings

LOOPBACK = "127.0.0.1"
_KNOCK_SECONDS = 3.0


def require_answer() -> None:
    """Raise :class:`ResourceError` where nothing listens at the address of the settings."""
    address = settings().ray_address
    if address and not answers(address):
        raise ResourceError(f"No Ray cluster answers at {address}.", "Start one there, or correct the address.")


def require_private(address: str) -> None:
    """Raise :class:`RequestError` where a hosted instance has no explicit address on a private network."""
    try:
        private = ipaddress.ip_address(_host_and_port(address)[0]).is_private
    except ValueError:
        private = False
    if settings().hosted and not private:
        raise RequestError(
            f"EXPLAINLAB_RAY_ADDRESS = {address!r} is not an address on a private network.",
            "Anyone who reaches a Ray cluster can run code on it. A hosted instance accepts only a private IP address.",
        )


def answers(address: str) -> bool:
    """Return whether a server listens at ``address``.

    Ray itself would try for minutes, and end its process.
    """
    host, port = _host_and_port(address)
    if not host:
        return True  # it names what Ray finds itself
    with suppress(OSError, ValueError), socket.create_connection((host, int(port)), _KNOCK_SECONDS):
        return True
    return False


def _host_and_port(address: str) -> tuple[str, str]:
    """Return the two of ``address``, which may have a scheme; the host is empty where it names none."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), port
