"""The scenario file format as data: every table, every key, what it may hold and what it means.

The checker (`check.py`) and the reference page (`reference.py`) both read these definitions, so that neither can
disagree with the other. The planner turns checked tables into the dataclasses of `telemark.model.plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from telemark.model.capabilities import CAPABILITIES

FORMAT_VERSION = 1
SIZES = ("quick", "laptop", "published")

Kind = Literal[
    "text", "integer", "number", "boolean", "texts", "table", "tables", "map", "scalars", "lists", "rows", "names"
]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table."""

    kind: Kind
    about: str
    required: bool = False
    allowed: tuple[str | int | float, ...] | None = None
    minimum: float | None = None
    table: str | None = None  # kind table, tables and map: the definition of the inner table
    pattern: bool = False  # text in the pattern language of plans
    expression: bool = True  # may also be "<parameter>" text


def _text(about: str, *, required: bool = False, allowed: tuple[str, ...] | None = None, pattern: bool = False) -> Key:
    return Key("text", about, required=required, allowed=allowed, pattern=pattern)


def _whole(about: str, minimum: float = 0, *, required: bool = False, allowed: tuple[int, ...] | None = None) -> Key:
    return Key("integer", about, required=required, allowed=allowed, minimum=minimum)


def _number(about: str, *, required: bool = False) -> Key:
    return Key("number", about, required=required, minimum=0)


def _fixed(key: Key) -> Key:
    """The same key, without expressions: it is read before any parameter has a value."""
    return replace(key, expression=False)


_QOS = (0, 1, 2)

FILE: dict[str, Key] = {
    "format": _fixed(_whole("version of this format; this one is 1", required=True, allowed=(FORMAT_VERSION,))),
    "suite": Key("table", "facts about the report the scenarios come from", required=True, table="suite"),
    "family": Key("tables", "scenarios that differ only in parameters", required=True, table="family"),
}

SUITE: dict[str, Key] = {
    "name": _fixed(_text("short name, the SUITE of SUITE/CASE", required=True)),
    "title": _fixed(_text("title of the report or benchmark", required=True)),
    "source": _fixed(_text("who published it", required=True)),
    "date": _fixed(_text("when, as year, year-month or year-month-day", required=True)),
    "hardware": Key("texts", "machines it was measured on", expression=False),
    "notes": Key("texts", "what holds for every scenario: how ours differ from the report", expression=False),
}

# What a family, and each of its `when` tables, may say about the scenario.
BODY: dict[str, Key] = {
    "title": _fixed(_text("one line")),
    "about": _fixed(_text("what the scenario does and asks, in words")),
    "where": _fixed(_text("section, table or page of the report")),
    "measures": _fixed(
        _text("what the answer is", allowed=("throughput", "latency", "connections", "memory", "scaling"))
    ),
    "search": _fixed(
        Key("boolean", "the published value is a maximum: `telemark search` finds it, `run` plans a rate")
    ),
    "groups": Key("map", "devices by group name; subscribers first, they connect first", table="group"),
    "listeners": Key("map", "what the scenario asks of the server's listeners, by name", table="listener"),
    "load": Key("table", "how often messages are sent", table="load"),
    "consumers": Key("table", "back-end consumers that receive through JMS", table="consumers"),
    "server": Key("scalars", "options for the server adapter, for example max_queued_messages"),
    "profile": _text("how durable the server must be", allowed=("memory", "durable", "fsync")),
    "needs": Key("texts", "capabilities the server must have", allowed=tuple(CAPABILITIES)),
    "thresholds": Key("texts", "rules that make the verdict, for example `mean_latency < 500 ms`"),
    "connect_rate": _number("devices connected a second, all processes together; 0: as fast as possible"),
    "connect_parallel": _whole("connection attempts under way at once", 1),
    "notes": Key("texts", "how the scenario differs from the report, printed with every result"),
    "sizes": Key("table", "what each size sets and sweeps", table="sizes", expression=False),
}

FAMILY: dict[str, Key] = {
    "name": _fixed(_text("name template: {axis} stands for the text of the case's value", required=True)),
    "axes": Key("names", "axis -> values and the text each puts into the name; the first is the default"),
    "cases": Key("rows", "the cases that exist: axis values, a list of values gives one case each", expression=False),
    "parameters": Key("scalars", "what each parameter means, by name", expression=False),
    "when": Key("tables", "changes to the scenario when parameters have certain values", table="when"),
    **BODY,
}

WHEN: dict[str, Key] = {
    "match": Key("lists", "parameter -> value or list of values; all must hold", required=True, expression=False),
    **BODY,
}

SIZES_TABLE: dict[str, Key] = {size: Key("table", f"--size {size}", table="size") for size in SIZES}

SIZE: dict[str, Key] = {
    "set": Key("scalars", "parameter -> value, or { published = metric, by = [...], like = { CASE = CASE } }"),
    "sweep": Key("lists", "parameter -> list of values; every combination is a point", expression=False),
    "points": Key("rows", "parameters that change together: one row each, combined with the sweep", expression=False),
    "phases": Key("table", "lengths of the phases", table="phases"),
    "notes": Key("texts", "how this size differs from the published one"),
}

PHASES: dict[str, Key] = {
    "connect_timeout_s": _number("longest time to connect all devices"),
    "hold_s": _number("idle time with all devices connected, after connect"),
    "warmup_s": _number("sending before the numbers count"),
    "measure_s": _number("sending whose numbers count"),
    "drain_timeout_s": _number("longest wait for messages still owed"),
}

GROUP: dict[str, Key] = {
    "count": _whole("devices; 0 leaves the group out", required=True),
    "endpoints": Key("texts", "listener names, taken in turn by {index}"),
    "client_id": _text("client identifier", pattern=True),
    "version": _text("MQTT version", allowed=("3.1.1", "5")),
    "clean_start": Key("boolean", "false: a durable session"),
    "session_expiry_s": _whole("MQTT 5 session expiry"),
    "keep_alive_s": _whole("keep-alive"),
    "receive_maximum": _whole("MQTT 5 receive maximum the device announces", 1),
    "username": _text("user name", pattern=True),
    "password_env": _text("environment variable that holds the password"),
    "password_file": _text("file whose first line is the password"),
    "send_buffer": _whole("SO_SNDBUF bytes of the device", 1),
    "receive_buffer": _whole("SO_RCVBUF bytes of the device", 1),
    "source_addresses": Key("texts", "addresses to connect from, taken in turn by {index}"),
    "publish": Key("table", "what every device of the group publishes", table="publish"),
    "subscriptions": Key("tables", "what every device of the group subscribes to", table="subscription"),
    "will": Key("table", "the message sent for a device that vanishes", table="will"),
    "reconnect": Key("table", "what a device does after a disconnect", table="reconnect"),
}

PUBLISH: dict[str, Key] = {
    "topic": _text("topic", required=True, pattern=True),
    "qos": _whole("QoS", allowed=_QOS),
    "size": _whole("payload bytes, the 32 bytes of the stamp included", 32),
    "size_max": _whole("sizes are uniform from size to size_max", 32),
    "retain": Key("boolean", "retained messages"),
    "in_flight": _whole("unacknowledged messages per device", 1),
    "topic_alias": Key("boolean", "MQTT 5 topic aliases"),
}

SUBSCRIPTION: dict[str, Key] = {
    "filter": _text("topic filter; $share/name/ in front for a shared subscription", required=True, pattern=True),
    "qos": _whole("QoS", allowed=_QOS),
    "no_local": Key("boolean", "MQTT 5: not the device's own messages"),
}

WILL: dict[str, Key] = {
    "topic": _text("topic", required=True, pattern=True),
    "size": _whole("payload bytes", 32),
    "qos": _whole("QoS", allowed=_QOS),
    "retain": Key("boolean", "retained"),
    "delay_s": _whole("MQTT 5 will delay"),
}

RECONNECT: dict[str, Key] = {
    "policy": _text("what to do", allowed=("never", "after")),
    "delay_s": _number("wait before each attempt"),
    "attempts": _whole("attempts before giving up", 1),
}

LISTENER: dict[str, Key] = {
    "security": _text("how it is secured", allowed=("none", "tls", "psk")),
    "tls_version": _text("TLS version devices insist on", allowed=("1.2", "1.3")),
    "cipher": _text("cipher devices insist on, OpenSSL name"),
    "socket_buffer": _whole("bytes of the server's socket buffers, where it can set them", 1),
}

LOAD: dict[str, Key] = {
    "shape": _text(
        "load shape", required=True, allowed=("idle", "paced", "batched", "windowed", "every", "burst", "steps")
    ),
    "rate": _number("paced: messages a second of all publishers together; burst: the rate between bursts"),
    "arrivals": _text("paced: evenly spaced or at random", allowed=("steady", "poisson")),
    "batch": _whole("batched: messages per period and partition", 1),
    "period_ms": _number("batched: the period"),
    "partitions": _whole("batched: equal runs of publishers, each sends its own batch", 1),
    "window": _whole("windowed: messages sent at first", 1),
    "refill": _whole("windowed: sent for each so many received", 1),
    "every_s": _number("every: the first publisher sends one message every so many seconds"),
    "burst_rate": _number("burst: rate during a burst"),
    "burst_s": _number("burst: its length"),
    "burst_every_s": _number("burst: from the start of one to the start of the next"),
    "steps": Key("tables", "steps: stretches of constant rate", table="step"),
    "limit": _whole("stop after so many messages", 1),
    "max_lateness_s": _number("a message later than this is dropped and counted"),
}

STEP: dict[str, Key] = {
    "seconds": _number("its length", required=True),
    "rate": _number("messages a second of all publishers together", required=True),
}

CONSUMERS: dict[str, Key] = {
    "count": _whole("JMS consumers; 0 for none", required=True),
    "topic": _text("what consumer {index} subscribes to, as an MQTT filter", required=True, pattern=True),
    "subscription": _text("kind of subscription", allowed=("plain", "durable", "shared", "shared-durable")),
    "share_name": _text("name of the shared subscription"),
    "receive": _text("asynchronous listener or blocking receive", allowed=("listener", "blocking")),
    "acknowledge": _text("acknowledgement", allowed=("auto", "client", "dups-ok", "transacted", "least")),
    "acknowledge_every": _whole("messages per acknowledgement or transaction", 1),
    "prefetch": _whole("messages the client library may hold", 0),
    "tls": Key("boolean", "the consumers connect with TLS and verify the server"),
    "qos": _whole("QoS the deliveries owe, for the integrity rules", allowed=_QOS),
}

TABLES: Mapping[str, Mapping[str, Key]] = {
    "file": FILE, "suite": SUITE, "family": FAMILY, "when": WHEN, "sizes": SIZES_TABLE, "size": SIZE,
    "phases": PHASES, "group": GROUP, "publish": PUBLISH, "subscription": SUBSCRIPTION, "will": WILL,
    "reconnect": RECONNECT, "listener": LISTENER, "load": LOAD, "step": STEP, "consumers": CONSUMERS,
}  # fmt: skip

# Lists that a `when` table adds to instead of replacing.
ADDING = frozenset({"needs", "thresholds", "notes"})
