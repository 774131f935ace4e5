"""The built-in server as a server under test: for calibration, for tests of the instrument, and for trying things.

Options: threads (1), seed (0), max_queued_messages (1,000,000; 0: no limit), receive_maximum (65,535),
faults ("drop=100,stall=1@3": see loopback_faults). What it did wrong is left in faults.json beside its configuration.
"""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import telemark
from telemark.errors import ConfigError, ServerError
from telemark.host.ports import LOOPBACK, free_ports
from telemark.model.plan import Profile
from telemark.servers.contract import Availability, Listener
from telemark.servers.http_json import get_json
from telemark.servers.local import LocalServer
from telemark.servers.loopback_faults import parse_faults
from telemark.servers.options import LOCAL, MAX_QUEUED, ServerOption
from telemark.servers.process import ServerProcess
from telemark.servers.terms import COUNTERS

ACCOUNT = "faults.json"
HOW_TO_GET = "it is part of telemark: build the native module (make setup)"

OPTIONS = (
    ServerOption("threads", 1, "reactor threads"),
    ServerOption("seed", 0, "chooses which messages faults hit"),
    replace(MAX_QUEUED, default=1_000_000),
    ServerOption("receive_maximum", 65_535, "unacknowledged messages of a device"),
    ServerOption("account_limit", 100_000, "messages the account of faults names"),
    ServerOption("faults", "", "faults in force, as drop=100,stall=1@3 (see `telemark loopback --help`)"),
)


class LoopbackServer(LocalServer):
    """One process with the native server in it; counters and faults over its control port."""

    name = "loopback"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"mqtt-3.1.1", "mqtt-5", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "psk"}
        | {"shared", "shared-3.1.1", "durable", "faults"}
    )
    options: ClassVar[tuple[ServerOption, ...]] = (*LOCAL, *OPTIONS)
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "nothing is written to disk; sessions live as long as the process",
        "durable": "sessions outlive their connections but are kept in memory: nothing is written to disk",
    }
    start_timeout_s = 20.0

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._control_port = 0

    def availability(self) -> Availability:
        native = Path(telemark.__file__).parent.glob("_native.*.so")
        return Availability(any(native), telemark.__version__, HOW_TO_GET)

    def configure(self) -> None:
        self._control_port = free_ports(1)[0]
        config = {
            "listeners": [self._listener(each) for each in self.request.listeners],
            "control_port": self._control_port,
            "threads": self.option("threads"),
            "max_queued_messages": self.option("max_queued_messages"),
            "receive_maximum": self.option("receive_maximum"),
            "seed": self.option("seed"),
            "account_limit": self.option("account_limit"),
            "faults": parse_faults([text for text in str(self.option("faults")).split(",") if text]),
        }
        self._config.write_text(json.dumps(config, indent=2) + "\n")

    def launch(self) -> None:
        command = [sys.executable, "-m", "telemark.servers.loopback_process", str(self._config)]
        # The package is found where this one was, installed or not.
        environment = {"PYTHONPATH": str(Path(telemark.__file__).parent.parent)}
        process = self.spawn(
            ServerProcess(
                self.name,
                command,
                self.directory / "loopback.log",
                environment=environment,
                cpus=self.request.cpus,
            )
        )
        process.wait_until(self._is_healthy, self.start_timeout_s, "an answer of its control port")

    def counters(self) -> Mapping[str, float]:
        found = get_json(self._control_port, "/counters") if self.alive() else None
        return {name: float(found[name]) for name in COUNTERS if name in found} if isinstance(found, dict) else {}

    def faults(self) -> dict[str, Any]:
        """What was done wrong so far: counts, and the messages it was done to. The truth tests compare with."""
        found = get_json(self._control_port, "/faults", timeout_s=10.0)
        if not isinstance(found, dict):
            raise ServerError("the built-in server does not tell its faults", hint=self.log_tail())
        return found

    def before_end(self) -> None:
        """Leave the account in the run folder: it is the truth a report on the run can be checked against."""
        if not self.alive():
            return
        with suppress(ServerError, OSError):
            account = self.faults()
            (self.directory / ACCOUNT).write_text(json.dumps(account, indent=1) + "\n", encoding="utf-8")

    def set_faults(self, texts: Sequence[str]) -> None:
        """Put other faults in force while it runs; an empty list ends all of them."""
        connection = http.client.HTTPConnection(LOOPBACK, self._control_port, timeout=5)
        try:
            connection.request("POST", "/faults", json.dumps(parse_faults(texts)))
            answer = connection.getresponse()
            said = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"the built-in server does not take faults: {error}") from error
        finally:
            connection.close()
        if answer.status != 200:
            raise ConfigError(f"faults {', '.join(texts)}: {said}")

    @property
    def _config(self) -> Path:
        return self.directory / "loopback.json"

    def _is_healthy(self) -> bool:
        return get_json(self._control_port, "/health") is not None

    def _listener(self, listener: Listener) -> dict[str, Any]:
        found: dict[str, Any] = {
            "name": listener.name,
            "host": self.bind_address,
            "port": self.port(listener.name),
            "security": listener.security,
            "socket_buffer": listener.socket_buffer,
        }
        if listener.security == "tls":
            made = self.certificates()
            found |= {"certificate": str(made.server), "key": str(made.server_key)}
            found |= {"client_ca": str(made.ca)} if int(self.option("client_certificates")) else {}
        if listener.security == "psk":
            found["psk_file"] = self.psk().psk_file
        return found
