"""The HTTP server around the pages: this host only, own name only, GET only."""

from __future__ import annotations

from pathlib import Path

from telemark.errors import ConfigError
from telemark.host.ports import LOOPBACK
from telemark.host.web import SmallServer
from telemark.report.serve.app import App


class ReportServer(SmallServer):
    """Listens on the loopback address and answers with the pages of one folder."""

    def __init__(self, port: int, app: App) -> None:
        super().__init__(LOOPBACK, port, app.respond)

    @property
    def url(self) -> str:
        """Where the browser finds it."""
        return f"http://{LOOPBACK}:{self.server_port}/"


def make_server(root: Path, port: int) -> ReportServer:
    """A server that is bound and not yet running; port 0 takes a free one."""
    try:
        return ReportServer(port, App(root))
    except OSError as error:
        raise ConfigError(
            f"--port: {port} cannot be used: {error.strerror}", hint="--port 0 takes any free port"
        ) from error
