"""The page that Prometheus reads: `GET /metrics`, on the loopback address unless asked otherwise."""

from __future__ import annotations

import threading

from telemark.errors import ConfigError
from telemark.host.web import Response, SmallServer
from telemark.runner.monitor.readings import Readings
from telemark.runner.monitor.text import exposition

PATH = "/metrics"
KIND = "text/plain; version=0.0.4; charset=utf-8"


class PrometheusPage:
    """Serves the newest readings until closed, in threads of its own.

    Args:
        readings: what to show.
        address: to listen on.
        port: 0 takes a free one.
    """

    def __init__(self, readings: Readings, address: str, port: int) -> None:
        self._readings = readings
        self._read = threading.Condition()
        self._read_version = -1  # newest one that a client has been given completely
        try:
            self._server = SmallServer(address, port, self._respond)
        except OSError as error:
            raise ConfigError(
                f"--prometheus: {address}:{port} cannot be used: {error.strerror}", hint="choose a free port"
            ) from error
        self.url = f"http://{address}:{self._server.server_port}{PATH}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="prometheus", daemon=True)
        self._thread.start()

    def wait_until_read(self, timeout_s: float) -> bool:
        """Whether somebody has read the present values, or does so in time."""
        wanted = self._readings.snapshot().version
        with self._read:
            return self._read.wait_for(lambda: self._read_version >= wanted, timeout_s)

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _respond(self, path: str, query: str) -> Response:
        if path != PATH:
            return Response(404, "text/plain", f"the metrics are at {PATH}\n".encode())
        snapshot = self._readings.snapshot()
        body = exposition(snapshot).encode()
        return Response(200, KIND, body, when_sent=lambda: self._note_read(snapshot.version))

    def _note_read(self, version: int) -> None:
        with self._read:
            self._read_version = max(self._read_version, version)
            self._read.notify_all()
