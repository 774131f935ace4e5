"""The record tables of a run folder, as engine, consumers and runner write them.

Times are CLOCK_MONOTONIC nanoseconds of the host that made the row (column names end in `_ns`).
What is constant in a run is in run.json, not in the rows. Only `pipeline/` turns these rows into numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from telemark.model.columns.column import Column, Table, Unit

_Row = tuple[str, str, Unit, str]


def _table(name: str, meaning: str, rows: Iterable[_Row], nullable: tuple[str, ...] = ()) -> Table:
    """A table whose columns are required unless named nullable."""
    columns = (Column(column, kind, unit, None, text, nullable=column in nullable) for column, kind, unit, text in rows)
    return Table(name, meaning, tuple(columns))


_TABLES: Final = (
    _table("deliveries", "One row per message received by a subscription.", [
        ("stream", "int32", "count", "publisher's number; -1 when the payload carries no valid stamp"),
        ("sequence", "int64", "count", "message's number in its stream, from 0, given when sent: no gaps"),
        ("intended_ns", "int64", "ns", "when the schedule wanted it sent"),
        ("sent_ns", "int64", "ns", "when it was handed to the kernel"),
        ("received_ns", "int64", "ns", "when the subscriber read it; no two rows of a subscription share a time"),
        ("subscription", "int32", "count",
         "number of the subscription that received it; -1 when no filter of the device matches"),
        ("qos", "int8", "count", "QoS of this delivery"),
        ("flags", "int8", "count", "sum of FLAG_DUP 1, FLAG_RETAINED 2, FLAG_FOREIGN 4"),
        ("size", "int32", "bytes", "payload bytes"),
    ]),
    _table("senders", "One row per stream: what was sent.", [
        ("stream", "int32", "count", "publisher's number"),
        ("process", "int16", "count", "engine process"),
        ("first_sequence", "int64", "count", "first sequence sent; null when nothing was sent"),
        ("last_sequence", "int64", "count", "last sequence sent; null when nothing was sent"),
        ("sent", "int64", "count", "messages handed to the kernel, redeliveries not counted"),
        ("acked", "int64", "count", "messages whose last acknowledgement (PUBACK, PUBCOMP) arrived"),
        ("dropped", "int64", "count", "due messages the engine never sent"),
        ("bytes", "int64", "bytes", "payload bytes sent"),
    ], nullable=("first_sequence", "last_sequence")),
    _table("acks", "One row per acknowledgement (QoS 1 and 2).", [
        ("stream", "int32", "count", "publisher's number"),
        ("sequence", "int64", "count", "message's number in its stream"),
        ("sent_ns", "int64", "ns", "when the PUBLISH (for PUBCOMP: the PUBREL) was handed to the kernel"),
        ("acked_ns", "int64", "ns", "when the acknowledgement was read"),
        ("step", "int8", "count", "1 PUBACK, 2 PUBREC, 3 PUBCOMP"),
        ("reason", "int16", "count", "MQTT 5 reason code; 0 for 3.1.1"),
    ]),
    _table("connections", "One row per connection attempt.", [
        ("device", "int32", "count", "device's number"),
        ("process", "int16", "count", "engine process"),
        ("attempt", "int16", "count", "0 for the first connect, then one more for each reconnect"),
        ("started_ns", "int64", "ns", "before the SYN"),
        ("tcp_ns", "int64", "ns", "TCP connection established"),
        ("tls_ns", "int64", "ns", "TLS handshake done; null without TLS"),
        ("connack_ns", "int64", "ns", "CONNACK read"),
        ("suback_ns", "int64", "ns", "last SUBACK read; null without subscriptions"),
        ("result", "string", "text", "ok, tcp_failed, tls_failed, refused, subscribe_refused, timeout or closed"),
        ("tls_resumed", "bool", "text", "the handshake resumed a session; null without TLS"),
        ("session_present", "bool", "text", "the server kept this device's session; null before CONNACK"),
    ], nullable=("tcp_ns", "tls_ns", "connack_ns", "suback_ns", "tls_resumed", "session_present")),
    _table("events", "Events other than messages: failures, disconnects, deaths, notes.", [
        ("time_ns", "int64", "ns", "when it was noticed"),
        ("process", "int16", "count", "engine process; -1 for the runner, -2 for a consumer"),
        ("device", "int32", "count", "device's number; -1 when it concerns none"),
        ("kind", "string", "text",
         "connect_failed, connect_refused, subscribe_refused, publish_refused, disconnected, "
         "reconnected, protocol_error, server_died, engine_died, consumer_died, consumer_restarted, "
         "rate_changed (time: from when on), rate_late, note"),
        ("code", "int32", "count", "reason code or errno; null when there is none"),
        ("detail", "string", "text", "in words"),
    ], nullable=("code",)),
    _table("counters", "Counts of each engine process in each second. Second 0 begins at the common start; the "
           "seconds before it (connect) are negative.", [
        ("process", "int16", "count", "engine process; consumers count from 1000"),
        ("second", "int32", "count", "second of the run, by the time of each thing counted"),
        ("intended", "int64", "count", "messages the schedule wanted in this second"),
        ("sent", "int64", "count", "messages handed to the kernel in this second"),
        ("acked", "int64", "count", "final acknowledgements read"),
        ("dropped", "int64", "count", "due messages given up in this second"),
        ("received", "int64", "count", "deliveries read"),
        ("sent_bytes", "int64", "bytes", "payload bytes sent"),
        ("received_bytes", "int64", "bytes", "payload bytes received"),
        ("connected", "int32", "count", "devices connected at the end of the second"),
        ("connects", "int32", "count", "CONNACKs with success in this second"),
        ("disconnects", "int32", "count", "unexpected disconnects in this second"),
        ("pushed_back", "int64", "count", "sends that found the socket full or the in-flight window used up"),
        ("loop_lag_max_ns", "int64", "ns", "longest time a reactor thread was away from its poll"),
        ("send_delay_max_ns", "int64", "ns", "largest sent - intended of this second; 0 when nothing was sent"),
        ("cpu_ns", "int64", "ns", "CPU time of the process's reactor threads in this second"),
    ]),
    _table("health", "Samples of host, server, engine and consumers; see [health](health.md).", [
        ("time_ns", "int64", "ns", "when it was sampled"),
        ("source", "string", "text", "host, server, engine, consumer, or counters (the server's own)"),
        ("instance", "string", "text",
         "process id, CPU name, device or queue name; empty when there is one only"),
        ("metric", "string", "text", "name with its unit, see docs/reference/health.md"),
        ("value", "float64", "count", "the sample; what could not be sampled has no row"),
        ("host", "string", "text", "host of a bed it was sampled on; null when the run had one host only"),
        ("role", "string", "text", "what that host did, for example server or publishers,subscribers"),
    ], nullable=("host", "role")),
    # The next three are written by the runner before the start; together they say who is owed what.
    _table("streams", "Who publishes, and to which set of subscriptions.", [
        ("stream", "int32", "count", "publisher's number"),
        ("device", "int32", "count", "device's number"),
        ("process", "int16", "count", "engine process that plays it"),
        ("audience", "int32", "count", "which set of subscriptions its topics match"),
        ("qos", "int8", "count", "QoS it publishes with"),
    ]),
    _table("subscriptions", "Who subscribes to what.", [
        ("subscription", "int32", "count", "subscription's number"),
        ("device", "int32", "count", "device's number; -1 for a back-end consumer"),
        ("filter", "string", "text", "topic filter as subscribed, $share/name/ included"),
        ("share", "int32", "count", "number of its share group; null for a plain subscription"),
        ("qos", "int8", "count", "QoS asked for"),
        ("durable", "bool", "text", "its session survives a disconnect"),
    ], nullable=("share",)),
    _table("audiences", "Members of each set of subscriptions.", [
        ("audience", "int32", "count", "set of subscriptions"),
        ("subscription", "int32", "count", "one member of the set"),
    ]),
    _table("subscribed", "When each subscription was active: from SUBACK to disconnect, unsubscribe or end.", [
        ("subscription", "int32", "count", "subscription's number"),
        ("from_ns", "int64", "ns", "SUBACK read"),
        ("until_ns", "int64", "ns", "end of it; null: until the end of the run"),
    ], nullable=("until_ns",)),
    _table("clock", "Exchanges of clock readings between each host of a bed and the runner.", [
        ("host", "string", "text", "the host that asked"),
        ("asked_ns", "int64", "ns", "when it asked, on its own clock"),
        ("told_ns", "int64", "ns", "what the runner's clock read"),
        ("answered_ns", "int64", "ns", "when the answer arrived, on its own clock"),
    ]),
)  # fmt: skip

RECORD_TABLES: Final[dict[str, Table]] = {table.name: table for table in _TABLES}
