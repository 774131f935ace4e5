"""The configuration files of one Apache Artemis instance, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from telemark.host.ports import LOOPBACK

BROKER = """\
<configuration xmlns="urn:activemq">
  <core xmlns="urn:activemq:core">
    <name>{name}</name>
    <persistence-enabled>{persistent}</persistence-enabled>
    <security-enabled>false</security-enabled>
    <journal-type>NIO</journal-type>
    <journal-datasync>true</journal-datasync>
    <journal-min-files>2</journal-min-files>
    <journal-pool-files>10</journal-pool-files>
    <journal-file-size>10M</journal-file-size>
    <journal-buffer-timeout>{buffer_timeout_ns}</journal-buffer-timeout>
    <paging-directory>{data}/paging</paging-directory>
    <bindings-directory>{data}/bindings</bindings-directory>
    <journal-directory>{data}/journal</journal-directory>
    <large-messages-directory>{data}/large-messages</large-messages-directory>
    <max-disk-usage>98</max-disk-usage>
{cluster}    <acceptors>
{acceptors}
    </acceptors>
    <address-settings>
      <address-setting match="#">
        <address-full-policy>PAGE</address-full-policy>
        <auto-create-queues>true</auto-create-queues>
        <auto-create-addresses>true</auto-create-addresses>
        <auto-delete-addresses>false</auto-delete-addresses>
        <max-size-bytes>-1</max-size-bytes>
        <default-ring-size>{ring_size}</default-ring-size>
        <redistribution-delay>0</redistribution-delay>
      </address-setting>
    </address-settings>
  </core>
</configuration>
"""

# MQTT and JMS acceptors of live and backup are the same: only the active one of the two opens them.
CLUSTER = """\
    <cluster-user>telemark</cluster-user>
    <cluster-password>telemark</cluster-password>
    <connectors>
      <connector name="self">tcp://{host}:{own}</connector>
      <connector name="other">tcp://{host}:{other}</connector>
    </connectors>
    <ha-policy>
      <replication>
        {role}
      </replication>
    </ha-policy>
    <cluster-connections>
      <cluster-connection name="pair">
        <connector-ref>self</connector-ref>
        <static-connectors><connector-ref>other</connector-ref></static-connectors>
      </cluster-connection>
    </cluster-connections>
"""
ROLES = {
    "live": "<primary><check-for-active-server>true</check-for-active-server></primary>",
    "backup": "<backup><allow-failback>false</allow-failback></backup>",
}

BOOTSTRAP = """\
<broker xmlns="http://activemq.apache.org/schema">
  <jaas-security domain="activemq"/>
  <server configuration="file:{etc}/broker.xml"/>
  <web path="{web}">
    <binding name="management" uri="http://{host}:{port}">
      <app name="jolokia" url="jolokia" war="jolokia.war"/>
    </binding>
  </web>
</broker>
"""

# Jolokia alone, read only: the web console of the distribution would add to the memory that is measured.
WEB_XML = """\
<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="5.0">
  <servlet>
    <servlet-name>jolokia</servlet-name>
    <servlet-class>org.jolokia.server.core.http.AgentServlet</servlet-class>
    <init-param><param-name>policyLocation</param-name><param-value>file:{policy}</param-value></init-param>
    <load-on-startup>1</load-on-startup>
  </servlet>
  <servlet-mapping><servlet-name>jolokia</servlet-name><url-pattern>/*</url-pattern></servlet-mapping>
</web-app>
"""
POLICY = """\
<restrict>
  <commands><command>read</command><command>search</command><command>version</command></commands>
</restrict>
"""

LOGGING = """\
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
logger.jetty.name = org.eclipse.jetty
logger.jetty.level = WARN
logger.audit.name = org.apache.activemq.audit
logger.audit.level = OFF
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %-5level %msg%n%throwable{3}
"""


@dataclass(frozen=True, slots=True)
class Node:
    """One process: a single server, or one of a pair."""

    role: str  # single, live, backup
    folder: Path
    data: Path
    management_port: int
    cluster_port: int = 0
    other_port: int = 0  # the partner's cluster port


def write_instance(
    node: Node, *, persistent: bool, buffer_timeout_ns: int, ring_size: int, acceptors: Sequence[tuple[str, str]]
) -> None:
    """Write broker.xml, bootstrap.xml and what belongs to them into the node's `etc` folder.

    Args:
        node: where it goes.
        persistent: whether there is a journal.
        buffer_timeout_ns: longest time a journal write waits for others.
        ring_size: messages a queue may hold before it drops its oldest; -1 for no limit.
        acceptors: name and URI of each.
    """
    etc, war = node.folder / "etc", node.folder / "web" / "jolokia.war" / "WEB-INF"
    for folder in (etc, war, node.data):
        folder.mkdir(parents=True, exist_ok=True)
    if node.cluster_port:
        acceptors = [*acceptors, ("cluster", f"tcp://{LOOPBACK}:{node.cluster_port}?protocols=CORE")]
    broker = BROKER.format(
        name="telemark",
        persistent=str(persistent).lower(),
        buffer_timeout_ns=buffer_timeout_ns,
        ring_size=ring_size,
        data=escape(str(node.data)),
        cluster=_cluster(node),
        acceptors="\n".join(f'      <acceptor name="{name}">{escape(uri)}</acceptor>' for name, uri in acceptors),
    )
    (etc / "broker.xml").write_text(broker)
    web = BOOTSTRAP.format(etc=etc, web=node.folder / "web", host=LOOPBACK, port=node.management_port)
    (etc / "bootstrap.xml").write_text(web)
    (etc / "management.xml").write_text('<management-context xmlns="http://activemq.apache.org/schema"/>\n')
    (etc / "log4j2.properties").write_text(LOGGING)
    (etc / "jolokia-access.xml").write_text(POLICY)
    (war / "web.xml").write_text(WEB_XML.format(policy=etc / "jolokia-access.xml"))


def _cluster(node: Node) -> str:
    if not node.cluster_port:
        return ""
    return CLUSTER.format(host=LOOPBACK, own=node.cluster_port, other=node.other_port, role=ROLES[node.role])
