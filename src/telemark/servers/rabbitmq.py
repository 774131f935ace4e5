"""RabbitMQ with its MQTT plugin, as Debian packages it (3.10: MQTT 3.1.1 and QoS 0 and 1 only)."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from telemark.errors import ConfigError, RequirementError
from telemark.host.ports import LOOPBACK, free_ports
from telemark.model.plan import Profile
from telemark.servers.contract import Availability
from telemark.servers.http_json import get_text
from telemark.servers.local import LocalServer
from telemark.servers.options import LOCAL, MAX_QUEUED, ServerOption
from telemark.servers.process import ServerProcess
from telemark.servers.prometheus import by_labels, totals

HOW_TO_GET = "Debian, Ubuntu: apt install rabbitmq-server (and keep its service stopped)"
PLUGINS = ("rabbitmq_mqtt", "rabbitmq_prometheus")
# The management interface is left out: it misses what a device sent in its last second (docs/decisions/074).
COUNTERS = {
    "messages_in": "rabbitmq_global_messages_received_total",
    "messages_out": "rabbitmq_global_messages_delivered_total",
    "connections": "rabbitmq_connections",
    "subscriptions": "rabbitmq_consumers",
    "buffered_messages": "rabbitmq_queue_messages",
}
MOST_QUEUES = 1000  # one line each: reading more of them every second would weigh on the server that is measured
SYNC_NOTE = (
    "sessions that are kept use durable queues (classic ones unless the option queues says quorum); "
    "a message is acknowledged after its queue is synchronised to disk"
)
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# Debian's program on PATH changes to another user and to global folders; the one behind it does not.
DIRECT_PROGRAMS = ("/usr/lib/rabbitmq/bin/rabbitmq-server",)

OPTIONS = (
    ServerOption("queues", "classic", "`classic` or `quorum` for kept sessions"),
    ServerOption("prefetch", 10, "unacknowledged messages to a device"),
    ServerOption(
        "memory_watermark", "0.4", "publishers are blocked above this share of the memory (0.4) or amount (3g)"
    ),
    ServerOption("backlog", 4096, "connections that may wait to be accepted"),
)


class RabbitMq(LocalServer):
    """One node with its own name, port mapper (epmd), folders and ports, so that several run side by side."""

    name = "rabbitmq"
    # QoS 2 is accepted and treated as QoS 1, so it is not offered.
    offers: ClassVar[frozenset[str]] = frozenset(
        {"mqtt-3.1.1", "qos-1", "tls-1.2", "tls-1.3", "durable", "persistent", "fsync"}
    )
    options: ClassVar[tuple[ServerOption, ...]] = (*LOCAL, MAX_QUEUED, *OPTIONS)
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "queues of clean sessions are in memory; sessions that are kept use classic queues, "
        "which RabbitMQ always writes to disk",
        "durable": SYNC_NOTE,
        "fsync": SYNC_NOTE,
    }
    start_timeout_s = 90.0
    counter_lag_s = 2.5  # statistics are collected every second, then summed up for the management API
    stop_grace_s = 20.0

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._epmd_port = self._distribution_port = self._metrics_port = 0

    def availability(self) -> Availability:
        program = _program()
        return Availability(program is not None, _version(program) if program else None, HOW_TO_GET)

    def configure(self) -> None:
        self._epmd_port, self._distribution_port, self._metrics_port = free_ports(3)
        lines = [*self._general(), *self._mqtt(), *self._limit()]
        for number, listener in enumerate(self.request.listeners, 1):
            kind = "ssl" if listener.security == "tls" else "tcp"
            lines.append(f"mqtt.listeners.{kind}.{number} = {self.bind_address}:{self.port(listener.name)}")
        lines += self._tls()
        (self.directory / "rabbitmq.conf").write_text("\n".join(lines) + "\n")
        (self.directory / "enabled_plugins").write_text(f"[{','.join(PLUGINS)}].\n")
        (self.directory / "home").mkdir(exist_ok=True)

    def launch(self) -> None:
        self.data.chmod(0o700)
        self._spawn("epmd", [_epmd(), "-port", str(self._epmd_port), "-address", LOOPBACK])
        server = self._spawn("rabbitmq", [str(_program())])
        for port in (*self._ports.values(), self._metrics_port):
            server.wait_for_port(LOOPBACK, port, self.start_timeout_s)
        server.wait_until(lambda: bool(self.counters()), 30, "an answer of its metrics page")

    def counters(self) -> Mapping[str, float]:
        page = get_text(self._metrics_port, "/metrics")
        values = totals(page) if page else {}
        found = {name: values[metric] for name, metric in COUNTERS.items() if metric in values}
        if 0 < values.get("rabbitmq_queues", 0) <= MOST_QUEUES:
            queues = get_text(self._metrics_port, "/metrics/detailed?family=queue_coarse_metrics")
            depths = by_labels(queues or "").get("rabbitmq_detailed_queue_messages", {})
            found |= {"largest_queue": max(depths.values())} if depths else {}
        return found

    def _spawn(self, label: str, command: list[str]) -> ServerProcess:
        log = self.directory / f"{label}.log"
        process = ServerProcess(label, command, log, environment=self._environment(), cpus=self.request.cpus)
        return self.spawn(process)

    def _environment(self) -> dict[str, str]:
        """Every path and port RabbitMQ would otherwise take from the system."""
        here = self.directory
        return {
            "HOME": str(here / "home"),  # the Erlang cookie goes here
            "ERL_EPMD_PORT": str(self._epmd_port),
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "RABBITMQ_NODENAME": f"telemark-{self._distribution_port}@localhost",
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_CONF_ENV_FILE": str(here / "none.conf"),  # not there: system settings are not read
            "RABBITMQ_CONFIG_FILE": str(here / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(here / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(here / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(self.data),
            "RABBITMQ_PID_FILE": str(self.data / "node.pid"),
            "RABBITMQ_FEATURE_FLAGS_FILE": str(self.data / "feature_flags"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(self.data / "generated"),
            "RABBITMQ_LOG_BASE": str(here),
            "RABBITMQ_LOGS": "-",
            # listen for other Erlang nodes on this host only
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }

    def _general(self) -> list[str]:
        return [
            "listeners.tcp = none",  # AMQP is not part of the measurement
            "log.console = true",
            "log.console.level = warning",
            "log.connection.level = error",  # a log line for every device would be part of the measurement
            f"prometheus.tcp.ip = {LOOPBACK}",
            f"prometheus.tcp.port = {self._metrics_port}",
            "collect_statistics_interval = 1000",  # milliseconds
            self._watermark(),
        ]

    def _watermark(self) -> str:
        """Where publishers are blocked: a share of the host's memory, or an amount with a unit."""
        mark = str(self.option("memory_watermark"))
        found = re.fullmatch(r"(\d+)([kmg])b?", mark.lower())
        if found:
            amount = int(found.group(1)) * UNITS[found.group(2)]
            return f"vm_memory_high_watermark.absolute = {amount}"
        if re.fullmatch(r"0?\.\d+|1(\.0+)?", mark):
            return f"vm_memory_high_watermark.relative = {mark}"
        raise ConfigError(f"rabbitmq: option memory_watermark is {mark!r}, expected a share (0.4) or an amount (3g)")

    def _mqtt(self) -> list[str]:
        # Quorum queues sync as well, but 3.10 forgets one that was made shortly before a crash (docs/servers.md).
        queues = self.option("queues")
        if queues not in ("classic", "quorum"):
            raise ConfigError(f"rabbitmq: option queues is {queues!r}, expected classic or quorum")
        lines = [
            "mqtt.allow_anonymous = true",
            "mqtt.default_user = guest",
            "mqtt.default_pass = guest",
            "mqtt.vhost = /",
            f"mqtt.durable_queue_type = {queues}",
            f"mqtt.prefetch = {self.option('prefetch')}",  # unacknowledged QoS 1 messages per device
            f"mqtt.tcp_listen_options.backlog = {self.option('backlog')}",
            "mqtt.tcp_listen_options.nodelay = true",
        ]
        buffers = {each.socket_buffer for each in self.request.listeners if each.socket_buffer}
        if buffers:  # one setting for all listeners: that of the many devices, as in ScalAgent's report
            lines += [f"mqtt.tcp_listen_options.{each} = {min(buffers)}" for each in ("sndbuf", "recbuf")]
        return lines

    def _limit(self) -> list[str]:
        """Messages a queue may hold before it drops its oldest: a policy, which is part of the definitions."""
        most = int(self.option("max_queued_messages"))
        if not most:
            return []
        policy = {"vhost": "/", "name": "limit", "pattern": ".*", "apply-to": "queues", "priority": 0}
        guest = {"name": "guest", "password": "guest", "tags": ""}
        rights = {"user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
        definitions = {
            "vhosts": [{"name": "/"}],
            "users": [guest],
            "permissions": [rights],
            "policies": [policy | {"definition": {"max-length": most, "overflow": "drop-head"}}],
        }
        (self.directory / "definitions.json").write_text(json.dumps(definitions, indent=1) + "\n")
        return [f"load_definitions = {self.directory / 'definitions.json'}"]

    def _tls(self) -> list[str]:
        if not any(each.security == "tls" for each in self.request.listeners):
            return ["mqtt.listeners.ssl = none"]
        made, clients = self.certificates(), int(self.option("client_certificates"))
        return [
            f"ssl_options.cacertfile = {made.ca}",
            f"ssl_options.certfile = {made.server}",
            f"ssl_options.keyfile = {made.server_key}",
            f"ssl_options.verify = {'verify_peer' if clients else 'verify_none'}",
            f"ssl_options.fail_if_no_peer_cert = {'true' if clients else 'false'}",
            "ssl_options.versions.1 = tlsv1.3",
            "ssl_options.versions.2 = tlsv1.2",
        ]


def _program() -> str | None:
    direct = next((each for each in DIRECT_PROGRAMS if Path(each).exists()), None)
    return direct or shutil.which("rabbitmq-server", path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin")


def _epmd() -> str:
    program = shutil.which("epmd")
    if program is None:
        raise RequirementError(
            "rabbitmq: the program epmd was not found on PATH", hint="Debian: apt install erlang-base"
        )
    return program


def _version(program: str) -> str | None:
    """From the folder of the release the program belongs to: asking the program itself takes seconds."""
    for place in Path(program).resolve().parents[1].glob("**/rabbitmq_server-*"):
        return place.name.removeprefix("rabbitmq_server-")
    found = re.search(r"rabbitmq_server-([\d.]+)", str(Path(program).resolve()))
    return found.group(1) if found else None
