"""Aedes, a server in JavaScript, from npm, run by Node.js."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from telemark.errors import RequirementError
from telemark.host.cache import install, installed
from telemark.host.ports import LOOPBACK, free_ports
from telemark.model.plan import Profile
from telemark.servers.contract import Availability, Listener
from telemark.servers.http_json import get_json
from telemark.servers.local import LocalServer
from telemark.servers.packages import run_with_progress
from telemark.servers.process import ServerProcess

VERSION = "1.2.0"
PROGRAM = Path(__file__).parent / "programs" / "aedes" / "aedes.mjs"


class Aedes(LocalServer):
    """One Node.js process that keeps everything in memory."""

    name = "aedes"
    offers: ClassVar[frozenset[str]] = frozenset({"mqtt-3.1.1", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "durable"})
    profiles: ClassVar[Mapping[Profile, str]] = {"memory": "nothing is written to disk"}

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._counter_port = 0

    def availability(self) -> Availability:
        found = installed(f"aedes-{VERSION}") is not None and shutil.which("node") is not None
        return Availability(found, VERSION if found else None, "telemark servers install aedes (needs Node.js 20, npm)")

    def prepare(self) -> None:
        if shutil.which("node") is None:
            raise RequirementError("aedes: the program node was not found on PATH", hint="install Node.js 20 or later")
        _modules()

    def configure(self) -> None:
        self._counter_port = free_ports(1)[0]
        configuration = {
            "host": self.bind_address,
            "modules": str(_modules()),
            "listeners": [self._listener(each) for each in self.request.listeners],
            "counters": self._counter_port,
        }
        (self.directory / "aedes.json").write_text(json.dumps(configuration, indent=2))

    def launch(self) -> None:
        command = [str(shutil.which("node")), str(PROGRAM), str(self.directory / "aedes.json")]
        process = self.spawn(ServerProcess(self.name, command, self.directory / "aedes.log", cpus=self.request.cpus))
        for port in (*self._ports.values(), self._counter_port):
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)

    def counters(self) -> Mapping[str, float]:
        values = get_json(self._counter_port, "/")
        return {name: float(value) for name, value in values.items()} if isinstance(values, dict) else {}

    def _listener(self, listener: Listener) -> dict[str, Any]:
        described: dict[str, Any] = {"port": self.port(listener.name)}
        if listener.security == "tls":
            made = self.certificates()
            described |= {"key": str(made.server_key), "certificate": str(made.server)}
        return described


def _modules() -> Path:
    def fill(work: Path) -> None:
        for name in ("package.json", "package-lock.json"):  # the lock holds the digest of every package
            shutil.copy(PROGRAM.parent / name, work)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(work)]
        run_with_progress(command, f"aedes {VERSION}", "install npm (Debian: apt install npm)")

    return install(f"aedes-{VERSION}", fill) / "node_modules"
