"""The small HTTP server around the pages: this host only, own name only, GET only."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from telemark.errors import ConfigError
from telemark.report.serve.app import App, Response

ADDRESS = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost")


class ReportServer(ThreadingHTTPServer):
    """Listens on the loopback address and answers with the pages of one folder."""

    daemon_threads = True

    def __init__(self, port: int, app: App) -> None:
        super().__init__((ADDRESS, port), _Handler)
        self.app = app

    @property
    def url(self) -> str:
        """Where the browser finds it."""
        return f"http://{ADDRESS}:{self.server_port}/"


def make_server(root: Path, port: int) -> ReportServer:
    """A server that is bound and not yet running; port 0 takes a free one."""
    try:
        return ReportServer(port, App(root))
    except OSError as error:
        raise ConfigError(
            f"--port: {port} cannot be used: {error.strerror}", hint="--port 0 takes any free port"
        ) from error


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer
    server_version = "telemark"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30  # a silent connection does not keep a thread for ever

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        """Only requests to our own name: a web page whose name was pointed at this address names another host."""
        host = (self.headers.get("Host") or "").rpartition(":")
        if host[0] not in NAMES or host[2] != str(self.server.server_port):
            self._send(Response(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"this is not the host you asked for\n"))
            return
        address = urlsplit(self.path)
        try:
            response = self.server.app.respond(address.path, address.query)
        except Exception as error:
            self.log_message("%s failed: %r", self.path, error)
            response = Response(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", b"this page failed, see the terminal\n")
        self._send(response, with_body)

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

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Requests that went well are not worth a line on the terminal."""

    def log_error(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Nor are connections that a browser left open and silent."""
