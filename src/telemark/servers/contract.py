"""The contract every server adapter keeps, and the words it shares with the scenarios.

An adapter is made per run, starts one server (or reaches one that runs), and is thrown away.
All files it writes go under the directory it is given. It never touches a process it did not start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from telemark.host.ports import LOOPBACK
from telemark.model.capabilities import CAPABILITIES as CAPABILITIES  # noqa: PLC0414 - adapters take it from here
from telemark.model.plan import Endpoint, Profile, Secret
from telemark.servers.options import ServerOption


@dataclass(frozen=True, slots=True)
class Listener:
    """One listener the run needs, by name, with the options a scenario may set."""

    name: str  # plain, tls, psk, plain-publishers, plain-subscribers ...
    security: str = "none"  # none, tls, psk
    socket_buffer: int | None = None  # bytes, where the server can set it


@dataclass(frozen=True, slots=True)
class ConsumerRequest:
    """Back-end consumers that will connect to the server."""

    kind: str  # a name of `telemark.consumers.registry`
    tls: bool = False


@dataclass(frozen=True, slots=True)
class StartRequest:
    """What a run asks of its server."""

    directory: Path  # configuration, data and logs go here; it is kept with the run
    profile: Profile
    listeners: tuple[Listener, ...]
    devices: int  # how many connections it must be able to accept
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)  # e.g. max_queued_messages
    consumers: ConsumerRequest | None = None  # back-end consumers that will connect
    ha: bool = False  # start the pair
    address: str = LOOPBACK  # where devices and consumers reach it; the loopback address unless they are elsewhere
    cpus: tuple[int, ...] = ()  # pin the server's processes to these CPUs; empty: no pinning

    def awaits(self, kind: str) -> bool:
        """Whether consumers of this kind will connect."""
        return self.consumers is not None and self.consumers.kind == kind

    @property
    def consumer_tls(self) -> bool:
        """Whether consumers will connect with TLS."""
        return self.consumers is not None and self.consumers.tls


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether this host can run the server, and how to get it when it cannot."""

    available: bool
    version: str | None
    how_to_get: str


@dataclass(frozen=True, slots=True)
class Login:
    """Who the devices say they are. The password is named, never held."""

    username: str
    password: Secret | None = None


@runtime_checkable
class WithLogin(Protocol):
    """An adapter whose server lets nobody in without a user name. Groups without one of their own use this."""

    def login(self) -> Login | None:
        """None when the server asks for nothing."""
        ...


@runtime_checkable
class WithProfiles(Protocol):
    """An adapter that offers some profiles only, each with a sentence on what it means here."""

    profiles: Mapping[Profile, str]


@runtime_checkable
class WithCounterLag(Protocol):
    """An adapter whose server renews its counters now and then only.

    A run waits that long after its last message before it asks for the counters the last time.
    """

    counter_lag_s: float


@runtime_checkable
class WithShareSyntax(Protocol):
    """An adapter of a server that writes shared subscriptions in a way of its own."""

    def share_prefix(self, version: str) -> str | None:
        """What stands for `$share/{share}/` in front of a filter of that MQTT version; None where it is just that."""
        ...


class ServerAdapter(Protocol):
    """One server under test."""

    name: str
    options: tuple[ServerOption, ...]  # what `--option` may set for it

    def capabilities(self) -> frozenset[str]:
        """Names from CAPABILITIES. Static: callable before anything is installed."""
        ...

    def availability(self) -> Availability:
        """Cheap look at this host; starts nothing, downloads nothing."""
        ...

    def prepare(self) -> None:
        """Install or find the server's programs. May download into the cache; shows progress on stderr."""
        ...

    def profile_note(self, profile: Profile) -> str:
        """One sentence on what the profile means here, e.g. that durable mode does not sync to disk."""
        ...

    def start(self, request: StartRequest) -> None:
        """Start and return when every listener accepts connections.

        Raises ServerError with the server's own last log lines when it does not come up.
        """
        ...

    def endpoints(self) -> Mapping[str, Endpoint]:
        """Address and TLS facts of every listener asked for, by name."""
        ...

    def pids(self) -> Sequence[int]:
        """Processes to watch: the server's own, its children included. Empty when unknown."""
        ...

    def alive(self) -> bool:
        """False as soon as the server's process has gone. True when it cannot be known (remote)."""
        ...

    def counters(self) -> Mapping[str, float]:
        """The server's own counts, by metric name. Missing counters are missing, never zero.

        Names: messages_in, messages_out, messages_dropped, connections, subscriptions, buffered_messages,
        largest_queue, largest_queue_hwm, bytes_in, bytes_out. Must return within a second.
        """
        ...

    def access(self, kind: str) -> object | None:
        """How back-end consumers of a kind reach it, in the kind's own terms; None when they cannot."""
        ...

    def stop(self) -> None:
        """End it in order, then by force; no process of ours is left behind. Safe to call twice."""
        ...

    def kill(self) -> None:
        """kill -9 the server's processes, as a crash would."""
        ...

    def restart(self) -> None:
        """Start again on the same directory, listeners and data."""
        ...

    def log_tail(self, lines: int = 20) -> str:
        """Last lines of the server's own log; empty when there is none."""
        ...
