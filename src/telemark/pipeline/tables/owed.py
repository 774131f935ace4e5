"""Who is owed what: from the small tables that the runner and the engine leave with a run.

A stream's messages are owed to every subscription of its audience, and once to every share group that has a member in
it. Subscriptions and groups are both "owners". The QoS that rules is the smaller of publishing and subscribing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from telemark.model.owners import Owners, owed_qos, owners_of
from telemark.pipeline.messages.keys import BLOCK, member_key
from telemark.pipeline.tables.records import RunRecords
from telemark.store.layout import RunFolder


@dataclass(slots=True)
class Owed:
    """Messages owed to an owner under one QoS; `unknown` counts streams nobody left word about."""

    messages: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class OwedToRun:
    """What the messages of one run owe to whom."""

    owners: Owners
    steady: frozenset[int]  # subscriptions in force from before the first message to the end
    owed: dict[tuple[int, int], Owed]  # (owner, QoS that rules)
    streams: list[tuple[int, int, int, int | None]]  # stream, audience, publish QoS, sent
    audiences: dict[tuple[int, int], int]  # (audience, owner) -> subscribe QoS


def owed_to(run: RunFolder, records: RunRecords, shared_from: int) -> OwedToRun:
    """Who is owed what in one run. Share group g is owner `shared_from + g`."""
    numbers, shares, filters, levels = records.columns("subscriptions", "subscription", "share", "filter", "qos")
    owners = owners_of(numbers, shares, filters, levels, shared_from)
    audience_numbers, subscriptions = records.columns("audiences", "audience", "subscription")
    audiences = owed_qos(audience_numbers, subscriptions, owners)
    streams = _streams(records)
    return OwedToRun(owners, _steady(run, records), _owed(streams, audiences), streams, audiences)


def _steady(run: RunFolder, records: RunRecords) -> frozenset[int]:
    """Subscriptions that were in force before the first message, and without a break until receiving ended.

    A durable subscription is owed what is sent while its device is away: a break takes nothing from it.
    """
    phases, start = run.facts.phases, run.facts.start_ns
    ended = next((phases[name][1] for name in ("drain", "measure") if name in phases), None)
    if start is None or ended is None or not run.facts.complete:
        return frozenset()
    durable = {
        number
        for number, kept in zip(*records.columns("subscriptions", "subscription", "durable"), strict=True)
        if kept
    }
    return frozenset(
        number
        for number, begin, until in zip(
            *records.columns("subscribed", "subscription", "from_ns", "until_ns"), strict=True
        )
        if begin <= start and (number in durable or until is None or until >= ended)
    )


def _streams(records: RunRecords) -> list[tuple[int, int, int, int | None]]:
    sent: dict[int, int] = defaultdict(int)
    for stream, messages in zip(*records.columns("senders", "stream", "sent"), strict=True):
        sent[stream] += messages
    columns = records.columns("streams", "stream", "audience", "qos")
    return [(stream, audience, qos, sent.get(stream)) for stream, audience, qos in zip(*columns, strict=True)]


def _owed(
    streams: list[tuple[int, int, int, int | None]], audiences: dict[tuple[int, int], int]
) -> dict[tuple[int, int], Owed]:
    by_audience: dict[int, dict[int, Owed]] = defaultdict(lambda: defaultdict(Owed))
    for _, audience, qos, sent in streams:
        total = by_audience[audience][qos]
        total.messages += sent or 0
        total.unknown += sent is None
    found: dict[tuple[int, int], Owed] = defaultdict(Owed)
    for (audience, owner), subscribed in audiences.items():
        for published, total in by_audience.get(audience, {}).items():
            owed = found[owner, min(published, subscribed)]
            owed.messages += total.messages
            owed.unknown += total.unknown
    return dict(found)


def expected_blocks(runs: Sequence[OwedToRun]) -> int | None:
    """How many blocks the messages owed in a batch fill; None when it is not known what was sent."""
    total = 0
    for run in runs:
        by_audience: dict[int, int] = defaultdict(int)
        for _, audience, _, sent in run.streams:
            if sent is None:
                return None
            by_audience[audience] += -(-sent // BLOCK)
        # Deliveries that nobody is owed are one block for each owner.
        total += sum(by_audience[audience] for audience, _ in run.audiences) + len(run.owners.by_number) + 1
    return total


def stream_table(runs: Sequence[OwedToRun]) -> pa.Table:
    """(r, stream, audience, publish_qos) of a batch."""
    rows = [(number, *stream[:3]) for number, run in enumerate(runs) for stream in run.streams]
    return _table(("r", "stream", "audience", "publish_qos"), rows)


def audience_table(runs: Sequence[OwedToRun]) -> pa.Table:
    """(r, audience, owner, subscribe_qos) of a batch."""
    rows = [(number, *key, qos) for number, run in enumerate(runs) for key, qos in run.audiences.items()]
    return _table(("r", "audience", "owner", "subscribe_qos"), rows)


def member_table(runs: Sequence[OwedToRun]) -> pa.Table:
    """(member, owner) of the shared subscriptions of a batch; a member is run and subscription in one number."""
    members = [
        (member_key(number, subscription), owner)
        for number, run in enumerate(runs)
        for subscription, owner in run.owners.of_subscription.items()
        if owner != subscription
    ]
    keys, owners = [member for member, _ in members], [owner for _, owner in members]
    return pa.table({"member": pa.array(keys, pa.int64()), "owner": pa.array(owners, pa.int32())})


def _table(names: Sequence[str], rows: Sequence[tuple[int | None, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.Table.from_arrays([pa.array(column, pa.int32()) for column in columns], names=list(names))
