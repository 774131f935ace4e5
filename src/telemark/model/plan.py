"""What an engine process is asked to do, and what a whole run is asked to do.

A `RunPlan` describes one point (one cell of a scenario's sweep) for the whole run; listeners are
named, not addressed. The runner resolves the names against the server's endpoints and cuts the plan
into one `EnginePlan` per engine process. An `EnginePlan` travels as JSON (`as_json`) and is all an
engine process ever knows: it may run on another host.

Patterns. Client ids, topics, filters, user names, PSK identities and certificate paths are patterns:
`{index}` is the device's number within its group over the whole run (0-based), `{sequence}` (topics
only) the message's number in its stream. A chain of `/n`, `%n` and `+n` with whole numbers may
follow, applied left to right: `p{index/1000}/d{index%100}/v{sequence%10}`. `{{` is a literal brace.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

Version = Literal["3.1.1", "5"]
Shape = Literal["idle", "paced", "batched", "windowed", "every", "burst", "steps"]
Profile = Literal["memory", "durable", "fsync"]
Size = Literal["quick", "laptop", "published"]

STREAM_NONE = -1  # a delivery whose payload carries no valid stamp belongs to no stream
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
class Will:
    """The message the server sends for a device that vanishes."""

    topic: str  # pattern
    size: int = MINIMUM_PAYLOAD
    qos: int = 0
    retain: bool = False
    delay_s: int = 0  # MQTT 5 only


@dataclass(frozen=True, slots=True)
class Subscription:
    """One filter every device of the group subscribes to."""

    filter: str  # pattern, with $share/name/ for a shared subscription
    qos: int = 0
    first_subscription: int = 0  # number of the group's first device's subscription, unique in the run
    no_local: bool = False  # MQTT 5 only


@dataclass(frozen=True, slots=True)
class Publish:
    """What every device of the group publishes."""

    topic: str  # pattern
    qos: int = 0
    size: int = MINIMUM_PAYLOAD  # payload bytes, the stamp included
    size_max: int | None = None  # set: sizes are uniform in [size, size_max]
    retain: bool = False
    in_flight: int = 65_535  # unacknowledged messages per device; the server's receive maximum lowers it
    topic_alias: bool = False  # MQTT 5 only
    first_stream: int = 0  # stream number of the group's first device, unique in the run


@dataclass(frozen=True, slots=True)
class Reconnect:
    """What a device does after an unexpected disconnect or a failed connect."""

    policy: Literal["never", "after"] = "never"
    delay_s: float = 1.0
    attempts: int = 10


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that differ only in their number."""

    name: str
    count: int  # devices of this group in this plan (a slice of the run's group in an EnginePlan)
    first_index: int = 0  # {index} of the first of them
    first_device: int = 0  # device number of the first of them, unique in the run
    endpoints: tuple[str, ...] = ("plain",)  # endpoint names, taken in turn by {index}
    client_id: str = "telemark-{index}"
    version: Version = "3.1.1"
    clean_start: bool = True
    session_expiry_s: int = 0  # MQTT 5; 3.1.1 sessions that are not clean last until the server forgets them
    keep_alive_s: int = 300
    receive_maximum: int | None = None  # MQTT 5: what the device tells the server
    username: str | None = None  # pattern
    password: Secret | None = None
    will: Will | None = None
    source_addresses: tuple[str, ...] = ()  # taken in turn by {index}; empty: the system chooses
    send_buffer: int | None = None  # SO_SNDBUF bytes
    receive_buffer: int | None = None  # SO_RCVBUF bytes
    subscriptions: tuple[Subscription, ...] = ()
    publish: Publish | None = None
    reconnect: Reconnect = field(default_factory=Reconnect)


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of constant rate."""

    seconds: float
    rate: float


@dataclass(frozen=True, slots=True)
class Load:
    """How often, over time. Rates are aggregates over all publishers of the plan, in messages a second."""

    shape: Shape = "idle"
    rate: float = 0.0  # paced; base rate of burst
    arrivals: Literal["steady", "poisson"] = "steady"  # paced
    batch: int = 0  # batched: messages per period and partition
    period_ms: float = 0.0  # batched
    partitions: int = 1  # batched: publishers are cut into this many equal runs, each sends its own batch
    window: int = 0  # windowed: messages sent at first
    refill: int = 0  # windowed: sent for each `refill` received
    every_s: float = 0.0  # every: the plan's first publisher sends one message every so many seconds
    burst_rate: float = 0.0  # burst: rate during the burst
    burst_s: float = 0.0  # burst: its length
    burst_every_s: float = 0.0  # burst: from the start of one to the start of the next
    steps: tuple[Step, ...] = ()  # steps
    limit: int | None = None  # stop after so many messages (this plan's share)
    max_lateness_s: float = 1.0  # a message that cannot be sent within this time of its due time is dropped
    slot: int = 0  # this process's place among `slots`, so that several processes interleave evenly
    slots: int = 1


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """One engine process's whole knowledge of the run."""

    run: str
    process: int
    seed: int
    endpoints: tuple[Endpoint, ...]
    groups: tuple[Group, ...]
    load: Load = field(default_factory=Load)
    threads: int = 1
    connect_rate: float = 1000.0  # devices a second, this process; 0: as fast as `connect_parallel` allows
    connect_parallel: int = 256  # connection attempts under way at once
    connect_timeout_s: float = 30.0
    send_for_s: float = 0.0  # length of sending after the common start; 0: until told to stop
    relay_credits: bool = False  # windowed over several processes: credits come from outside (`Engine.credit`)
    record_deliveries: bool = True
    record_acks: bool = True

    def as_json(self) -> str:
        """The plan as the JSON text the native engine reads."""
        return json.dumps(asdict(self), separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Phases:
    """Lengths of a run's phases in seconds. Connect and drain end early when they are done."""

    connect_timeout_s: float = 60.0
    warmup_s: float = 0.0
    measure_s: float = 10.0
    drain_timeout_s: float = 10.0
    hold_s: float = 0.0  # idle time with all devices connected, after connect (memory and connection cases)


@dataclass(frozen=True, slots=True)
class JmsConsumers:
    """Back-end consumers that receive through JMS, in one JVM."""

    count: int
    topic: str  # MQTT filter pattern; {index} is the consumer's number. The provider maps it to a destination
    subscription: Literal["plain", "durable", "shared", "shared-durable"] = "plain"
    share_name: str = "telemark"
    receive: Literal["listener", "blocking"] = "listener"
    acknowledge: Literal["auto", "client", "dups-ok", "transacted", "least"] = "auto"
    acknowledge_every: int = 1
    prefetch: int = 1000
    tls: bool = False  # the consumers' connections are encrypted, and the server is verified
    qos: int = 0  # the QoS the deliveries owe, for the integrity rules
    first_subscription: int = 0

    @property
    def durable(self) -> bool:
        """Whether the server keeps messages while no consumer is there."""
        return self.subscription.endswith("durable")


@dataclass(frozen=True, slots=True)
class ListenerPlan:
    """What the scenario asks of one listener of the server, by name; the adapter decides its address."""

    name: str  # plain, tls, psk, plain-1, tls-2, plain-publishers ...: groups name it in `endpoints`
    security: Literal["none", "tls", "psk"] = "none"
    tls_version: Literal["1.2", "1.3"] | None = None  # what devices insist on; None: what both sides prefer
    cipher: str | None = None  # OpenSSL name devices insist on
    socket_buffer: int | None = None  # bytes of the server's socket buffers, where it can set them


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One point of a scenario, resolved: everything but the server's addresses."""

    suite: str
    scenario: str
    point: str  # label of the cell, for example "publishers=4000 qos=1"
    size: Size
    seed: int
    parameters: dict[str, str | int | float | bool]  # the cell's values after defaults and overrides
    groups: tuple[Group, ...]
    load: Load
    phases: Phases
    profile: Profile = "memory"
    needs: frozenset[str] = frozenset()  # capability names, see servers/contract.py
    thresholds: tuple[str, ...] = ()  # see verdicts/: "lost == 0", "mean_latency < 500 ms"
    consumers: JmsConsumers | None = None
    connect_rate: float = 1000.0
    connect_parallel: int = 256
    server_options: dict[str, str | int | float | bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # how this size differs from the published one, printed with the result
    listeners: tuple[ListenerPlan, ...] = ()  # one for each endpoint name the groups use, in the same order

    def with_endpoint_names(self) -> tuple[str, ...]:
        """Names of all listeners the groups use, each once, in order of first use."""
        names = [name for group in self.groups for name in group.endpoints]
        return tuple(dict.fromkeys(names))

    def as_dict(self) -> dict[str, Any]:
        """Plain data for run.json and `telemark plan --json`."""
        return asdict(replace(self, needs=frozenset())) | {"needs": sorted(self.needs)}
