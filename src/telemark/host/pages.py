"""Asks a web page once and gives up in time: no proxy, no redirect, an end to the wait and to the length.

A timeout of a socket is for each read: a page that drips a byte now and then would be waited for without end.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

LARGEST_PAGE: Final = 8 << 20  # bytes


def ask(
    url: str,
    timeout_s: float,
    *,
    method: str = "GET",
    body: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> bytes | None:
    """Body of a successful answer; None when it is not complete in time or is larger than LARGEST_PAGE.

    Half a page is none: its last number may be cut.
    """
    until = time.monotonic() + timeout_s
    try:
        parts = urlsplit(url)
        place = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), max(timeout_s, 0.01)) as plain, _cut(plain, until):
            line = _secured(plain, parts.hostname or "") if parts.scheme == "https" else plain
            connection = http.client.HTTPConnection(parts.hostname or "", port)
            connection.sock = line
            connection.request(method, place, body, dict(headers or {}))
            answer = connection.getresponse()
            content = answer.read(LARGEST_PAGE + 1)
            whole = len(content) <= LARGEST_PAGE and not answer.length and time.monotonic() < until
            return content if answer.status == 200 and whole else None
    except (OSError, ValueError, http.client.HTTPException):
        return None


def parsed(body: bytes | str | None) -> Any:
    """The JSON document of an answer; None when it is none."""
    try:
        return json.loads(body) if body is not None else None
    except (ValueError, RecursionError):
        return None


def _secured(plain: socket.socket, name: str) -> socket.socket:
    return ssl.create_default_context().wrap_socket(plain, server_hostname=name)


@contextmanager
def _cut(line: socket.socket, until: float) -> Iterator[None]:
    """Cut a connection at a moment (monotonic seconds), whatever is being done with it."""
    guard = line.dup()  # TLS takes the first socket over

    def cut() -> None:
        with suppress(OSError):
            guard.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, until - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        guard.close()
