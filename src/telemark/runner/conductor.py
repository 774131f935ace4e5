"""The loop that steers a run once everything is started: listen, look, decide, tell."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from telemark.consumers.contract import BackendConsumers
from telemark.errors import ConfigError, ConsumerError, EngineError, RequirementError, ServerError, TelemarkError
from telemark.model.plan import RunPlan
from telemark.runner.expected import ExpectedDeliveries, with_consumers
from telemark.runner.fleet import Fleet
from telemark.runner.hosts import RunHosts, Sampler
from telemark.runner.phases import NS, Order, Phase, PhaseMachine
from telemark.runner.progress import Progress, RunListener
from telemark.runner.run_record import RunRecord
from telemark.runner.totals import Totals
from telemark.servers.contract import ServerAdapter
from telemark.store.documents.run import RateChange
from telemark.store.health_metrics import ENGINE, SERVER

LOOK_EVERY_S = 0.1  # when nobody says anything; a process that dies is heard at once
TELL_EVERY_S = 0.25
RATE_LEAD_S = 0.5  # a new rate begins so much later, so that every engine process hears of it in time
RATE_LOOKS = 5  # looks back for live rates: more than a second, as consumers report once a second
ALL_GONE_S = 2.0  # every device disconnected for that long: the server is lost, even if nobody saw it die
MOST_REVIVALS = 3  # of back-end consumers; after that something is wrong that a restart does not mend
FINISH_TIMEOUT_S = 30.0  # for engine processes to disconnect and close their records, and one second for 1,000 devices


@dataclass(slots=True)
class RunControl:
    """What whoever steers a run may see and do."""

    progress: Progress
    set_rate: Callable[[float], int]  # new aggregate rate, messages a second; returns when it begins
    end_measuring: Callable[[], None]


Steering = Callable[[RunControl], None]


@dataclass(slots=True)
class Conductor:
    """Conducts one run from connecting devices to the last closed record file."""

    run: str
    plan: RunPlan
    fleet: Fleet
    adapter: ServerAdapter
    sampler: Sampler
    hosts: RunHosts
    expected: ExpectedDeliveries
    listener: RunListener
    machine: PhaseMachine
    record: RunRecord
    consumers: BackendConsumers | None = None
    steering: Steering | None = None
    allow_connect_failures: bool = False
    rate_changes: list[RateChange] = field(default_factory=list)
    consumer_figures: dict[str, float] = field(default_factory=dict)
    _began_ns: int = 0
    _told_ns: int = 0
    _looks: deque[tuple[int, Totals]] = field(default_factory=lambda: deque(maxlen=RATE_LOOKS))
    _gone_since_ns: int | None = None
    _polled_ns: int = 0
    _revived: int = 0

    def conduct(self) -> None:
        """Until every engine process has finished.

        Raises:
            TelemarkError: the run cannot go on; its kind says who failed.
        """
        self._began_ns = self._told_ns = time.monotonic_ns()
        self.machine.lead_ns += self.fleet.telling_ns
        self.machine.enter(Phase.CONNECT, self._began_ns)
        while not self.fleet.finished:
            self._listen()
            now_ns = time.monotonic_ns()
            totals = self.totals()
            self._check(now_ns, totals)
            for order in self.machine.step(now_ns, totals, self.expected.owed(totals)):
                self._give(order, totals)
            if now_ns - self._told_ns >= TELL_EVERY_S * NS:
                self._tell(now_ns, totals)

    def tell_last(self) -> None:
        """Everything has ended: the counts of this moment are those of the records."""
        with suppress(TelemarkError):  # a consumer's host that is lost has nothing more to tell
            self.listener.progress(self._progress(time.monotonic_ns(), self.totals()))

    def totals(self) -> Totals:
        """Counts of engine processes and consumers together."""
        return with_consumers(self.fleet.totals(), self.consumers.received() if self.consumers else 0)

    def _listen(self) -> None:
        try:
            self.fleet.poll(LOOK_EVERY_S)
        except TelemarkError:
            self.hosts.check()
            self._refuse_dead_server()  # an engine may fail because the server did: name the cause, not the effect
            raise

    def _check(self, now_ns: int, totals: Totals) -> None:
        self.hosts.check()
        self._refuse_dead_server()
        if self.machine.problem:
            raise ServerError(self.machine.problem + self._first_event())
        if self.sampler.failure is not None:
            raise _as_error(self.sampler.failure)
        self._look_after_consumers(now_ns)
        self._tell_late_rates()
        self._refuse_lost_server(now_ns, totals)
        if self.machine.phase is Phase.STOP and self._stop_took_too_long(now_ns, totals):
            raise EngineError("the engine processes did not close their records in time")

    def _refuse_dead_server(self) -> None:
        if self.adapter.alive():
            return
        lines = self.adapter.log_tail(5).strip()
        raise ServerError(f"server {self.adapter.name} died{self._phase_words()}", hint=lines or None)

    def _phase_words(self) -> str:
        return f" in phase {self.machine.phase}"

    def _refuse_lost_server(self, now_ns: int, totals: Totals) -> None:
        """All devices gone without a word: also a server we cannot see die (remote) has failed then."""
        lost = totals.disconnects > 0 and totals.connected == 0 and self.machine.phase is not Phase.STOP
        self._gone_since_ns = (self._gone_since_ns or now_ns) if lost else None
        if self._gone_since_ns is not None and now_ns - self._gone_since_ns > self._patience_ns():
            raise ServerError(
                f"server {self.adapter.name} disconnected all {totals.devices} devices{self._phase_words()}"
                f"{self._first_event()}"
            )

    def _patience_ns(self) -> int:
        """Devices that reconnect are given the time of their policy."""
        waits = [group.reconnect.delay_s for group in self.plan.groups if group.reconnect.policy == "after"]
        return round((ALL_GONE_S + 2 * max(waits, default=0.0)) * NS)

    def _look_after_consumers(self, now_ns: int) -> None:
        if self.consumers is None:
            return
        failure = self.consumers.failure()
        if failure:
            self._revive(self.consumers, failure)
        if now_ns - self._polled_ns >= NS:
            self._polled_ns = now_ns
            self.consumer_figures = dict(self.consumers.poll())

    def _revive(self, consumers: BackendConsumers, failure: str) -> None:
        """Durable subscriptions outlive their consumers: start those again, and let the records show what was lost."""
        durable = self.plan.consumers is not None and self.plan.consumers.durable
        if not durable or self._revived >= MOST_REVIVALS:
            raise ConsumerError(f"consumers: {failure}")
        self._revived += 1
        self.listener.note(f"consumers: {failure}; starting them again")
        consumers.restart()

    def _stop_took_too_long(self, now_ns: int, totals: Totals) -> bool:
        since = self.machine.times[Phase.STOP][0]
        return now_ns - since > (FINISH_TIMEOUT_S + totals.devices / 1000) * NS

    def _give(self, order: Order, totals: Totals) -> None:
        match order:
            case Order.BEGIN:
                self._refuse_missing_devices(totals)
                start_ns = self.machine.start_ns or 0
                if self.consumers is not None:
                    self.consumers.go(start_ns)
                self.fleet.begin(start_ns)
            case Order.HALT:
                self.fleet.halt()
            case Order.FINISH:
                self.fleet.finish()

    def _refuse_missing_devices(self, totals: Totals) -> None:
        """Numbers of a run with fewer devices than asked for would answer another question."""
        if totals.ready == 0 or (totals.failed and not self.allow_connect_failures):
            raise ServerError(
                f"{totals.failed} of {totals.devices} devices could not connect and subscribe{self._first_event()}",
                hint="the run folder's connections and events tables name each of them",
            )

    def _first_event(self) -> str:
        return f"; first: {self.fleet.events[0]}" if self.fleet.events else ""

    def _tell(self, now_ns: int, totals: Totals) -> None:
        progress = self._progress(now_ns, totals)
        self._told_ns = now_ns
        self._looks.append((now_ns, totals))
        self.listener.progress(progress)
        if self.steering is not None:
            self.steering(RunControl(progress, self.change_rate, self._end_measuring))

    def change_rate(self, rate: float) -> int:
        """Give every engine process its share of a new rate, from one common time on.

        Returns:
            That time, on the runner's clock. What is due before it keeps its old time.

        Raises:
            ConfigError: this run has no rate that can be changed, or sends nothing (any more).
        """
        at_ns = time.monotonic_ns() + round(RATE_LEAD_S * NS) + self.fleet.telling_ns
        self._refuse_change(at_ns)
        self.fleet.set_rate(rate, at_ns)
        self.rate_changes.append({"at_ns": at_ns, "rate": rate})
        self.record.event("rate_changed", f"{rate:,g} messages a second", at_ns)
        self.listener.note(f"rate: {rate:,g} messages a second")
        return at_ns

    def _refuse_change(self, at_ns: int) -> None:
        if not self.plan.load.rate_can_change:
            raise ConfigError(f"the run has no rate to change: its load is {self.plan.load.describe()}")
        remaining_s = self.machine.remaining_s(at_ns)
        if self.machine.phase not in (Phase.WARMUP, Phase.MEASURE):
            raise ConfigError(f"the run is in phase {self.machine.phase}: it sends in warmup and measure only")
        if self.machine.phase is Phase.MEASURE and not remaining_s:
            raise ConfigError("the run stops sending before a new rate could begin")

    def _tell_late_rates(self) -> None:
        while self.fleet.late_rates:
            process, late_ns = self.fleet.late_rates.pop()
            text = f"engine process {process} heard of the new rate {late_ns / 1e6:.3f} ms too late"
            self.record.event("rate_late", text)
            self.listener.note(text)

    def _end_measuring(self) -> None:
        for order in self.machine.end_measuring(time.monotonic_ns()):
            self._give(order, self.totals())

    def _progress(self, now_ns: int, totals: Totals) -> Progress:
        since_ns, before = self._looks[0] if self._looks else (self._began_ns, Totals())
        seconds = max((now_ns - since_ns) / NS, 1e-9)
        return Progress(
            run=self.run,
            phase=self.machine.phase,
            elapsed_s=(now_ns - self._began_ns) / NS,
            remaining_s=self.machine.remaining_s(now_ns),
            totals=totals,
            outstanding=self.expected.outstanding(totals),
            sent_rate=(totals.sent - before.sent) / seconds,
            received_rate=(totals.received - before.received) / seconds,
            connect_rate=(totals.ready - before.ready) / seconds,
            server_cpu_cores=self.sampler.total(SERVER, "cpu_cores"),
            server_rss_bytes=self.sampler.total(SERVER, "rss_bytes"),
            engine_cpu_cores=self.sampler.total(ENGINE, "cpu_cores"),
        )


def _as_error(failure: BaseException) -> TelemarkError:
    """The sampler's failure: most likely a full disk."""
    if isinstance(failure, TelemarkError):
        return failure
    return RequirementError(f"health samples cannot be taken or written: {failure}")
