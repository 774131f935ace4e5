"""Apache Artemis from its binary distribution in Maven Central, alone or as a replicated pair."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from telemark.errors import ServerError
from telemark.host.cache import installed
from telemark.host.java import java_version, require_java
from telemark.host.ports import LOOPBACK, free_ports
from telemark.model.plan import Profile
from telemark.servers import jolokia
from telemark.servers.artemis_config import Node, write_instance
from telemark.servers.certificates import STORE_PASSWORD, make_java_stores
from telemark.servers.contract import Availability, Listener
from telemark.servers.java_heap import heap_flags, heap_in_use
from telemark.servers.jms import JmsAccess
from telemark.servers.local import LocalServer
from telemark.servers.options import HEAP, LOCAL, MAX_QUEUED, ServerOption
from telemark.servers.packages import MavenArtifact, install_distribution
from telemark.servers.process import ServerProcess

DISTRIBUTION = MavenArtifact(
    "org.apache.artemis",
    "apache-artemis",
    "2.56.0",
    "tar.gz",
    "bin",
    "441ad38aa1b0526e5709edf43542039f016669d24134056613e4cbafdf6b101e5351f79f7ee190b43fc8031f6ec596a5fd075490dcee4d3eb3a88d8ed2cfc01b",
)
JAVA = 17
BEAN = 'org.apache.activemq.artemis:broker="telemark"'
ADDRESSES = 'org.apache.activemq.artemis:address=*,broker="telemark",component=addresses'
SERVER_COUNTS = (
    "ConnectionCount",
    "TotalConsumerCount",
    "TotalMessageCount",
    "TotalMessagesAcknowledged",
    "AddressCount",
    "QueueCount",
)
QUEUES = 'org.apache.activemq.artemis:broker="telemark",component=addresses,subcomponent=queues,*'
ADDRESS_COUNTS = ("RoutedMessageCount", "UnRoutedMessageCount", "MessageCount")
PAIR_NOTE = "the pair keeps its journal, for that is replicated; messages of QoS 0 and of clean sessions are not in it"
SYNC_NOTE = "journal (NIO) synchronised to disk before a message of a kept session is acknowledged"
IN_SYNC = "AMQ221024"  # the backup's log: it holds a copy of all the live server has

BUFFER_TIMEOUT = ServerOption("journal_buffer_timeout_ns", 3_333_333, "longest time a journal write waits for others")


class Artemis(LocalServer):
    """One Java process, or two with `ha`: a live server and the backup that replaces it on the same ports."""

    name = "artemis"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"mqtt-3.1.1", "mqtt-5", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "shared", "shared-3.1.1"}
        | {"durable", "persistent", "fsync", "jms", "jms-shared", "ha-pair"}
    )
    options: ClassVar[tuple[ServerOption, ...]] = (*LOCAL, HEAP, MAX_QUEUED, BUFFER_TIMEOUT)
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "persistence is off: nothing is written to disk",
        "durable": SYNC_NOTE,
        "fsync": SYNC_NOTE,
    }
    start_timeout_s = 90.0

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._nodes: list[Node] = []
        self._jms_port = 0
        self._queues = jolokia.Queues("/jolokia", QUEUES, ("MessageCount",), lambda bean: not _is_internal(bean))
        self._highest: dict[str, float] = {}  # of each count that must not fall; infinite once it has fallen

    def availability(self) -> Availability:
        found = installed(f"{DISTRIBUTION.artifact}-{DISTRIBUTION.version}") is not None
        return Availability(
            found and (java_version() or 0) >= JAVA,
            DISTRIBUTION.version if found else None,
            f"telemark servers install artemis (needs Maven and Java {JAVA} or later)",
        )

    def prepare(self) -> None:
        require_java(JAVA, self.name)
        install_distribution(DISTRIBUTION)

    def profile_note(self, profile: Profile) -> str:
        if profile == "memory" and self._request is not None and self.request.ha:
            return PAIR_NOTE
        return super().profile_note(profile)

    def configure(self) -> None:
        self._jms_port = free_ports(1)[0]
        self._nodes = self._plan_nodes()
        acceptors = [(each.name, self._mqtt_uri(each)) for each in self.request.listeners]
        if self.request.awaits("jms"):
            options = ["protocols=CORE", *(self._tls_options() if self.request.consumer_tls else ())]
            acceptors.append(("jms", f"tcp://{self.bind_address}:{self._jms_port}?{';'.join(options)}"))
        for node in self._nodes:
            write_instance(
                node,
                persistent=self.request.profile != "memory" or self.request.ha,
                buffer_timeout_ns=int(self.option("journal_buffer_timeout_ns")),  # Artemis' own default
                ring_size=int(self.option("max_queued_messages")) or -1,
                acceptors=acceptors,
            )
            _add_jolokia(node)

    def launch(self) -> None:
        self._highest.clear()
        live, *backups = self._nodes
        process = self._spawn(live)
        for port in self._ports.values():
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)
        process.wait_until(lambda: bool(self._server_values()), 30, "an answer of Jolokia")
        for backup in backups:
            log = backup.folder / "artemis.log"
            seen = log.read_text().count(IN_SYNC) if log.exists() else 0
            self._spawn(backup).wait_until(
                lambda log=log, seen=seen: log.exists() and log.read_text().count(IN_SYNC) > seen,  # type: ignore[misc]
                self.start_timeout_s,
                "replication in sync",
            )

    def alive(self) -> bool:
        """A pair lives as long as one of the two does."""
        return any(process.alive() for process in self._processes)

    def fail_over(self, timeout_s: float = 60.0) -> float:
        """Kill the live server and return the seconds until the backup accepts connections on every listener."""
        if len(self._processes) != 2:
            raise ServerError("artemis: a fail-over needs a pair (ha), one process runs")
        started = time.monotonic()
        self._processes[0].kill()
        for port in self._ports.values():
            self._processes[1].wait_for_port(LOOPBACK, port, timeout_s)
        return time.monotonic() - started

    def counters(self) -> Mapping[str, float]:
        values = self._server_values()
        found = {
            "connections": values.get("ConnectionCount"),
            "subscriptions": values.get("TotalConsumerCount"),
            # Counted by queue and forgotten with the queue: worth nothing once there is one queue less.
            "messages_out": None if self._has_fallen(values, "QueueCount") else values.get("TotalMessagesAcknowledged"),
        }
        if 0 < values.get("AddressCount", 0) <= jolokia.MOST_BEANS:
            found |= self._message_counts(values.get("TotalMessageCount"))
        if "QueueCount" in values:  # there is one for each subscription, however many addresses there are
            found |= self._queues.counters(self._management_port(), values["QueueCount"])
        counters = {name: float(value) for name, value in found.items() if value is not None}
        totals = [name for name in counters if name.startswith("messages_")]
        fallen = {name for name in totals if self._has_fallen(counters, name)}
        heap = next((heap_in_use(node.folder) for node in self._active()), {})
        return heap | {name: value for name, value in counters.items() if name not in fallen}

    def _has_fallen(self, counts: Mapping[str, float], name: str) -> bool:
        """Whether a count that should only rise was ever lower than before."""
        highest = self._highest.get(name, 0.0)
        value = counts.get(name, highest)
        self._highest[name] = math.inf if value < highest else value
        return math.isinf(self._highest[name])

    def _message_counts(self, stored: float | None) -> dict[str, float]:
        """Messages in and waiting, over the addresses devices publish to; Artemis keeps its own state in others."""
        every = jolokia.read(self._management_port(), "/jolokia", ADDRESSES, list(ADDRESS_COUNTS))
        devices = [values for bean, values in every.items() if not _is_internal(bean)]
        own = sum(values.get("MessageCount", 0) for bean, values in every.items() if _is_internal(bean))
        if not every:
            return {}
        incoming = sum(each.get(name, 0) for each in devices for name in ADDRESS_COUNTS[:2])
        return {"messages_in": incoming} | ({} if stored is None else {"buffered_messages": stored - own})

    def access(self, kind: str) -> JmsAccess | None:
        if kind != "jms" or not self.request.awaits(kind):
            return None
        return JmsAccess("artemis", f"tcp://{self.request.address}:{self._jms_port}", tls=self.consumer_tls())

    def _server_values(self) -> dict[str, float]:
        return jolokia.read(self._management_port(), "/jolokia", BEAN, SERVER_COUNTS)

    def _management_port(self) -> int:
        """Of the first process that runs: the live server, or the backup that took over."""
        return next((each.management_port for each in self._active()), 0)

    def _active(self) -> Sequence[Node]:
        """Nodes whose process runs, the live one first."""
        return [node for node, process in zip(self._nodes, self._processes, strict=False) if process.alive()]

    def _plan_nodes(self) -> list[Node]:
        if not self.request.ha:
            return [Node("single", self.directory / "artemis", self.data, free_ports(1)[0])]
        first, second, live_cluster, backup_cluster = free_ports(4)
        return [
            Node("live", self.directory / "live", self.data / "live", first, live_cluster, backup_cluster),
            Node("backup", self.directory / "backup", self.data / "backup", second, backup_cluster, live_cluster),
        ]

    def _spawn(self, node: Node) -> ServerProcess:
        label = self.name if node.role == "single" else f"{self.name} {node.role}"
        log = node.folder / "artemis.log"
        return self.spawn(ServerProcess(label, self._command(node), log, cpus=self.request.cpus))

    def _command(self, node: Node) -> list[str]:
        home, heap = install_distribution(DISTRIBUTION), self.option("heap")
        temporary = node.data / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        properties = {
            "artemis.home": home,
            "artemis.instance": node.folder,
            "artemis.instance.etc": node.folder / "etc",
            "data.dir": node.data,
            "java.io.tmpdir": temporary,
            "java.awt.headless": "true",
            "log4j2.disableJmx": "true",
            "log4j2.configurationFile": f"file:{node.folder / 'etc' / 'log4j2.properties'}",
        }
        definitions = [f"-D{name}={value}" for name, value in properties.items()]
        opened = ["--add-opens", "java.base/jdk.internal.misc=ALL-UNNAMED", "-XX:+UseG1GC"]
        start = ["-cp", str(home / "lib" / "artemis-boot.jar"), "org.apache.activemq.artemis.boot.Artemis", "run"]
        return [require_java(JAVA, self.name), *heap_flags(heap, node.folder), *opened, *definitions, *start]

    def _mqtt_uri(self, listener: Listener) -> str:
        size = listener.socket_buffer or 1_048_576  # what `artemis create` writes
        options = ["protocols=MQTT", "useEpoll=true", f"tcpSendBufferSize={size}", f"tcpReceiveBufferSize={size}"]
        if listener.security == "tls":
            options += self._tls_options()
        return f"tcp://{self.bind_address}:{self.port(listener.name)}?{';'.join(options)}"

    def _tls_options(self) -> list[str]:
        made, clients = self.certificates(), int(self.option("client_certificates"))
        make_java_stores(made, trust=bool(clients))
        keys = ["sslEnabled=true", f"keyStorePath={made.server_store}", f"keyStorePassword={STORE_PASSWORD}"]
        keys.append("keyStoreType=PKCS12")
        if clients:
            keys += [
                "needClientAuth=true",
                f"trustStorePath={made.trust_store}",
                f"trustStorePassword={STORE_PASSWORD}",
            ]
        return keys


def _add_jolokia(node: Node) -> None:
    """Copy Jolokia's libraries out of the distribution's web console."""
    target = node.folder / "web" / "jolokia.war" / "WEB-INF" / "lib"
    target.mkdir(exist_ok=True)
    source = install_distribution(DISTRIBUTION) / "web" / "console.war" / "WEB-INF" / "lib"
    for library in source.glob("jolokia-*.jar"):
        if not library.name.startswith("jolokia-integration"):
            shutil.copy(library, target)


def _is_internal(bean: str) -> bool:
    return 'address="$sys' in bean or 'address="activemq.' in bean
