"""Sends readings to a carbon daemon once a second, in Graphite's plaintext protocol."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

from telemark.errors import ConfigError
from telemark.runner.monitor.readings import Readings
from telemark.runner.monitor.text import plaintext

EVERY_S = 1.0
TIMEOUT_S = 3.0  # for connecting and for each send; a daemon that hangs delays nobody but this thread


class GraphiteSender:
    """Sends from a thread of its own. A daemon that goes away is tried again every second and disturbs no run.

    Args:
        readings: what to send.
        host: of the daemon.
        port: of its plaintext protocol.
        tell: takes a line for people when the connection breaks, and when it is back.

    Raises:
        ConfigError: there is no daemon now.
    """

    def __init__(self, readings: Readings, host: str, port: int, tell: Callable[[str], None]) -> None:
        self._readings = readings
        self._address = (host, port)
        self._tell = tell
        self._end = threading.Event()
        self._lost = 0  # snapshots that could not be sent since the connection broke
        try:
            self._socket: socket.socket | None = socket.create_connection(self._address, TIMEOUT_S)
        except OSError as error:
            raise ConfigError(
                f"--graphite: no carbon daemon answers at {host}:{port}: {error.strerror or error}",
                hint="the port is that of the plaintext protocol, 2003 by default",
            ) from error
        self._thread = threading.Thread(target=self._run, name="graphite", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send the last values and disconnect."""
        self._end.set()
        self._thread.join(3 * TIMEOUT_S)
        if self._lost:
            self._tell(f"graphite: the last {self._lost} seconds of values could not be sent")

    def _run(self) -> None:
        while not self._end.wait(EVERY_S):
            self._send()
        self._send()
        if self._socket is not None:
            self._socket.close()

    def _send(self) -> None:
        text = plaintext(self._readings.snapshot(), int(time.time()))
        try:
            self._connected().sendall(text.encode())
            if self._lost:
                self._tell(f"graphite: connected again; {self._lost} seconds of values were not sent")
                self._lost = 0
        except OSError as error:
            self._disconnect()
            self._lost += 1
            if self._lost == 1:
                self._tell(f"graphite: values cannot be sent: {error}")

    def _connected(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, TIMEOUT_S)
        return self._socket

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
