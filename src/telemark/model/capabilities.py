"""What a server adapter can declare and a scenario can need, by name."""

from __future__ import annotations

CAPABILITIES: dict[str, str] = {
    "mqtt-3.1.1": "MQTT 3.1.1",
    "mqtt-5": "MQTT 5",
    "qos-1": "QoS 1",
    "qos-2": "QoS 2",
    "tls-1.2": "TLS 1.2",
    "tls-1.3": "TLS 1.3",
    "psk": "TLS with pre-shared keys",
    "shared": "shared subscriptions ($share/...) for MQTT 5 devices",
    "shared-3.1.1": "shared subscriptions for MQTT 3.1.1 devices",
    "durable": "sessions that survive a disconnect and queue their messages",
    "persistent": "durable sessions that survive a restart of the server",
    "fsync": "acknowledges only what is on disk",
    "jms": "JMS consumers",
    "jms-shared": "JMS 2.0 shared subscriptions",
    "ha-pair": "a replicated pair, live and backup",
    "faults": "misbehaves on command (the built-in server)",
}
