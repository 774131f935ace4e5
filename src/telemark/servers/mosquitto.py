"""Eclipse Mosquitto, as Debian and others package it."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from typing import ClassVar

from telemark.errors import ServerError
from telemark.host.ports import LOOPBACK, free_ports
from telemark.model.plan import Endpoint, Profile
from telemark.servers.contract import Availability, Listener
from telemark.servers.local import LocalServer
from telemark.servers.options import LOCAL, MAX_QUEUED, ServerOption
from telemark.servers.process import ServerProcess
from telemark.servers.sys_topics import MOSQUITTO, SysWatcher

HOW_TO_GET = "Debian, Ubuntu: apt install mosquitto"

MAX_INFLIGHT = ServerOption("max_inflight_messages", 0, "unacknowledged messages of a device; 0: no limit")
AUTOSAVE = ServerOption("autosave_interval", 1, "seconds between two saves")


class Mosquitto(LocalServer):
    """One mosquitto process; counters from its `$SYS` topics, renewed every second."""

    name = "mosquitto"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"mqtt-3.1.1", "mqtt-5", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "psk"}
        | {"shared", "shared-3.1.1", "durable", "persistent"}
    )
    options: ClassVar[tuple[ServerOption, ...]] = (*LOCAL, MAX_QUEUED, MAX_INFLIGHT, AUTOSAVE)
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "nothing is written to disk",
        "durable": "the whole state is saved to disk once a second; acknowledged does not mean on disk, "
        "a crash may lose the last second and more",
    }
    start_timeout_s = 20.0
    counter_lag_s = 2.5  # with a sys_interval of 1 s it renews them when more than a second has passed: every two

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._watcher: SysWatcher | None = None
        self._watch_port = 0

    def availability(self) -> Availability:
        program = _program()
        return Availability(program is not None, _version(program) if program else None, HOW_TO_GET)

    def profile_note(self, profile: Profile) -> str:
        if profile == "fsync":
            return "mosquitto has no fsync profile: it acknowledges before anything is on disk"
        return super().profile_note(profile)

    def configure(self) -> None:
        self._watch_port = free_ports(1)[0]  # a listener of its own: a scenario may limit or secure all others
        lines = [*self._general(), *self._storage()]
        for listener in self.request.listeners:
            lines += self._listener(listener)
        lines += [f"listener {self._watch_port} {LOOPBACK}", "allow_anonymous true"]
        (self.directory / "mosquitto.conf").write_text("\n".join(lines) + "\n")

    def launch(self) -> None:
        command = [str(_program()), "-c", str(self.directory / "mosquitto.conf")]
        process = self.spawn(
            ServerProcess(self.name, command, self.directory / "mosquitto.log", cpus=self.request.cpus)
        )
        for port in (*self._ports.values(), self._watch_port):
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)
        self._watcher = SysWatcher(Endpoint("watch", LOOPBACK, self._watch_port), MOSQUITTO)
        try:
            self._watcher.start()
        except (OSError, ServerError) as error:
            raise process.failure(f"mosquitto listens but does not answer: {error}") from error

    def counters(self) -> Mapping[str, float]:
        return self._watcher.counters() if self._watcher else {}

    def before_end(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()

    def _general(self) -> list[str]:
        user = getpass.getuser() if os.geteuid() == 0 else ""
        return [
            "per_listener_settings true",
            # started as root it would change to a user that cannot read the run folder
            *([f"user {user}"] if user else []),
            f"max_queued_messages {self.option('max_queued_messages')}",  # 0: no limit
            f"max_inflight_messages {self.option('max_inflight_messages')}",
            "set_tcp_nodelay true",
            "sys_interval 1",
            "log_dest stdout",
            "log_type error",
            "log_type warning",
            "log_type notice",
            "connection_messages false",  # a log line for every device would be part of the measurement
        ]

    def _storage(self) -> list[str]:
        if self.request.profile == "memory":
            return []
        return [
            "persistence true",
            f"persistence_location {self.data}/",
            f"autosave_interval {self.option('autosave_interval')}",  # seconds
        ]

    def _listener(self, listener: Listener) -> list[str]:
        lines = [f"listener {self.port(listener.name)} {self.bind_address}", "allow_anonymous true"]
        if listener.security == "tls":
            made = self.certificates()
            lines += [f"cafile {made.ca}", f"certfile {made.server}", f"keyfile {made.server_key}"]
            lines += ["require_certificate true"] if int(self.option("client_certificates")) else []
        if listener.security == "psk":
            lines += ["psk_hint telemark", f"psk_file {self.psk().psk_file}"]
        return lines


def _program() -> str | None:
    """Distributions put it into sbin, which is not on every user's PATH."""
    return shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin")


@cache
def _version(program: str) -> str | None:
    help_text = subprocess.run([program, "-h"], capture_output=True, text=True, check=False, timeout=10).stdout
    found = re.search(r"mosquitto version (\S+)", help_text)
    return found.group(1) if found else None
