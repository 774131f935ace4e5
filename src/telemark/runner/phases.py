"""The phases of a run as a machine without clocks, processes or files: time and totals in, orders out."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from telemark.model.plan import LoadShape, Phases
from telemark.runner.totals import Totals

NS = 1_000_000_000
LEAD_NS = NS // 4  # so far ahead the common start is announced, besides the time it takes to tell everybody
SETTLE_S = 0.3  # after all owed messages arrived: time for a duplicate to show itself
QUIET_S = 2.0  # without knowing how many are owed: silence that long ends the drain


class Phase(StrEnum):
    """Where a run is. `start` and `rendezvous` are not recorded: nothing is measured in them."""

    START = "start"
    CONNECT = "connect"
    HOLD = "hold"
    RENDEZVOUS = "rendezvous"
    WARMUP = "warmup"
    MEASURE = "measure"
    DRAIN = "drain"
    STOP = "stop"


class Order(StrEnum):
    """What the machine wants done now."""

    BEGIN = "begin"  # tell every engine process the common start
    HALT = "halt"  # stop sending
    FINISH = "finish"  # disconnect and close the records


@dataclass(frozen=True, slots=True)
class Owed:
    """What the messages sent so far must lead to."""

    deliveries: int | None = None  # None: not known
    acks: int = 0


@dataclass(slots=True)
class PhaseMachine:
    """Walks a run through its phases. `step` is called often; it never waits.

    Args:
        lengths: of the phases.
        sends: whether messages are sent at all; without, the run ends after the hold.
        ends_early: the load ends by itself (closed loop with a limit): so does the measuring.
        lead_ns: how far in the future the common start lies when it is announced.
    """

    lengths: Phases
    sends: bool = True
    ends_early: bool = False
    lead_ns: int = LEAD_NS
    phase: Phase = Phase.START
    start_ns: int | None = None
    times: dict[str, list[int]] = field(default_factory=dict)
    problem: str | None = None  # set when the run cannot go on
    _entered_ns: int = 0
    _last_received: int = -1
    _changed_ns: int = 0

    @classmethod
    def for_load(cls, lengths: Phases, load: LoadShape) -> PhaseMachine:
        """The machine of a plan: idle load without measuring time sends nothing, a load with a limit ends by itself."""
        sends = lengths.warmup_s + lengths.measure_s > 0
        return cls(lengths, sends=sends, ends_early=load.limit is not None)

    def enter(self, phase: Phase, now_ns: int) -> None:
        """Close the present phase and begin another at `now_ns`."""
        if self.phase in self.times:
            self.times[self.phase][1] = max(now_ns, self.times[self.phase][0])
        self.phase, self._entered_ns = phase, now_ns
        if phase not in (Phase.START, Phase.RENDEZVOUS):
            self.times[phase] = [now_ns, now_ns]

    def close(self, now_ns: int) -> None:
        """End the phase the run is in, whatever it is."""
        if self.phase in self.times:
            self.times[self.phase][1] = max(now_ns, self.times[self.phase][0])

    def remaining_s(self, now_ns: int) -> float | None:
        """Longest time the present phase can still take; None when it has no length."""
        length = {
            Phase.CONNECT: self.lengths.connect_timeout_s,
            Phase.HOLD: self.lengths.hold_s,
            Phase.WARMUP: self.lengths.warmup_s,
            Phase.MEASURE: self.lengths.measure_s,
            Phase.DRAIN: self.lengths.drain_timeout_s,
        }.get(self.phase)
        return None if length is None else max(0.0, length - (now_ns - self._entered_ns) / NS)

    def step(self, now_ns: int, totals: Totals, owed: Owed) -> list[Order]:
        """Advance as far as time and totals allow.

        Args:
            now_ns: the time.
            totals: newest counts of all engine processes (and consumers).
            owed: what must have arrived for what was sent.
        """
        match self.phase:
            case Phase.CONNECT:
                return self._connect(now_ns, totals)
            case Phase.HOLD:
                return self._hold(now_ns)
            case Phase.RENDEZVOUS | Phase.WARMUP | Phase.MEASURE:
                return self._run(now_ns, totals)
            case Phase.DRAIN:
                return self._drain(now_ns, totals, owed)
        return []

    def _connect(self, now_ns: int, totals: Totals) -> list[Order]:
        if totals.settled:
            self.enter(Phase.HOLD, now_ns)
            return self._hold(now_ns)
        if self._elapsed_s(now_ns) > self.lengths.connect_timeout_s:
            missing = totals.devices - totals.ready
            self.problem = (
                f"{missing} of {totals.devices} devices were not connected and subscribed "
                f"within {self.lengths.connect_timeout_s:g} s"
            )
        return []

    def _hold(self, now_ns: int) -> list[Order]:
        if self._elapsed_s(now_ns) < self.lengths.hold_s:
            return []
        if self.lengths.hold_s <= 0:
            self.times.pop(Phase.HOLD, None)  # it was never there
        if not self.sends:
            self.enter(Phase.STOP, now_ns)
            return [Order.FINISH]
        self.enter(Phase.RENDEZVOUS, now_ns)
        self.start_ns = now_ns + self.lead_ns
        return [Order.BEGIN]

    def _run(self, now_ns: int, totals: Totals) -> list[Order]:
        """Phases after the start are cut at the planned times, not at the times somebody looked at the clock."""
        start = self.start_ns or 0
        measure_from = start + round(self.lengths.warmup_s * NS)
        until = measure_from + round(self.lengths.measure_s * NS)
        if self.phase is Phase.RENDEZVOUS and now_ns >= start:
            self.enter(Phase.WARMUP if self.lengths.warmup_s > 0 else Phase.MEASURE, start)
        if self.phase is Phase.WARMUP and now_ns >= measure_from:
            self.enter(Phase.MEASURE, measure_from)
        if now_ns >= until and self.phase is Phase.MEASURE:
            return self._end_sending(until)
        if self.ends_early and totals.stopped_ns is not None and now_ns > start:
            return self._end_sending(max(totals.stopped_ns, start))
        return []

    def end_measuring(self, now_ns: int) -> list[Order]:
        """End the measuring now, because whoever steers the run has seen enough."""
        return self._end_sending(now_ns) if self.phase in (Phase.WARMUP, Phase.MEASURE) else []

    def _end_sending(self, at_ns: int) -> list[Order]:
        self.enter(Phase.DRAIN, at_ns)
        self._changed_ns, self._last_received = at_ns, -1
        return [Order.HALT]

    def _drain(self, now_ns: int, totals: Totals, owed: Owed) -> list[Order]:
        if totals.received != self._last_received:
            self._last_received, self._changed_ns = totals.received, now_ns
        quiet_s = (now_ns - self._changed_ns) / NS
        enough = totals.received >= owed.deliveries if owed.deliveries is not None else quiet_s >= QUIET_S
        done = enough and totals.acked >= owed.acks and not totals.sending and quiet_s >= SETTLE_S
        if done or self._elapsed_s(now_ns) >= self.lengths.drain_timeout_s:
            self.enter(Phase.STOP, now_ns)
            return [Order.FINISH]
        return []

    def _elapsed_s(self, now_ns: int) -> float:
        return (now_ns - self._entered_ns) / NS
