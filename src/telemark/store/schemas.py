"""The record tables of a run folder: one Arrow schema each, and the format version they belong to.

Times are CLOCK_MONOTONIC nanoseconds of the host that made the row (column names end in `_ns`).
What is constant in a run is in run.json, not in the rows. Only `pipeline/` turns these rows into numbers.
"""

from __future__ import annotations

import pyarrow as pa

FORMAT_VERSION = 1
# History of the format, newest last. A reader must understand every version up to its own.
#   1  0.1.0  first version

FLAG_DUP = 1  # the server had set DUP
FLAG_RETAINED = 2
FLAG_FOREIGN = 4  # no valid stamp: stream is -1, intended and sent are 0

ACK_PUBACK, ACK_PUBREC, ACK_PUBCOMP = 1, 2, 3


def _schema(*columns: tuple[str, pa.DataType, str], nullable: tuple[str, ...] = ()) -> pa.Schema:
    """A schema whose fields carry their description; columns are required unless named nullable."""
    return pa.schema([pa.field(name, kind, name in nullable, {"description": text}) for name, kind, text in columns])


DELIVERIES = _schema(
    ("stream", pa.int32(), "publisher's number; -1 when the payload carries no valid stamp"),
    ("sequence", pa.int64(), "message's number in its stream, from 0, given when sent: no gaps"),
    ("intended_ns", pa.int64(), "when the schedule wanted it sent"),
    ("sent_ns", pa.int64(), "when it was handed to the kernel"),
    ("received_ns", pa.int64(), "when the subscriber read it; no two rows of a subscription share a time"),
    (
        "subscription",
        pa.int32(),
        "number of the subscription that received it; -1 when no filter of the device matches",
    ),
    ("qos", pa.int8(), "QoS of this delivery"),
    ("flags", pa.int8(), "sum of FLAG_DUP 1, FLAG_RETAINED 2, FLAG_FOREIGN 4"),
    ("size", pa.int32(), "payload bytes"),
)

SENDERS = _schema(
    ("stream", pa.int32(), "publisher's number"),
    ("process", pa.int16(), "engine process"),
    ("first_sequence", pa.int64(), "first sequence sent; null when nothing was sent"),
    ("last_sequence", pa.int64(), "last sequence sent; null when nothing was sent"),
    ("sent", pa.int64(), "messages handed to the kernel, redeliveries not counted"),
    ("acked", pa.int64(), "messages whose last acknowledgement (PUBACK, PUBCOMP) arrived"),
    ("dropped", pa.int64(), "due messages the engine never sent"),
    ("bytes", pa.int64(), "payload bytes sent"),
    nullable=("first_sequence", "last_sequence"),
)

ACKS = _schema(
    ("stream", pa.int32(), "publisher's number"),
    ("sequence", pa.int64(), "message's number in its stream"),
    ("sent_ns", pa.int64(), "when the PUBLISH (for PUBCOMP: the PUBREL) was handed to the kernel"),
    ("acked_ns", pa.int64(), "when the acknowledgement was read"),
    ("step", pa.int8(), "1 PUBACK, 2 PUBREC, 3 PUBCOMP"),
    ("reason", pa.int16(), "MQTT 5 reason code; 0 for 3.1.1"),
)

CONNECTIONS = _schema(
    ("device", pa.int32(), "device's number"),
    ("process", pa.int16(), "engine process"),
    ("attempt", pa.int16(), "0 for the first connect, then one more for each reconnect"),
    ("started_ns", pa.int64(), "before the SYN"),
    ("tcp_ns", pa.int64(), "TCP connection established"),
    ("tls_ns", pa.int64(), "TLS handshake done; null without TLS"),
    ("connack_ns", pa.int64(), "CONNACK read"),
    ("suback_ns", pa.int64(), "last SUBACK read; null without subscriptions"),
    ("result", pa.string(), "ok, tcp_failed, tls_failed, refused, subscribe_refused, timeout or closed"),
    ("tls_resumed", pa.bool_(), "the handshake resumed a session; null without TLS"),
    ("session_present", pa.bool_(), "the server kept this device's session; null before CONNACK"),
    nullable=("tcp_ns", "tls_ns", "connack_ns", "suback_ns", "tls_resumed", "session_present"),
)

EVENTS = _schema(
    ("time_ns", pa.int64(), "when it was noticed"),
    ("process", pa.int16(), "engine process; -1 for the runner, -2 for a consumer"),
    ("device", pa.int32(), "device's number; -1 when it concerns none"),
    (
        "kind",
        pa.string(),
        "connect_failed, connect_refused, subscribe_refused, publish_refused, disconnected, "
        "reconnected, protocol_error, server_died, engine_died, consumer_died, consumer_restarted, note",
    ),
    ("code", pa.int32(), "reason code or errno; null when there is none"),
    ("detail", pa.string(), "in words"),
    nullable=("code",),
)

# Counts of one engine process in one second of the run. Second 0 begins at the common start;
# seconds before it (connect) are negative.
COUNTERS = _schema(
    ("process", pa.int16(), "engine process; consumers count from 1000"),
    ("second", pa.int32(), "second of the run, by the time of each thing counted"),
    ("intended", pa.int64(), "messages the schedule wanted in this second"),
    ("sent", pa.int64(), "messages handed to the kernel in this second"),
    ("acked", pa.int64(), "final acknowledgements read"),
    ("dropped", pa.int64(), "due messages given up in this second"),
    ("received", pa.int64(), "deliveries read"),
    ("sent_bytes", pa.int64(), "payload bytes sent"),
    ("received_bytes", pa.int64(), "payload bytes received"),
    ("connected", pa.int32(), "devices connected at the end of the second"),
    ("connects", pa.int32(), "CONNACKs with success in this second"),
    ("disconnects", pa.int32(), "unexpected disconnects in this second"),
    ("pushed_back", pa.int64(), "sends that found the socket full or the in-flight window used up"),
    ("loop_lag_max_ns", pa.int64(), "longest time a reactor thread was away from its poll"),
    ("send_delay_max_ns", pa.int64(), "largest sent - intended of this second; 0 when nothing was sent"),
    ("cpu_ns", pa.int64(), "CPU time of the process's reactor threads in this second"),
)

HEALTH = _schema(
    ("time_ns", pa.int64(), "when it was sampled"),
    ("source", pa.string(), "host, server, engine, consumer, or counters (the server's own)"),
    ("instance", pa.string(), "process id, CPU name, device or queue name; empty when there is one only"),
    ("metric", pa.string(), "name with its unit, see docs/reference/health.md"),
    ("value", pa.float64(), "the sample; what could not be sampled has no row"),
)

# Written by the runner before the start; together they say who is owed what.
STREAMS = _schema(
    ("stream", pa.int32(), "publisher's number"),
    ("device", pa.int32(), "device's number"),
    ("process", pa.int16(), "engine process that plays it"),
    ("audience", pa.int32(), "which set of subscriptions its topics match"),
    ("qos", pa.int8(), "QoS it publishes with"),
)

SUBSCRIPTIONS = _schema(
    ("subscription", pa.int32(), "subscription's number"),
    ("device", pa.int32(), "device's number; -1 for a JMS consumer"),
    ("filter", pa.string(), "topic filter as subscribed, $share/name/ included"),
    ("share", pa.int32(), "number of its share group; null for a plain subscription"),
    ("qos", pa.int8(), "QoS asked for"),
    ("durable", pa.bool_(), "its session survives a disconnect"),
    nullable=("share",),
)

AUDIENCES = _schema(
    ("audience", pa.int32(), "set of subscriptions"),
    ("subscription", pa.int32(), "one member of the set"),
)

# When each subscription was in force: from SUBACK to disconnect, unsubscribe or end.
SUBSCRIBED = _schema(
    ("subscription", pa.int32(), "subscription's number"),
    ("from_ns", pa.int64(), "SUBACK read"),
    ("until_ns", pa.int64(), "end of it; null: until the end of the run"),
    nullable=("until_ns",),
)

TABLES: dict[str, pa.Schema] = {
    "deliveries": DELIVERIES,
    "senders": SENDERS,
    "acks": ACKS,
    "connections": CONNECTIONS,
    "events": EVENTS,
    "counters": COUNTERS,
    "health": HEALTH,
    "streams": STREAMS,
    "subscriptions": SUBSCRIPTIONS,
    "audiences": AUDIENCES,
    "subscribed": SUBSCRIBED,
}
