"""Devices: what they connect to, how, and what they publish and subscribe to.

Patterns. Client ids, topics, filters, user names, PSK identities and certificate paths are patterns: `{index}` is the
device's number within its group over the whole run (0-based), `{sequence}` (topics only) the message's number in its
stream. A chain of `/n`, `%n` and `+n` with whole numbers may follow, applied left to right:
`p{index/1000}/d{index%100}/v{sequence%10}`. `{{` is a literal brace.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from telemark.model.keys import Meaning

Version = Literal["3.1.1", "5"]
QOS = (0, 1, 2)
MINIMUM_PAYLOAD = 32  # bytes of the stamp


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret is found. The value itself is never part of a plan or a run folder."""

    env: str | None = None  # name of an environment variable of the engine process
    file: str | None = None  # path of a file whose first line is the secret


@dataclass(frozen=True, slots=True)
class Tls:
    """How a device secures its connection. Verification is on unless switched off by name."""

    version: Literal["1.2", "1.3"] | None = None  # None: whatever both sides prefer
    cipher: str | None = None  # OpenSSL name, for example AES256-GCM-SHA384
    ca: str | None = None  # path of the CA certificates; None: the system's
    verify: bool = True
    server_name: str | None = None  # name to verify and to send as SNI; None: the endpoint's host
    certificate: str | None = None  # client certificate, a path pattern
    key: str | None = None  # its private key, a path pattern
    psk_identity: str | None = None  # pattern; selects a row of psk_file
    psk_file: str | None = None  # lines "identity:key in hex"
    resume: bool = False  # offer the previous session of this device: resumed instead of full handshakes


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address devices connect to. In a `RunPlan` only the name is set; the runner fills the rest."""

    name: str  # listener name: plain, tls, psk, plain-publishers, plain-subscribers
    host: str = ""
    port: int = 0
    tls: Tls | None = None


@dataclass(frozen=True, slots=True)
class ListenerPlan:
    """What the scenario asks of one listener of the server, by name; the adapter decides its address."""

    name: str  # plain, tls, psk, plain-1, tls-2, plain-publishers ...: groups name it in `endpoints`
    security: Annotated[Literal["none", "tls", "psk"], Meaning("how it is secured")] = "none"
    tls_version: Annotated[Literal["1.2", "1.3"] | None, Meaning("TLS version devices insist on")] = None
    cipher: Annotated[str | None, Meaning("cipher devices insist on, OpenSSL name")] = None
    socket_buffer: Annotated[
        int | None, Meaning("bytes of the server's socket buffers, where it can set them", minimum=1)
    ] = None


@dataclass(frozen=True, slots=True)
class Will:
    """The message the server sends for a device that vanishes."""

    topic: Annotated[str, Meaning("topic", pattern=True)]
    size: Annotated[int, Meaning("payload bytes", minimum=MINIMUM_PAYLOAD)] = MINIMUM_PAYLOAD
    qos: Annotated[int, Meaning("QoS", allowed=QOS)] = 0
    retain: Annotated[bool, Meaning("retained")] = False
    delay_s: Annotated[int, Meaning("MQTT 5 will delay")] = 0


@dataclass(frozen=True, slots=True)
class Subscription:
    """One filter every device of the group subscribes to."""

    filter: Annotated[str, Meaning("topic filter; $share/name/ in front for a shared subscription", pattern=True)]
    qos: Annotated[int, Meaning("QoS", allowed=QOS)] = 0
    first_subscription: int = 0  # number of the group's first device's subscription, unique in the run
    no_local: Annotated[bool, Meaning("MQTT 5: not the device's own messages")] = False


@dataclass(frozen=True, slots=True)
class Publish:
    """What every device of the group publishes."""

    topic: Annotated[str, Meaning("topic", pattern=True)]
    qos: Annotated[int, Meaning("QoS", allowed=QOS)] = 0
    size: Annotated[int, Meaning("payload bytes, the 32 bytes of the stamp included", minimum=MINIMUM_PAYLOAD)] = (
        MINIMUM_PAYLOAD
    )
    size_max: Annotated[int | None, Meaning("sizes are uniform from size to size_max", minimum=MINIMUM_PAYLOAD)] = None
    retain: Annotated[bool, Meaning("retained messages")] = False
    # the server's receive maximum lowers it
    in_flight: Annotated[int, Meaning("unacknowledged messages per device", minimum=1)] = 65_535
    topic_alias: Annotated[bool, Meaning("MQTT 5 topic aliases")] = False
    first_stream: int = 0  # stream number of the group's first device, unique in the run


@dataclass(frozen=True, slots=True)
class Reconnect:
    """What a device does after an unexpected disconnect or a failed connect."""

    policy: Annotated[Literal["never", "after"], Meaning("what to do")] = "never"
    delay_s: Annotated[float, Meaning("wait before each attempt")] = 1.0
    attempts: Annotated[int, Meaning("attempts before giving up", minimum=1)] = 10


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that differ only in their number."""

    name: str
    # of this group in this plan: a slice of the run's group in an EnginePlan
    count: Annotated[int, Meaning("devices; 0 leaves the group out")]
    first_index: int = 0  # {index} of the first of them
    first_device: int = 0  # device number of the first of them, unique in the run
    endpoints: Annotated[tuple[str, ...], Meaning("listener names, taken in turn by {index}")] = ("plain",)
    client_id: Annotated[str, Meaning("client identifier", pattern=True)] = "telemark-{index}"
    version: Annotated[Version, Meaning("MQTT version")] = "3.1.1"
    # MQTT 3.1.1 sessions that are not clean last until the server forgets them
    clean_start: Annotated[bool, Meaning("false: a durable session")] = True
    session_expiry_s: Annotated[int, Meaning("MQTT 5 session expiry")] = 0
    keep_alive_s: Annotated[int, Meaning("keep-alive")] = 300
    receive_maximum: Annotated[int | None, Meaning("MQTT 5 receive maximum the device announces", minimum=1)] = None
    username: Annotated[str | None, Meaning("user name", pattern=True)] = None
    password: Secret | None = None
    will: Annotated[Will | None, Meaning("the message sent for a device that vanishes")] = None
    # empty: the system chooses
    source_addresses: Annotated[tuple[str, ...], Meaning("addresses to connect from, taken in turn by {index}")] = ()
    send_buffer: Annotated[int | None, Meaning("SO_SNDBUF bytes of the device", minimum=1)] = None
    receive_buffer: Annotated[int | None, Meaning("SO_RCVBUF bytes of the device", minimum=1)] = None
    subscriptions: Annotated[tuple[Subscription, ...], Meaning("what every device of the group subscribes to")] = ()
    publish: Annotated[Publish | None, Meaning("what every device of the group publishes")] = None
    reconnect: Annotated[Reconnect, Meaning("what a device does after a disconnect")] = field(default_factory=Reconnect)

    @property
    def durable(self) -> bool:
        """Whether the server keeps messages for a device that is away."""
        return self.session_expiry_s > 0 if self.version == "5" else not self.clean_start
