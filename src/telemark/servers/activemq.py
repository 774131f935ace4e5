"""Apache ActiveMQ Classic from its binary distribution in Maven Central."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from xml.sax.saxutils import quoteattr

from telemark.model.plan import Profile
from telemark.servers import jolokia
from telemark.servers.cache import MavenArtifact, install_distribution, installed
from telemark.servers.certificates import STORE_PASSWORD, make_java_stores
from telemark.servers.contract import Availability, JmsAccess, Listener
from telemark.servers.java import java_version, require_java
from telemark.servers.local import LocalServer
from telemark.servers.ports import LOOPBACK, free_ports
from telemark.servers.process import ServerProcess

DISTRIBUTION = MavenArtifact(
    "org.apache.activemq",
    "apache-activemq",
    "5.18.3",
    "tar.gz",
    "bin",
    "61abc4a08b9e1db6a5b1062bb1c839171e93bcb571817fd81744dd19874d713840bba99c7979d45bcb832d13ea01986b76fb11720f5ec63a0283e7d1934a33cc",
)
JAVA = 11
BEAN = "org.apache.activemq:type=Broker,brokerName=telemark"
COUNTERS = {
    "messages_in": "TotalEnqueueCount",
    "messages_out": "TotalDequeueCount",
    "connections": "CurrentConnectionsCount",
    "subscriptions": "TotalConsumerCount",
    "buffered_messages": "TotalMessageCount",
}
SYNC_NOTE = "KahaDB journal, synchronised to disk before a message of a kept session is acknowledged"

# Only Jolokia is served: the web console of the distribution would add to the memory that is measured.
MANAGEMENT = """\
<beans xmlns="http://www.springframework.org/schema/beans" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
       xsi:schemaLocation="http://www.springframework.org/schema/beans http://www.springframework.org/schema/beans/spring-beans.xsd">
  <bean id="managementServer" class="org.eclipse.jetty.server.Server" init-method="start" destroy-method="stop">
    <constructor-arg>
      <bean class="java.net.InetSocketAddress">
        <constructor-arg index="0" type="java.lang.String" value="{host}"/>
        <constructor-arg index="1" type="int" value="{port}"/>
      </bean>
    </constructor-arg>
    <property name="handler">
      <bean class="org.eclipse.jetty.webapp.WebAppContext">
        <property name="contextPath" value="/api"/>
        <property name="resourceBase" value="${{activemq.home}}/webapps/api"/>
      </bean>
    </property>
  </bean>
</beans>
"""

CONFIGURATION = """\
<beans xmlns="http://www.springframework.org/schema/beans" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
       xsi:schemaLocation="http://www.springframework.org/schema/beans http://www.springframework.org/schema/beans/spring-beans.xsd
                           http://activemq.apache.org/schema/core http://activemq.apache.org/schema/core/activemq-core.xsd">
  <bean class="org.springframework.beans.factory.config.PropertyPlaceholderConfigurer"/>
  <broker xmlns="http://activemq.apache.org/schema/core" brokerName="telemark" dataDirectory={data}
          persistent="{persistent}" advisorySupport="false" useShutdownHook="true">
    <managementContext><managementContext createConnector="false"/></managementContext>
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
  <import resource="management.xml"/>
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


class ActiveMq(LocalServer):
    """One Java process: MQTT over NIO, OpenWire for JMS consumers, Jolokia for the counters."""

    name = "activemq"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"mqtt-3.1.1", "qos-1", "qos-2", "tls-1.2", "tls-1.3", "durable", "persistent", "fsync", "jms"}
    )
    profiles: ClassVar[Mapping[Profile, str]] = {
        "memory": "persistence is off: nothing is written to disk",
        "durable": SYNC_NOTE,
        "fsync": SYNC_NOTE,
    }
    start_timeout_s = 90.0

    def __init__(self, options: Mapping[str, str | int | float | bool] | None = None) -> None:
        super().__init__(options)
        self._management_port = self._openwire_port = 0

    def availability(self) -> Availability:
        found = installed(f"{DISTRIBUTION.artifact}-{DISTRIBUTION.version}") is not None
        return Availability(
            found and (java_version() or 0) >= JAVA,
            DISTRIBUTION.version if found else None,
            f"telemark servers install activemq (needs Maven and Java {JAVA} or later)",
        )

    def prepare(self) -> None:
        require_java(JAVA, self.name)
        install_distribution(DISTRIBUTION)

    def configure(self) -> None:
        self._management_port, self._openwire_port = free_ports(2)
        folder = self.directory / "conf"
        folder.mkdir(exist_ok=True)
        durable = self.request.profile != "memory"
        text = CONFIGURATION.format(
            data=quoteattr(str(self.data)),
            persistent=str(durable).lower(),
            store=self._store() if durable else "",
            tls=self._tls(),
            connectors=self._connectors(),
        )
        (folder / "activemq.xml").write_text(text)
        (folder / "management.xml").write_text(MANAGEMENT.format(host=LOOPBACK, port=self._management_port))
        (folder / "log4j2.properties").write_text(LOGGING)

    def launch(self) -> None:
        process = self.spawn(
            ServerProcess(self.name, self._command(), self.directory / "activemq.log", cpus=self.request.cpus)
        )
        for port in (*self._ports.values(), self._management_port):
            process.wait_for_port(LOOPBACK, port, self.start_timeout_s)
        process.wait_until(lambda: bool(self.counters()), 30, "an answer of Jolokia")

    def counters(self) -> Mapping[str, float]:
        values = jolokia.read(self._management_port, "/api/jolokia", BEAN, list(COUNTERS.values()))
        return {name: float(values[attribute]) for name, attribute in COUNTERS.items() if attribute in values}

    def jms(self) -> JmsAccess | None:
        if not self.request.jms:
            return None
        # There are no advisory messages: they would be counted among the devices' messages.
        tls = self.jms_tls()
        server = f"{'ssl' if tls else 'tcp'}://{LOOPBACK}:{self._openwire_port}"
        return JmsAccess("activemq", f"{server}?jms.watchTopicAdvisories=false", tls=tls)

    def _command(self) -> list[str]:
        home = install_distribution(DISTRIBUTION)
        conf, heap = self.directory / "conf", self.option("heap", "1g")
        temporary = self.data / "tmp"
        temporary.mkdir(exist_ok=True)
        properties = {
            "activemq.home": home,
            "activemq.base": self.directory,
            "activemq.conf": conf,
            "activemq.data": self.data,
            "jolokia.conf": f"file:{home}/conf/jolokia-access.xml",  # read only, as distributed
            "java.io.tmpdir": temporary,
            "java.awt.headless": "true",
        }
        definitions = [f"-D{name}={value}" for name, value in properties.items()]
        jar = ["-jar", str(home / "bin" / "activemq.jar"), "start", f"xbean:file:{conf}/activemq.xml"]
        return [require_java(JAVA, self.name), f"-Xms{heap}", f"-Xmx{heap}", *definitions, *jar]

    def _store(self) -> str:
        folder = quoteattr(str(self.data / "kahadb"))
        return f'<persistenceAdapter><kahaDB directory={folder} journalDiskSyncStrategy="always"/></persistenceAdapter>'

    def _tls(self) -> str:
        if not self.request.jms_tls and not any(each.security == "tls" for each in self.request.listeners):
            return ""
        made, clients = self.certificates(), int(self.option("client_certificates", 0))
        make_java_stores(made, trust=bool(clients))
        trust = f" trustStore={quoteattr(f'file:{made.trust_store}')} trustStorePassword={quoteattr(STORE_PASSWORD)}"
        keys = f"keyStore={quoteattr(f'file:{made.server_store}')} keyStorePassword={quoteattr(STORE_PASSWORD)}"
        return f'<sslContext><sslContext {keys} keyStoreType="PKCS12"{trust if clients else ""}/></sslContext>'

    def _connectors(self) -> str:
        lines = [_connector(each.name, self._mqtt_uri(each)) for each in self.request.listeners]
        if self.request.jms:
            scheme = "nio+ssl" if self.request.jms_tls else "nio"
            lines.append(_connector("openwire", f"{scheme}://{LOOPBACK}:{self._openwire_port}"))
        return "\n".join(lines)

    def _mqtt_uri(self, listener: Listener) -> str:
        scheme = "mqtt+nio+ssl" if listener.security == "tls" else "mqtt+nio"
        options = [f"maximumConnections={self.request.devices + 100}", "transport.tcpNoDelay=true"]
        if listener.security == "tls" and int(self.option("client_certificates", 0)):
            options.append("needClientAuth=true")
        if listener.socket_buffer:
            options.append(f"transport.socketBufferSize={listener.socket_buffer}")
        return f"{scheme}://{LOOPBACK}:{self.port(listener.name)}?{'&'.join(options)}"


def _connector(name: str, uri: str) -> str:
    return f"      <transportConnector name={quoteattr(name)} uri={quoteattr(uri)}/>"
