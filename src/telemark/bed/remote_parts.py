"""Server adapter, consumers and health sampler of a run whose parts are on other hosts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from telemark.bed.servants import ServantLink
from telemark.errors import HostLostError, RequirementError, TelemarkError
from telemark.runner.hosts import Sampler
from telemark.servers.contract import ServerAdapter
from telemark.servers.local import LocalServer

# Methods of adapters that act on the server's host. All others tell what is known without it.
_THERE = (
    "availability", "prepare", "profile_note", "start", "endpoints", "pids", "alive", "counters", "access", "login",
    "stop", "kill", "restart", "log_tail", "fail_over", "faults", "set_faults",
)  # fmt: skip
_ENDINGS = ("stop", "kill")  # a lost host has ended everything by itself


def remote_adapter(adapter: LocalServer, servant: ServantLink) -> ServerAdapter:
    """The adapter, acting on another host. It stays an instance of its class, with all that the class declares."""
    kind = type(adapter)
    servant.call("adopt", kind, adapter.user_options)
    methods = {name: _forward(name, servant) for name in _THERE if hasattr(kind, name)}
    remote = copy.copy(adapter)
    remote.__class__ = type(f"Remote{kind.__name__}", (kind,), methods)
    return cast("ServerAdapter", remote)


def _forward(name: str, servant: ServantLink) -> Callable[..., Any]:
    def call(_: ServerAdapter, *arguments: Any) -> Any:
        try:
            return servant.call("adapter", name, *arguments)
        except HostLostError:
            if name in _ENDINGS:
                return None
            raise

    return call


class RemoteConsumers:
    """Keeps the contract of `consumers/contract.py`, for consumers on another host."""

    def __init__(self, servant: ServantLink, own_time: Callable[[int], int]) -> None:
        self._servant = servant
        self._own_time = own_time

    def start(self) -> None:
        """See the contract."""
        self._servant.call("consumers", "start")

    def go(self, start_ns: int) -> None:
        """See the contract."""
        self._servant.call("consumers", "go", self._own_time(start_ns))

    def received(self) -> int:
        """See the contract."""
        return int(self._servant.call("consumers", "received"))

    def poll(self) -> Mapping[str, float]:
        """See the contract."""
        found: Mapping[str, float] = self._servant.call("consumers", "poll")
        return found

    def pids(self) -> Sequence[int]:
        """See the contract. They are watched on their own host."""
        return ()

    def failure(self) -> str | None:
        """See the contract."""
        found: str | None = self._servant.call("consumers", "failure")
        return found

    def restart(self) -> None:
        """See the contract."""
        self._servant.call("consumers", "restart")

    def kill(self) -> None:
        """See the contract."""
        with suppress(HostLostError):
            self._servant.call("consumers", "kill")

    def stop(self) -> None:
        """See the contract."""
        with suppress(HostLostError):
            self._servant.call("consumers", "stop")


class BedSampler:
    """Health of every host, sampled there. Keeps the contract of `runner.hosts.Sampler`.

    Args:
        servants: of all hosts.
        watch: tells one of them what to watch.
        others: sample a server that is no part of the bed.
    """

    def __init__(self, servants: Sequence[ServantLink], watch: Callable[[ServantLink], None], others: Sampler) -> None:
        self._servants = servants
        self._watch = watch
        self._others = others
        self._started: list[ServantLink] = []

    @property
    def failure(self) -> BaseException | None:
        """Why sampling has ended on some host. A full disk is one reason."""
        if self._others.failure is not None:
            return self._others.failure
        for servant in self._servants:
            if servant.sampling_failed is not None:
                return RequirementError(f"host {servant.line.host}: {servant.sampling_failed}")
        return None

    def start(self) -> None:
        """See the contract."""
        for servant in self._servants:
            servant.sampling_failed = None
            servant.totals.clear()
            self._watch(servant)
            self._started.append(servant)
        self._others.start()

    def stop(self, *, wait_s: float = 2.0) -> None:
        """See the contract. A host that cannot close its records keeps no other from closing its own."""
        started, self._started = self._started, []
        problem: TelemarkError | None = None
        for servant in started:
            try:
                servant.call("stop_watching", wait_s)
            except HostLostError:
                continue
            except TelemarkError as error:
                problem = problem or error
        self._others.stop(wait_s=wait_s)
        if problem is not None:
            raise problem

    def latest(self, source: str, metric: str) -> Mapping[str, float]:
        """See the contract. Instances of other hosts are not known here."""
        return {}

    def total(self, source: str, metric: str) -> float | None:
        """See the contract."""
        found = [servant.totals[source, metric] for servant in self._servants if (source, metric) in servant.totals]
        other = self._others.total(source, metric)
        found += [] if other is None else [other]
        return sum(found) if found else None
