"""HiveMQ Community Edition, embedded in a small Java program, from Maven Central."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar
from xml.sax.saxutils import escape

from telemark.errors import RequirementError
from telemark.host.cache import installed
from telemark.host.java import java_version, require_java
from telemark.host.ports import LOOPBACK, free_ports
from telemark.model.plan import Profile
from telemark.servers.certificates import STORE_PASSWORD, make_java_stores
from telemark.servers.contract import Availability, Listener
from telemark.servers.http_json import get_text
from telemark.servers.java_heap import heap_flags, heap_in_use
from telemark.servers.local import LocalServer
from telemark.servers.options import HEAP, LOCAL, MAX_QUEUED, ServerOption
from telemark.servers.packages import ClassPath, install_class_path
from telemark.servers.process import ServerProcess
from telemark.servers.prometheus import totals

LIBRARIES = ClassPath(
    "hivemq-2025.5",
    ("com.hivemq:hivemq-community-edition-embedded:2025.5",),
    "dc3d6799e6b21dd61e92d2c1011535a4427ad505310821d442a90a96c4bc88c1",
)
JAVA = 17
PROGRAM = Path(__file__).parent / "programs" / "HiveMq.java"
COUNTERS = {
    "messages_in": "com.hivemq.messages.incoming.publish.count",
    "messages_out": "com.hivemq.messages.outgoing.publish.count",
    "messages_dropped": "com.hivemq.messages.dropped.count",
    "connections": "com.hivemq.networking.connections.current",
    "subscriptions": "com.hivemq.subscriptions.overall.current",
}
CONFIGURATION = """\
<hivemq>
  <listeners>
{listeners}
  </listeners>
  <persistence><mode>{persistence}</mode></persistence>
  <mqtt>
    <queued-messages><max-queue-size>{queue_size}</max-queue-size><strategy>discard</strategy></queued-messages>
  </mqtt>
  <anonymous-usage-statistics><enabled>false</enabled></anonymous-usage-statistics>
</hivemq>
"""
LISTENER = "    <{kind}-listener><port>{port}</port><bind-address>{host}</bind-address>{tls}</{kind}-listener>"
KEYS = (
    "<tls><keystore><path>{path}</path><password>{password}</password>"
    "<private-key-password>{password}</private-key-password></keystore></tls>"
)

QUEUE_SIZE = replace(MAX_QUEUED, default=1_000_000)


class HiveMq(LocalServer):
    """One Java process; the program beside this file starts the server and shows its metrics."""

    name = "hivemq"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"mqtt-3.1.1", "mqtt-5", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "shared", "shared-3.1.1"}
        | {"durable", "persistent"}
    )
    options: ClassVar[tuple[ServerOption, ...]] = (*LOCAL, HEAP, QUEUE_SIZE)
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "persistence is in memory",
        "durable": "file persistence; most messages are acknowledged without a synchronisation to disk",
    }
    start_timeout_s = 90.0

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._counter_port = 0

    def availability(self) -> Availability:
        fetched = installed(LIBRARIES.name) is not None
        able = fetched and (java_version() or 0) >= JAVA and shutil.which("javac") is not None
        how = f"telemark servers install hivemq (needs Maven and a Java {JAVA} development kit)"
        return Availability(able, LIBRARIES.version if fetched else None, how)

    def prepare(self) -> None:
        require_java(JAVA, self.name)
        if shutil.which("javac") is None:
            hint = "Debian: apt install openjdk-17-jdk-headless"
            raise RequirementError("hivemq: the Java compiler (javac) was not found on PATH", hint=hint)
        install_class_path(LIBRARIES)

    def configure(self) -> None:
        self._counter_port = free_ports(1)[0]
        folder = self.directory / "conf"
        folder.mkdir(exist_ok=True)
        text = CONFIGURATION.format(
            listeners="\n".join(self._listener(each) for each in self.request.listeners),
            persistence="file" if self.request.profile == "durable" else "in-memory",
            queue_size=self.option("max_queued_messages"),
        )
        (folder / "config.xml").write_text(text)

    def launch(self) -> None:
        heap, jars = self.option("heap"), install_class_path(LIBRARIES)
        java = [require_java(JAVA, self.name), *heap_flags(heap, self.directory), "-cp", f"{jars}/*", str(PROGRAM)]
        arguments = [str(self.directory / "conf"), str(self.data), LOOPBACK, str(self._counter_port)]
        process = self.spawn(
            ServerProcess(self.name, [*java, *arguments], self.directory / "hivemq.log", cpus=self.request.cpus)
        )
        for port in (*self._ports.values(), self._counter_port):
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)

    def counters(self) -> Mapping[str, float]:
        page = get_text(self._counter_port, "/")
        if not page:
            return {}
        values = totals(page)
        found = {name: values[metric] for name, metric in COUNTERS.items() if metric in values}
        return found | heap_in_use(self.directory)

    def _listener(self, listener: Listener) -> str:
        kind, keys = "tcp", ""
        if listener.security == "tls":
            made = self.certificates()
            make_java_stores(made)
            kind, keys = "tls-tcp", KEYS.format(path=escape(str(made.server_store)), password=STORE_PASSWORD)
        return LISTENER.format(kind=kind, port=self.port(listener.name), host=self.bind_address, tls=keys)
