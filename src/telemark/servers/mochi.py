"""Mochi MQTT, a server in Go, built from its module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from telemark.host.cache import install, installed
from telemark.host.ports import LOOPBACK, free_ports
from telemark.model.plan import Profile
from telemark.servers.contract import Availability
from telemark.servers.http_json import get_json
from telemark.servers.local import LocalServer
from telemark.servers.packages import run_with_progress
from telemark.servers.process import ServerProcess

VERSION = "2.7.9"
PACKAGE = f"github.com/mochi-mqtt/server/v2/cmd/docker@v{VERSION}"  # the variant that reads a configuration file
COUNTERS = {
    "messages_in": "messages_received",
    "messages_out": "messages_sent",
    "messages_dropped": "messages_dropped",
    "connections": "clients_connected",
    "subscriptions": "subscriptions",
}


class Mochi(LocalServer):
    """One process; its configuration file knows no TLS."""

    name = "mochi"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"mqtt-3.1.1", "mqtt-5", "qos-1", "qos-2", "shared", "shared-3.1.1", "durable", "persistent"}
    )
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "nothing is written to disk",
        "durable": "sessions and unacknowledged messages in a Pebble database, each write synchronised; "
        "one was seen before each acknowledgement, but not whether it held the message: fsync is not claimed",
    }

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._counter_port = 0

    def availability(self) -> Availability:
        found = installed(f"mochi-{VERSION}") is not None
        return Availability(
            found, VERSION if found else None, "telemark servers install mochi (needs Go 1.21 or later)"
        )

    def prepare(self) -> None:
        _program()

    def configure(self) -> None:
        self._counter_port = free_ports(1)[0]
        addresses = {each.name: self.port(each.name) for each in self.request.listeners}
        listeners = [
            {"type": "tcp", "id": name, "address": f"{self.bind_address}:{port}"} for name, port in addresses.items()
        ]
        listeners.append({"type": "sysinfo", "id": "counters", "address": f"{LOOPBACK}:{self._counter_port}"})
        hooks: dict[str, Any] = {"auth": {"allow_all": True}}
        if self.request.profile == "durable":
            hooks["storage"] = {"pebble": {"path": str(self.data / "pebble"), "mode": "Sync"}}
        configuration = {"listeners": listeners, "hooks": hooks, "logging": {"level": "WARN"}}
        (self.directory / "mochi.json").write_text(json.dumps(configuration, indent=2))

    def launch(self) -> None:
        command = [str(_program()), "-config", str(self.directory / "mochi.json")]
        process = self.spawn(ServerProcess(self.name, command, self.directory / "mochi.log", cpus=self.request.cpus))
        for port in (*self._ports.values(), self._counter_port):
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)

    def counters(self) -> Mapping[str, float]:
        values = get_json(self._counter_port, "/")
        if not isinstance(values, dict):
            return {}
        return {name: float(values[field]) for name, field in COUNTERS.items() if field in values}


def _program() -> Path:
    def fill(work: Path) -> None:
        run_with_progress(
            ["go", "install", PACKAGE],
            f"mochi {VERSION}",
            "install Go (Debian: apt install golang)",
            environment={"GOBIN": str(work)},
        )

    return install(f"mochi-{VERSION}", fill) / "docker"
