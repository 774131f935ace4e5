"""Apache ActiveMQ Classic from its parts in Maven Central, where later binary distributions are not published.

Of the distribution's web applications only Jolokia is there: the console would add to the memory that is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from xml.sax.saxutils import quoteattr

from telemark.host.cache import installed
from telemark.host.java import java_version, require_java
from telemark.host.ports import LOOPBACK, free_ports
from telemark.model.plan import Profile
from telemark.servers import jolokia
from telemark.servers.certificates import STORE_PASSWORD, make_java_stores
from telemark.servers.contract import Availability, Listener
from telemark.servers.java_heap import heap_flags, heap_in_use
from telemark.servers.jms import JmsAccess
from telemark.servers.local import LocalServer
from telemark.servers.options import HEAP, LOCAL, MAX_QUEUED, ServerOption
from telemark.servers.packages import ClassPath, install_class_path
from telemark.servers.process import ServerProcess

VERSION, JOLOKIA = "6.3.1", "2.6.0"
PARTS = ("broker", "mqtt", "kahadb-store", "spring", "console")
LIBRARIES = ClassPath(
    f"activemq-{VERSION}",
    (
        *(f"org.apache.activemq:activemq-{part}:{VERSION}" for part in PARTS),
        "org.springframework:spring-context:7.0.8",
        "org.apache.logging.log4j:log4j-slf4j2-impl:2.26.1",
        f"org.jolokia:jolokia-agent-jvm:{JOLOKIA}:javaagent",
    ),
    "aff53a9b68055f7f3cc193362c961125b6f2f7de20e531d5821f59f89210b1b5",
)
JAVA = 17
BEAN = "org.apache.activemq:type=Broker,brokerName=telemark"
COUNTERS = {
    "messages_in": "TotalEnqueueCount",
    "messages_out": "TotalDequeueCount",
    "connections": "CurrentConnectionsCount",
    "subscriptions": "TotalConsumerCount",
}
SUBSCRIPTIONS = f"{BEAN},endpoint=Consumer,*"
WAITING = ("PendingQueueSize", "DispatchedQueueSize")
MAX_FRAME = 104_857_600  # bytes: the distribution's own setting
SYNC_NOTE = "KahaDB journal, synchronised to disk before a message of a kept session is acknowledged"

# Jolokia may only look.
POLICY = "<restrict><commands><command>read</command><command>search</command></commands></restrict>\n"

CONFIGURATION = """\
<beans xmlns="http://www.springframework.org/schema/beans" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
       xsi:schemaLocation="http://www.springframework.org/schema/beans http://www.springframework.org/schema/beans/spring-beans.xsd
                           http://activemq.apache.org/schema/core http://activemq.apache.org/schema/core/activemq-core.xsd">
  <broker xmlns="http://activemq.apache.org/schema/core" brokerName="telemark" dataDirectory={data}
          persistent="{persistent}" advisorySupport="false" useShutdownHook="true">
    <managementContext><managementContext createConnector="false"/></managementContext>
    {limit}
    {store}
    {tls}
    <systemUsage>
      <systemUsage>
        <memoryUsage><memoryUsage percentOfJvmHeap="70"/></memoryUsage>
        <storeUsage><storeUsage limit="20 gb"/></storeUsage>
        <tempUsage><tempUsage limit="5 gb"/></tempUsage>
      </systemUsage>
    </systemUsage>
    <transportConnectors>
{connectors}
    </transportConnectors>
  </broker>
</beans>
"""

LOGGING = """\
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
logger.mqtt.name = org.apache.activemq.transport.mqtt
logger.mqtt.level = WARN
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %-5level %msg%n%throwable{3}
"""

BLOCKING = ServerOption(
    "blocking_listeners",
    "",
    "comma list of listeners served by one thread per connection (`mqtt`, not `mqtt+nio`)",
)


class ActiveMq(LocalServer):
    """One Java process: MQTT over NIO, OpenWire for JMS consumers, Jolokia for the counters."""

    name = "activemq"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"mqtt-3.1.1", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "durable", "persistent", "fsync", "jms"}
    )
    options: ClassVar[tuple[ServerOption, ...]] = (*LOCAL, HEAP, MAX_QUEUED, BLOCKING)
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "persistence is off: nothing is written to disk",
        "durable": SYNC_NOTE,
        "fsync": SYNC_NOTE,
    }
    start_timeout_s = 90.0

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._management_port = self._openwire_port = 0
        self._queues = jolokia.Queues("/jolokia", SUBSCRIPTIONS, WAITING, lambda bean: True)

    def availability(self) -> Availability:
        found = installed(LIBRARIES.name) is not None
        return Availability(
            found and (java_version() or 0) >= JAVA,
            VERSION if found else None,
            f"telemark servers install activemq (needs Maven and Java {JAVA} or later)",
        )

    def prepare(self) -> None:
        require_java(JAVA, self.name)
        install_class_path(LIBRARIES)

    def configure(self) -> None:
        self._management_port, self._openwire_port = free_ports(2)
        folder = self.directory / "conf"
        folder.mkdir(exist_ok=True)
        durable = self.request.profile != "memory"
        text = CONFIGURATION.format(
            data=quoteattr(str(self.data)),
            persistent=str(durable).lower(),
            limit=self._limit(),
            store=self._store() if durable else "",
            tls=self._tls(),
            connectors=self._connectors(),
        )
        (folder / "activemq.xml").write_text(text)
        (folder / "jolokia-access.xml").write_text(POLICY)
        (folder / "log4j2.properties").write_text(LOGGING)

    def launch(self) -> None:
        process = self.spawn(
            ServerProcess(self.name, self._command(), self.directory / "activemq.log", cpus=self.request.cpus)
        )
        for port in (*self._ports.values(), self._management_port):
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)
        process.wait_until(lambda: bool(self.counters()), 30, "an answer of Jolokia")

    def counters(self) -> Mapping[str, float]:
        values = jolokia.read(self._management_port, "/jolokia", BEAN, list(COUNTERS.values()))
        found = {name: float(values[attribute]) for name, attribute in COUNTERS.items() if attribute in values}
        if "subscriptions" in found:
            found |= self._queues.counters(self._management_port, found["subscriptions"])
        return found | heap_in_use(self.directory) if found else {}

    def access(self, kind: str) -> JmsAccess | None:
        if kind != "jms" or not self.request.awaits(kind):
            return None
        # There are no advisory messages: they would be counted among the devices' messages.
        tls = self.consumer_tls()
        server = f"{'ssl' if tls else 'tcp'}://{self.request.address}:{self._openwire_port}"
        return JmsAccess("activemq", f"{server}?jms.watchTopicAdvisories=false", tls=tls)

    def _command(self) -> list[str]:
        jars = install_class_path(LIBRARIES)
        conf, heap = self.directory / "conf", self.option("heap")
        temporary = self.data / "tmp"
        temporary.mkdir(exist_ok=True)
        properties = {
            "activemq.home": self.directory,
            "activemq.base": self.directory,
            "activemq.conf": conf,
            "activemq.data": self.data,
            "log4j2.configurationFile": conf / "log4j2.properties",
            "java.io.tmpdir": temporary,
            "java.awt.headless": "true",
        }
        definitions = [f"-D{name}={value}" for name, value in properties.items()]
        policy = f"policyLocation=file:{conf}/jolokia-access.xml"
        agent = f"-javaagent:{jars}/jolokia-agent-jvm-{JOLOKIA}-javaagent.jar"
        definitions.append(f"{agent}=host={LOOPBACK},port={self._management_port},{policy}")
        start = ["-cp", f"{jars}/*", "org.apache.activemq.console.Main", "start", f"xbean:file:{conf}/activemq.xml"]
        return [require_java(JAVA, self.name), *heap_flags(heap, self.directory), *definitions, *start]

    def _limit(self) -> str:
        """Messages that wait for a clean session before the oldest is dropped; other sessions know no such limit."""
        most = int(self.option("max_queued_messages"))
        if not most:
            return ""
        strategy = f'<constantPendingMessageLimitStrategy limit="{most}"/>'
        entry = f"<pendingMessageLimitStrategy>{strategy}</pendingMessageLimitStrategy>"
        entries = f'<policyEntries><policyEntry topic="&gt;">{entry}</policyEntry></policyEntries>'
        return f"<destinationPolicy><policyMap>{entries}</policyMap></destinationPolicy>"

    def _store(self) -> str:
        folder = quoteattr(str(self.data / "kahadb"))
        return f'<persistenceAdapter><kahaDB directory={folder} journalDiskSyncStrategy="always"/></persistenceAdapter>'

    def _tls(self) -> str:
        if not self.request.consumer_tls and not any(each.security == "tls" for each in self.request.listeners):
            return ""
        made, clients = self.certificates(), int(self.option("client_certificates"))
        make_java_stores(made, trust=bool(clients))
        trust = f" trustStore={quoteattr(f'file:{made.trust_store}')} trustStorePassword={quoteattr(STORE_PASSWORD)}"
        keys = f"keyStore={quoteattr(f'file:{made.server_store}')} keyStorePassword={quoteattr(STORE_PASSWORD)}"
        return f'<sslContext><sslContext {keys} keyStoreType="PKCS12"{trust if clients else ""}/></sslContext>'

    def _connectors(self) -> str:
        lines = [_connector(each.name, self._mqtt_uri(each)) for each in self.request.listeners]
        if self.request.awaits("jms"):
            scheme = "nio+ssl" if self.request.consumer_tls else "nio"
            lines.append(_connector("openwire", f"{scheme}://{self.bind_address}:{self._openwire_port}"))
        return "\n".join(lines)

    def _mqtt_uri(self, listener: Listener) -> str:
        blocking = listener.name in str(self.option("blocking_listeners")).split(",")
        scheme = ("mqtt" if blocking else "mqtt+nio") + ("+ssl" if listener.security == "tls" else "")
        options = [
            f"maximumConnections={self.request.devices + 100}",
            f"wireFormat.maxFrameSize={MAX_FRAME}",
            "transport.tcpNoDelay=true",
        ]
        if listener.security == "tls" and int(self.option("client_certificates")):
            options.append("needClientAuth=true")
        if listener.socket_buffer:
            options.append(f"socketBufferSize={listener.socket_buffer}")
        return f"{scheme}://{self.bind_address}:{self.port(listener.name)}?{'&'.join(options)}"


def _connector(name: str, uri: str) -> str:
    return f"      <transportConnector name={quoteattr(name)} uri={quoteattr(uri)}/>"
