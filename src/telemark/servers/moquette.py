"""Moquette, a server in Java, from Maven Central."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from telemark.host.cache import installed
from telemark.host.java import java_version, require_java
from telemark.host.ports import LOOPBACK
from telemark.model.plan import Profile
from telemark.servers.certificates import STORE_PASSWORD, make_java_stores
from telemark.servers.contract import Availability
from telemark.servers.java_heap import heap_flags, heap_in_use
from telemark.servers.local import LocalServer
from telemark.servers.options import HEAP, LOCAL, ServerOption
from telemark.servers.packages import ClassPath, install_class_path
from telemark.servers.process import ServerProcess

LIBRARIES = ClassPath(
    "moquette-0.17",
    ("io.moquette:moquette-broker:0.17",),
    "04ae13702cd2e17472c355c2b62bbd17cd9ade4faf10705441010a0834f93549",
)
JAVA = 11
LOGGING = """\
log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %-5p %m%n
"""

AUTOSAVE = ServerOption("autosave_interval", 1, "seconds between two saves")
QUEUE_SIZE = ServerOption("session_queue_size", 1_000_000, "messages kept for an absent device")


class Moquette(LocalServer):
    """One Java process with one plain and one TLS listener. It has no counters that can be read."""

    name = "moquette"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"mqtt-3.1.1", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "durable", "persistent"}
    )
    options: ClassVar[tuple[ServerOption, ...]] = (*LOCAL, HEAP, AUTOSAVE, QUEUE_SIZE)
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "persistence is off: nothing is written to disk",
        "durable": "an H2 database saved once a second; acknowledged does not mean on disk",
    }
    start_timeout_s = 60.0

    def availability(self) -> Availability:
        found = installed(LIBRARIES.name) is not None and (java_version() or 0) >= JAVA
        how = "telemark servers install moquette (needs Maven and Java)"
        return Availability(found, LIBRARIES.version if found else None, how)

    def prepare(self) -> None:
        require_java(JAVA, self.name)
        install_class_path(LIBRARIES)

    def configure(self) -> None:
        folder = self.directory / "config"
        folder.mkdir(exist_ok=True)
        plain = self.only_listener("none")
        settings = {
            "host": self.bind_address,
            "port": self.port(plain.name) if plain else "disabled",
            "websocket_port": "disabled",
            "allow_anonymous": "true",
            "telemetry_enabled": "false",  # it would report to its makers
            "persistence_enabled": str(self.request.profile == "durable").lower(),
            "data_path": f"{self.data}/",
            "autosave_interval": self.option("autosave_interval"),
            "session_queue_size": self.option("session_queue_size"),
            "netty.mqtt.message_size": 268_435_455,
            "buffer_flush_millis": 0,  # write at once
            **self._tls(),
        }
        text = "".join(f"{name} {value}\n" for name, value in settings.items())
        (folder / "moquette.conf").write_text(text)
        (folder / "log4j.properties").write_text(LOGGING)

    def launch(self) -> None:
        heap, jars = self.option("heap"), install_class_path(LIBRARIES)
        command = [
            require_java(JAVA, self.name),
            *heap_flags(heap, self.directory),
            f"-Dmoquette.path={self.directory}",
            f"-Dlog4j.configuration=file:{self.directory}/config/log4j.properties",
            "-cp",
            f"{jars}/*",
            "io.moquette.broker.Server",
        ]
        process = self.spawn(ServerProcess(self.name, command, self.directory / "moquette.log", cpus=self.request.cpus))
        for port in self._ports.values():
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)

    def counters(self) -> Mapping[str, float]:
        return heap_in_use(self.directory) if self.alive() else {}

    def _tls(self) -> dict[str, str | int]:
        secure = self.only_listener("tls")
        if secure is None:
            return {}
        made = self.certificates()
        make_java_stores(made)
        passwords = dict.fromkeys(("key_store_password", "key_manager_password"), STORE_PASSWORD)
        port = self.port(secure.name)
        return {"ssl_port": port, "jks_path": str(made.server_store), "key_store_type": "pkcs12", **passwords}
