"""Who is owed what: the tables streams, subscriptions and audiences of a run, computed from its plan.

The runner writes them before the start. Publishers whose topics match the same subscriptions share one audience, so
that the tables stay small: 512,000 publishers into 100 partitions are 100 audiences.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from telemark.catalog.topics import FilterTrie, Leaves
from telemark.errors import ConfigError
from telemark.model.pattern import parse
from telemark.model.plan import EnginePlan, Group, JmsConsumers, RunPlan, Subscription
from telemark.store.schemas import AUDIENCES, STREAMS, SUBSCRIPTIONS

MAXIMUM_ROWS = 100_000_000  # of audiences: more would not fit a small machine's memory
NO_DEVICE = -1


@dataclass(frozen=True, slots=True)
class AudienceTables:
    """The three tables, as `telemark.store.schemas` defines them."""

    streams: pa.Table
    subscriptions: pa.Table
    audiences: pa.Table


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Subscriptions with one and the same filter: `count` of them, numbered from `first`."""

    first: int
    count: int
    first_device: int
    no_local: bool = False


@dataclass
class _Subscriptions:
    """Columns of the subscriptions table while they are filled, and the trie over the filters."""

    trie: FilterTrie = field(default_factory=FilterTrie)
    leaves: list[_Leaf] = field(default_factory=list)
    devices: list[int] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    shares: list[int | None] = field(default_factory=list)
    qos: list[int] = field(default_factory=list)
    durable: list[bool] = field(default_factory=list)
    share_numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, leaf: _Leaf, text: str, share: str | None, qos: int, durable: bool) -> None:
        """Subscriptions `leaf.first` and following, all with the filter `text` (without $share)."""
        if leaf.first != len(self.devices):
            raise ConfigError(f"subscription {text!r} has number {leaf.first}, expected {len(self.devices)}: no gaps")
        number = None if share is None else self.share_numbers.setdefault((share, text), len(self.share_numbers))
        shown = text if share is None else f"$share/{share}/{text}"
        self.trie.add(text, len(self.leaves))
        self.leaves.append(leaf)
        for offset in range(leaf.count):
            self.devices.append(NO_DEVICE if leaf.first_device == NO_DEVICE else leaf.first_device + offset)
        self.filters += [shown] * leaf.count
        self.shares += [number] * leaf.count
        self.qos += [qos] * leaf.count
        self.durable += [durable] * leaf.count

    def table(self) -> pa.Table:
        columns = [range(len(self.devices)), self.devices, self.filters, self.shares, self.qos, self.durable]
        return _table(columns, SUBSCRIPTIONS)


def audience_tables(plan: RunPlan, engines: Sequence[EnginePlan] = ()) -> AudienceTables:
    """The tables of a run.

    Args:
        plan: the point.
        engines: its slices, which say what process plays each stream; without them every stream is process 0's.

    Raises:
        ConfigError: a publisher's topics reach other subscribers from message to message.
    """
    subscriptions = _subscriptions(plan)
    numbers: dict[tuple[Leaves, int], int] = {}
    audience = array("i")
    devices = array("i")
    levels = array("b")
    for group in plan.groups:
        if group.publish:
            audience.extend(_audiences_of(group, subscriptions, numbers))
            devices.extend(range(group.first_device, group.first_device + group.count))
            levels.extend([group.publish.qos] * group.count)
    process = _processes(len(audience), engines)
    streams = _table([range(len(audience)), devices, process, audience, levels], STREAMS)
    return AudienceTables(streams, subscriptions.table(), _members(numbers, subscriptions.leaves))


def fan_out(plan: RunPlan, sample: int = 200) -> float:
    """Deliveries one message causes: one for each plain subscription it matches and one for each share group.

    Looks at up to `sample` publishers, evenly spread over each group: an estimate for plans, not for results.
    """
    subscriptions = _subscriptions(plan)
    total = weight = 0.0
    for group in plan.groups:
        if not group.publish:
            continue
        matcher = subscriptions.trie.matcher(group.publish.topic)
        step = max(1, group.count // sample)
        looked_at = range(group.first_index, group.first_index + group.count, step)
        owed = sum(_deliveries(matcher.leaves(index), subscriptions) for index in looked_at)
        total += owed / len(looked_at) * group.count
        weight += group.count
    return total / weight if weight else 0.0


def _deliveries(found: Leaves, subscriptions: _Subscriptions) -> int:
    shares = set()
    plain = 0
    for leaf in (subscriptions.leaves[number] for number in found):
        share = subscriptions.shares[leaf.first]
        if share is None:
            plain += leaf.count
        else:
            shares.add(share)
    return plain + len(shares)


def _subscriptions(plan: RunPlan) -> _Subscriptions:
    subscriptions = _Subscriptions()
    for group in plan.groups:
        durable = group.session_expiry_s > 0 if group.version == "5" else not group.clean_start
        for subscription in group.subscriptions:
            share, text = _split_share(subscription.filter)
            for leaf, expanded in _leaves_of(group, subscription, text):
                subscriptions.add(leaf, expanded, share, subscription.qos, durable)
    if plan.consumers:
        _add_consumers(plan.consumers, subscriptions)
    return subscriptions


def _split_share(topic_filter: str) -> tuple[str | None, str]:
    if not topic_filter.startswith("$share/"):
        return None, topic_filter
    _, name, text = topic_filter.split("/", 2)
    return name, text


def _leaves_of(group: Group, subscription: Subscription, text: str) -> Iterator[tuple[_Leaf, str]]:
    """One leaf for the whole group when all its devices ask for the same, else one for each device."""
    pattern = parse(text)
    first = subscription.first_subscription
    if not pattern.uses("index"):
        yield _Leaf(first, group.count, group.first_device, subscription.no_local), pattern.expand(0)
        return
    for offset in range(group.count):
        leaf = _Leaf(first + offset, 1, group.first_device + offset, subscription.no_local)
        yield leaf, pattern.expand(group.first_index + offset)


def _add_consumers(consumers: JmsConsumers, subscriptions: _Subscriptions) -> None:
    share = consumers.share_name if consumers.subscription.startswith("shared") else None
    durable = consumers.subscription.endswith("durable")
    pattern = parse(consumers.topic)
    for number in range(consumers.count):
        leaf = _Leaf(consumers.first_subscription + number, 1, NO_DEVICE)
        subscriptions.add(leaf, pattern.expand(number), share, consumers.qos, durable)


def _audiences_of(group: Group, subscriptions: _Subscriptions, numbers: dict[tuple[Leaves, int], int]) -> Iterator[int]:
    """The audience number of each device of a publishing group; new audiences are added to `numbers`."""
    if group.publish is None:
        return
    matcher = subscriptions.trie.matcher(group.publish.topic)
    leaves = subscriptions.leaves
    selective = any(leaf.no_local for leaf in leaves)
    for offset in range(group.count):
        found = matcher.leaves(group.first_index + offset)
        own = _own_device(found, leaves, group.first_device + offset) if selective else NO_DEVICE
        yield numbers.setdefault((found, own), len(numbers))


def _own_device(found: Leaves, leaves: Sequence[_Leaf], device: int) -> int:
    """The device, when a matching subscription of its own asks not to get its own messages back."""
    for number in found:
        leaf = leaves[number]
        if leaf.no_local and leaf.first_device <= device < leaf.first_device + leaf.count:
            return device
    return NO_DEVICE


def _members(numbers: dict[tuple[Leaves, int], int], leaves: Sequence[_Leaf]) -> pa.Table:
    rows = sum(leaves[leaf].count for found, _ in numbers for leaf in found)
    if rows > MAXIMUM_ROWS:
        raise ConfigError(
            f"{len(numbers)} audiences have {rows} members together, at most {MAXIMUM_ROWS} can be recorded",
            hint="use fewer subscribers or let publishers share topics",
        )
    audiences = array("i")
    members = array("i")
    for (found, own), number in numbers.items():
        for leaf in (leaves[each] for each in found):
            chosen = range(leaf.first, leaf.first + leaf.count)
            if leaf.no_local and own != NO_DEVICE and leaf.first_device <= own < leaf.first_device + leaf.count:
                without = leaf.first + own - leaf.first_device
                members.extend(member for member in chosen if member != without)
            else:
                members.extend(chosen)
        audiences.extend([number] * (len(members) - len(audiences)))
    return _table([audiences, members], AUDIENCES)


def _processes(streams: int, engines: Sequence[EnginePlan]) -> list[int]:
    """The process that plays each stream."""
    starts = sorted(
        (group.publish.first_stream, engine.process)
        for engine in engines
        for group in engine.groups
        if group.publish and group.count
    )
    if not starts:
        return [0] * streams
    firsts = [first for first, _ in starts]
    return [starts[bisect_right(firsts, stream) - 1][1] for stream in range(streams)]


def _table(columns: Sequence[Sequence[object] | array[int]], schema: pa.Schema) -> pa.Table:
    arrays = [pa.array(column, kind.type) for column, kind in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
