"""NATS with its MQTT listener, as Debian packages it (2.9: MQTT 3.1.1, QoS 0 and 1, JetStream for sessions)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from typing import ClassVar

from telemark.host.ports import LOOPBACK, free_ports
from telemark.model.plan import Profile
from telemark.servers.contract import Availability
from telemark.servers.http_json import get_json
from telemark.servers.local import LocalServer
from telemark.servers.options import LOCAL, ServerOption
from telemark.servers.process import ServerProcess

CONFIGURATION = """\
server_name: telemark
listen: "{host}:{nats}"
http: "{host}:{http}"
max_connections: {connections}
jetstream {{
  store_dir: "{data}"
}}
mqtt {{
  listen: "{bind}:{mqtt}"
  max_ack_pending: {max_ack_pending}
}}
"""

MAX_ACK_PENDING = ServerOption("max_ack_pending", 1024, "unacknowledged messages of a subscription")


class Nats(LocalServer):
    """One process with one plain MQTT listener. Its message counts mix in its own streams, so none are given."""

    name = "nats"
    offers: ClassVar[frozenset[str]] = frozenset({"mqtt-3.1.1", "qos-1", "durable", "persistent"})
    options: ClassVar[tuple[ServerOption, ...]] = (*LOCAL, MAX_ACK_PENDING)
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "sessions and QoS 1 messages go through JetStream files in any case: nothing can be switched off",
        "durable": "JetStream file store; no synchronisation was seen before an acknowledgement",
    }

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._http_port = 0

    def availability(self) -> Availability:
        program = shutil.which("nats-server")
        how = "Debian, Ubuntu: apt install nats-server (and keep its service stopped)"
        return Availability(program is not None, _version(program) if program else None, how)

    def configure(self) -> None:
        nats, self._http_port = free_ports(2)
        listener = self.only_listener("none")
        text = CONFIGURATION.format(
            host=LOOPBACK,
            bind=self.bind_address,
            nats=nats,
            http=self._http_port,
            connections=self.request.devices + 100,
            data=self.data,
            mqtt=self.port(listener.name) if listener else 0,
            max_ack_pending=self.option("max_ack_pending"),
        )
        (self.directory / "nats.conf").write_text(text)

    def launch(self) -> None:
        command = [str(shutil.which("nats-server")), "-c", str(self.directory / "nats.conf")]
        process = self.spawn(ServerProcess(self.name, command, self.directory / "nats.log", cpus=self.request.cpus))
        for port in (*self._ports.values(), self._http_port):
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)

    def counters(self) -> Mapping[str, float]:
        values = get_json(self._http_port, "/varz")
        return {"connections": float(values["connections"])} if isinstance(values, dict) else {}


@cache
def _version(program: str) -> str | None:
    said = subprocess.run([program, "-v"], capture_output=True, text=True, check=False, timeout=10).stdout
    found = re.search(r"v([\d.]+)", said)
    return found.group(1) if found else None
