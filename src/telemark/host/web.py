"""A small HTTP server: reads only, answers only to its own name, and serves a bounded number of clients."""

from __future__ import annotations

import io
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from telemark.host.ports import is_loopback

NOTHING_ALLOWED = "default-src 'none'; frame-ancestors 'none'"
REQUEST_S = 30.0  # for all of a request: a client that drips it must not keep its place for ever
MOST_CLIENTS = 32  # connections at once; more are closed without an answer


@dataclass(frozen=True, slots=True)
class Response:
    """What is sent back."""

    status: int
    kind: str
    body: bytes
    policy: str = NOTHING_ALLOWED  # what a browser may load for the page
    when_sent: Callable[[], None] | None = None  # called when the client has been given all of it


Respond = Callable[[str, str], Response]  # path and query -> what is sent back


class SmallServer(ThreadingHTTPServer):
    """Listens on one address and answers GET and HEAD.

    Args:
        address: to listen on.
        port: 0 takes a free one.
        respond: makes the answers; called from several threads.
    """

    daemon_threads = True

    def __init__(self, address: str, port: int, respond: Respond) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.respond = respond
        self.names = own_names(address)
        self._clients = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__((address, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a client in a thread of its own, or turn it away when there are too many."""
        if not self._clients.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one client to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._clients.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; a defect is."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def own_names(address: str) -> frozenset[str]:
    """Names that requests to a server on this address may carry.

    A web page whose name was pointed at this address names another host. An address in numbers cannot be pointed
    elsewhere, so a server for all addresses of the host answers to the one that the client has reached (see
    `_Handler`).
    """
    names = {address, f"[{address}]"}
    if is_loopback(address):
        names |= {"localhost"}
    else:
        names |= {socket.gethostname(), socket.getfqdn()}
    return frozenset(names)


class _Incoming(socket.SocketIO):
    """What a client sends, until a moment (monotonic seconds)."""

    def __init__(self, line: socket.socket) -> None:
        super().__init__(line, "r")
        self._line = line
        self.until = 0.0

    def readinto(self, buffer: Any) -> int | None:
        patience = self._line.gettimeout()
        self._line.settimeout(max(0.001, self.until - time.monotonic()))
        try:
            return super().readinto(buffer)
        finally:
            self._line.settimeout(patience)


class _Handler(BaseHTTPRequestHandler):
    server: SmallServer
    server_version = "telemark"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = REQUEST_S  # of one read or write

    def setup(self) -> None:
        super().setup()
        self._incoming = _Incoming(self.connection)
        self.rfile = io.BufferedReader(self._incoming)

    def handle_one_request(self) -> None:
        self._incoming.until = time.monotonic() + REQUEST_S
        super().handle_one_request()

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        if not self._is_own_name(self.headers.get("Host") or ""):
            self._send(Response(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"this is not the host you asked for\n"))
            return
        try:
            address = urlsplit(self.path)
        except ValueError:  # for example an address in brackets that is none
            self._send(Response(HTTPStatus.BAD_REQUEST, "text/plain", b"this is no address of a page\n"))
            return
        try:
            response = self.server.respond(address.path, address.query)
        except Exception as error:
            self.log_message("%s failed: %r", self.path, error)
            response = Response(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", b"this page failed, see the terminal\n")
        self._send(response, with_body)

    def _is_own_name(self, host: str) -> bool:
        name, _, port = host.rpartition(":")
        reached = self.connection.getsockname()[0]
        return port == str(self.server.server_port) and name in self.server.names | {reached, f"[{reached}]"}

    def _send(self, response: Response, with_body: bool = True) -> None:
        self.send_response(response.status)
        for name, value in (
            ("Content-Type", response.kind),
            ("Content-Length", str(len(response.body))),
            ("Content-Security-Policy", response.policy),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(response.body)
            if response.when_sent is not None:
                response.when_sent()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Requests that went well are not worth a line on the terminal."""

    def log_error(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Nor are connections that a browser left open and silent."""
