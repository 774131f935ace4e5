"""Who is owed what: from the small tables that the runner and the engine leave with a run.

A stream's messages are owed to every subscription of its audience, and once to every share group that has a member in
it. Subscriptions and groups are both "owners". The QoS that rules is the smaller of publishing and subscribing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from telemark.pipeline.batch import Batch
from telemark.pipeline.small import SmallTables
from telemark.store.layout import RunFolder


@dataclass(slots=True)
class Owner:
    """A plain subscription or a share group."""

    subscription: int  # the smallest of a group
    share: int | None
    filter: str
    qos: int
    members: int = 1
    steady: bool = True  # every member was in force from before the first message to the end


@dataclass(slots=True)
class Owed:
    """Messages owed to an owner under one QoS; `unknown` counts streams nobody left word about."""

    messages: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Debts:
    """Of one run."""

    owners: dict[int, Owner]
    owed: dict[tuple[int, int], Owed]  # (owner, QoS that rules)
    streams: list[tuple[int, int, int, int | None]]  # stream, audience, publish QoS, sent
    audiences: dict[tuple[int, int], int]  # (audience, owner) -> subscribe QoS
    owner_of: dict[int, int] = field(default_factory=dict)  # subscription -> owner


def debts(small: SmallTables, place: int, run: RunFolder, shared_from: int) -> Debts:
    """What one run owes to whom. Share group g is owner `shared_from + g`."""
    steady = _steady(small, place, run)
    owners, owner_of, qos_of = _owners(small, place, shared_from, steady)
    audiences = _audiences(small, place, owner_of, qos_of)
    streams = _streams(small, place)
    return Debts(owners, _owed(streams, audiences), streams, audiences, owner_of)


def _steady(small: SmallTables, place: int, run: RunFolder) -> dict[int, tuple[bool, bool]]:
    """Subscription -> (in force before the first message, and without a break until receiving ended)."""
    phases, start = run.facts.phases, run.facts.start_ns
    ended = next((phases[name][1] for name in ("drain", "measure") if name in phases), None)
    if start is None or ended is None or not run.facts.complete:
        return {}
    found: dict[int, tuple[bool, bool]] = {}
    for number, begin, until in zip(
        *small.columns(place, "subscribed", "subscription", "from_ns", "until_ns"), strict=True
    ):
        early, lasting = found.get(number, (False, False))
        now_early = begin <= start
        found[number] = (early or now_early, lasting or (now_early and (until is None or until >= ended)))
    return found


def _owners(
    small: SmallTables, place: int, shared_from: int, steady: dict[int, tuple[bool, bool]]
) -> tuple[dict[int, Owner], dict[int, int], dict[int, int]]:
    owners: dict[int, Owner] = {}
    owner_of: dict[int, int] = {}
    qos_of: dict[int, int] = {}
    table = small.table(place, "subscriptions")
    columns = [table[name].to_pylist() for name in ("subscription", "share", "filter", "qos", "durable")]
    for number, share, text, qos, durable in zip(*columns, strict=True):
        early, lasting = steady.get(number, (False, False))
        # A durable subscription is owed what is sent while its device is away: a break takes nothing from it.
        kept = lasting or (bool(durable) and early)
        owner = number if share is None else shared_from + share
        owner_of[number], qos_of[number] = owner, qos
        known = owners.get(owner)
        if known is None:
            owners[owner] = Owner(number, share, text, qos, 1, kept)
            continue
        known.subscription, known.filter = min(known.subscription, number), min(known.filter, text)
        known.qos, known.members, known.steady = min(known.qos, qos), known.members + 1, known.steady and kept
    return owners, owner_of, qos_of


def _audiences(
    small: SmallTables, place: int, owner_of: dict[int, int], qos_of: dict[int, int]
) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for audience, number in zip(*small.columns(place, "audiences", "audience", "subscription"), strict=True):
        if number in owner_of:
            key = (audience, owner_of[number])
            found[key] = min(found.get(key, 2), qos_of[number])
    return found


def _streams(small: SmallTables, place: int) -> list[tuple[int, int, int, int | None]]:
    sent: dict[int, int] = defaultdict(int)
    for stream, messages in zip(*small.columns(place, "senders", "stream", "sent"), strict=True):
        sent[stream] += messages
    columns = small.columns(place, "streams", "stream", "audience", "qos")
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


def stream_table(all_debts: list[Debts]) -> pa.Table:
    """(r, stream, audience, publish_qos, sent) of a batch, for Spark to join with."""
    rows = [(place, *stream) for place, each in enumerate(all_debts) for stream in each.streams]
    names = ("r", "stream", "audience", "publish_qos", "sent")
    return _table(names, rows, {"sent": pa.int64()})


def audience_table(all_debts: list[Debts]) -> pa.Table:
    """(r, audience, owner, subscribe_qos) of a batch."""
    rows = [(place, *key, qos) for place, each in enumerate(all_debts) for key, qos in each.audiences.items()]
    return _table(("r", "audience", "owner", "subscribe_qos"), rows, {})


def member_table(all_debts: list[Debts]) -> pa.Table:
    """(member, owner) of a batch; a member is run and subscription in one number."""
    rows = [((place << 32) | number, owner) for place, number, owner in _members(all_debts)]
    return _table(("member", "owner"), rows, {"member": pa.int64()})


def _members(all_debts: list[Debts]) -> Iterator[tuple[int, int, int]]:
    for place, each in enumerate(all_debts):
        for number, owner in each.owner_of.items():
            yield place, number, owner


def _table(names: tuple[str, ...], rows: Sequence[tuple[int | None, ...]], types: dict[str, pa.DataType]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    arrays = [pa.array(column, types.get(name, pa.int32())) for name, column in zip(names, columns, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))


def of_batch(small: SmallTables, batch: Batch, shared_from: int) -> list[Debts]:
    """The debts of every run of a batch, by its place."""
    return [debts(small, place, run, shared_from) for place, run in batch]
