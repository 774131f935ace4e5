"""Who is owed what in this run: written before the start, and counted live to know when draining is done."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from telemark.catalog.audience import AudienceTables
from telemark.model.plan import RunPlan
from telemark.runner.phases import Owed
from telemark.runner.totals import Totals


@dataclass(frozen=True, slots=True)
class Debts:
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


def count_debts(plan: RunPlan, tables: AudienceTables) -> Debts:
    """Debts of a run from its audience tables."""
    levels = [group.publish.qos for group in plan.groups if group.publish]
    fan_outs = set(fan_out_by_stream(tables).unique().to_pylist())
    uniform = fan_outs.pop() if len(fan_outs) == 1 else None
    return Debts(uniform if levels else 0, bool(levels) and min(levels) > 0)


def fan_out_by_stream(tables: AudienceTables) -> pa.ChunkedArray:
    """Deliveries owed for each message of a stream: one for each plain subscription and each share group."""
    share = pc.take(tables.subscriptions["share"], tables.audiences["subscription"])
    members = pa.table({"audience": tables.audiences["audience"], "share": share, "plain": pc.is_null(share)})
    members = members.set_column(2, "plain", members["plain"].cast(pa.int64()))
    counted = members.group_by("audience").aggregate([("plain", "sum"), ("share", "count_distinct")])
    fan_out = pc.add(counted["plain_sum"], counted["share_count_distinct"])
    by_audience = dict(zip(counted["audience"].to_pylist(), fan_out.to_pylist(), strict=True))
    audiences = tables.streams["audience"].to_pylist()
    return pa.chunked_array([[by_audience.get(audience, 0) for audience in audiences]], pa.int64())


def with_consumers(totals: Totals, received: int) -> Totals:
    """Totals that count what back-end consumers received as well."""
    return replace(totals, received=totals.received + received) if received else totals
