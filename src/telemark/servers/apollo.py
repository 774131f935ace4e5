"""Apache Apollo 1.7.1, the last release (2015), from its parts in Maven Central.

The binary distribution is not published there. The parts need a log4j and, since Java 11, JAXB beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from xml.sax.saxutils import escape, quoteattr

from telemark.errors import ServerError
from telemark.host.cache import installed
from telemark.host.java import java_version, require_java
from telemark.host.ports import LOOPBACK
from telemark.model.plan import Profile
from telemark.servers.certificates import STORE_PASSWORD, make_java_stores
from telemark.servers.contract import Availability, Listener
from telemark.servers.java_heap import heap_flags, heap_in_use
from telemark.servers.local import LocalServer
from telemark.servers.options import HEAP, LOCAL, ServerOption
from telemark.servers.packages import ClassPath, install_class_path
from telemark.servers.process import ServerProcess
from telemark.servers.tiny_client import check_login

LIBRARIES = ClassPath(
    "apollo-1.7.1",
    (
        "org.apache.activemq:apollo-cli:1.7.1",
        "org.apache.activemq:apollo-mqtt:1.7.1",
        "org.apache.activemq:apollo-leveldb:1.7.1",
        "org.slf4j:slf4j-reload4j:1.7.36",
        "com.sun.xml.bind:jaxb-impl:2.3.9",
    ),
    "87f9dc3985bb06914be37b15d3c51cf1906d479640001b14c4c0eadaa885eed3",
)
JAVA = 11
NO_SYNC = (
    "apollo has no fsync profile: it delivers a message before it is saved, and that it synchronises before the "
    "acknowledgement has not been shown; --profile durable runs it as ScalAgent did"
)
CONFIGURATION = """\
<broker xmlns="http://activemq.apache.org/schema/activemq/apollo">
  <virtual_host id="telemark">
    <host_name>localhost</host_name>
    <host_name>{host}</host_name>
    {store}
  </virtual_host>
{connectors}
  {keys}
</broker>
"""
LOGGING = """\
log4j.rootLogger=WARN, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %-5p %m%n
"""


class Apollo(LocalServer):
    """One Java process. It delivers to clean sessions with QoS 0, whatever was granted (docs/servers.md).

    Its counters are behind its web console, which is not fetched: only its heap is known.
    """

    name = "apollo"
    offers: ClassVar[frozenset[str]] = frozenset({"mqtt-3.1.1", "qos-1", "qos-2", "tls-1.2", "durable", "persistent"})
    options: ClassVar[tuple[ServerOption, ...]] = (*LOCAL, HEAP)
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "no store: nothing is written to disk",
        "durable": "LevelDB store as Apollo configures it; "
        "whether it is synchronised before the acknowledgement was not tried, so fsync is not claimed",
    }
    start_timeout_s = 60.0

    def availability(self) -> Availability:
        found = installed(LIBRARIES.name) is not None and (java_version() or 0) >= JAVA
        how = "telemark servers install apollo (needs Maven and Java)"
        return Availability(found, LIBRARIES.version if found else None, how)

    def profile_note(self, profile: Profile) -> str:
        if profile == "fsync":
            return NO_SYNC
        return super().profile_note(profile)

    def prepare(self) -> None:
        require_java(JAVA, self.name)
        install_class_path(LIBRARIES)

    def configure(self) -> None:
        folder = self.directory / "etc"
        folder.mkdir(exist_ok=True)
        durable = self.request.profile != "memory"
        text = CONFIGURATION.format(
            host=LOOPBACK,
            store=f"<leveldb_store directory={quoteattr(str(self.data / 'store'))}/>" if durable else "<null_store/>",
            connectors="\n".join(self._connector(each) for each in self.request.listeners),
            keys=self._keys(),
        )
        (folder / "apollo.xml").write_text(text)
        (folder / "log4j.properties").write_text(LOGGING)

    def launch(self) -> None:
        heap, jars = self.option("heap"), install_class_path(LIBRARIES)
        (self.data / "tmp").mkdir(exist_ok=True)
        properties = {"apollo.home": self.directory, "apollo.base": self.directory, "java.io.tmpdir": self.data / "tmp"}
        command = [
            require_java(JAVA, self.name),
            *heap_flags(heap, self.directory),
            *(f"-D{name}={value}" for name, value in properties.items()),
            "-cp",
            f"{jars}/*",
            "org.apache.activemq.apollo.cli.Apollo",
            "run",
        ]
        process = self.spawn(ServerProcess(self.name, command, self.directory / "apollo.log", cpus=self.request.cpus))
        for port in self._ports.values():
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)
        process.wait_until(self._lets_devices_in, self.start_timeout_s, "a login that succeeds")

    def _lets_devices_in(self) -> bool:
        """It listens while it still reads its store, and refuses everybody until it is done."""
        try:
            check_login(next(iter(self.endpoints().values())))
        except ServerError:
            return False
        return True

    def counters(self) -> Mapping[str, float]:
        return heap_in_use(self.directory) if self.alive() else {}

    def _connector(self, listener: Listener) -> str:
        kind = "ssl" if listener.security == "tls" else "tcp"
        attributes = {
            "id": listener.name,
            "bind": f"{kind}://{self.bind_address}:{self.port(listener.name)}",
            "protocol": "mqtt",
            "connection_limit": self.request.devices + 100,
            **_buffers(listener.socket_buffer),
        }
        return f"  <connector {' '.join(f'{name}={quoteattr(str(value))}' for name, value in attributes.items())}/>"

    def _keys(self) -> str:
        if not any(each.security == "tls" for each in self.request.listeners):
            return ""
        made = self.certificates()
        make_java_stores(made)
        path, password = escape(str(made.server_store)), STORE_PASSWORD
        return f'<key_storage file="{path}" password="{password}" key_password="{password}" store_type="PKCS12"/>'


def _buffers(size: int | None) -> dict[str, str | int]:
    """Attributes that fix a connector's socket buffers; Apollo would otherwise adapt them to the traffic."""
    if size is None:
        return {}
    sides = ("receive", "send")
    fixed: dict[str, str | int] = {f"{side}_buffer_size": size for side in sides}
    return fixed | {f"{side}_buffer_auto_tune": "false" for side in sides}
