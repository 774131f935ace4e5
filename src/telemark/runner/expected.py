"""What is owed in this run, counted live to know when draining is done."""

from __future__ import annotations

from dataclasses import dataclass, replace

from telemark.model.audience import Audiences
from telemark.runner.phases import Owed
from telemark.runner.totals import Totals


@dataclass(frozen=True, slots=True)
class ExpectedDeliveries:
    """How many deliveries and acknowledgements one sent message leads to."""

    deliveries_per_message: int | None  # None: streams differ, the total cannot be known from the number sent
    acknowledged: bool  # every publisher publishes with QoS 1 or 2

    def owed(self, totals: Totals) -> Owed:
        """What must have arrived for what was sent so far."""
        deliveries = None if self.deliveries_per_message is None else totals.sent * self.deliveries_per_message
        return Owed(deliveries, totals.sent if self.acknowledged else 0)

    def outstanding(self, totals: Totals) -> int | None:
        """Owed and not yet received; duplicates can hide a loss here, the records cannot be fooled so."""
        owed = self.owed(totals).deliveries
        return None if owed is None else max(0, owed - totals.received)


def expected_deliveries(audiences: Audiences) -> ExpectedDeliveries:
    """ExpectedDeliveries of a run, from who is owed what."""
    fan_outs = set(audiences.fan_outs) or {0}
    uniform = fan_outs.pop() if len(fan_outs) == 1 else None
    return ExpectedDeliveries(uniform, 0 not in audiences.streams["qos"] and bool(audiences.fan_outs))


def with_consumers(totals: Totals, received: int) -> Totals:
    """Totals that count what back-end consumers received as well."""
    return replace(totals, received=totals.received + received) if received else totals
