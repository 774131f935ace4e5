"""Who is owed what: streams, subscriptions and audiences of a run, computed from its plan.

The runner writes them before the start. Publishers whose topics match the same subscriptions share one audience, so
that the tables stay small: 512,000 publishers into 100 partitions are 100 audiences. A message is owed once to every
owner in its stream's audience: a plain subscription is an owner, and so is a share group, whatever its size.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from telemark.errors import ConfigError
from telemark.model.pattern import parse
from telemark.model.plan import EnginePlan, Group, RunPlan
from telemark.model.topics import FilterTrie, Leaves

MAXIMUM_ROWS = 100_000_000  # of audiences: more would not fit a small machine's memory
NO_DEVICE = -1  # a back-end consumer's subscription
Columns = Mapping[str, Sequence[object]]


@dataclass(frozen=True, slots=True)
class Audiences:
    """Who is owed what in one run, as columns of the record tables of the same names."""

    streams: Columns
    subscriptions: Columns
    audiences: Columns
    fan_outs: Sequence[int]  # by audience: deliveries that one message causes


@dataclass(frozen=True, slots=True)
class _Subscribers:
    """Subscriptions that differ only in their number."""

    filter: str  # pattern, with $share/name/ for a shared one
    qos: int
    durable: bool
    count: int
    first: int  # subscription number
    first_device: int = NO_DEVICE
    no_local: bool = False


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Subscriptions with one and the same filter: `count` of them, numbered from `first`."""

    first: int
    count: int
    first_device: int
    no_local: bool
    share: int | None

    def holds(self, device: int) -> bool:
        """Whether one of these is a subscription of the device."""
        return self.first_device != NO_DEVICE and self.first_device <= device < self.first_device + self.count


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

    def add(self, subscribers: _Subscribers) -> None:
        """One leaf when all ask for the same, else one for each."""
        share, text = split_share(subscribers.filter)
        pattern = parse(text)
        if not pattern.uses("index"):
            self._add_leaf(subscribers, 0, subscribers.count, share, pattern.expand(0))
            return
        for index in range(subscribers.count):
            self._add_leaf(subscribers, index, 1, share, pattern.expand(index))

    def _add_leaf(self, subscribers: _Subscribers, offset: int, count: int, share: str | None, text: str) -> None:
        first = subscribers.first + offset
        if first != len(self.devices):
            raise ConfigError(f"subscription {text!r} has number {first}, expected {len(self.devices)}: no gaps")
        number = None if share is None else self.share_numbers.setdefault((share, text), len(self.share_numbers))
        own = subscribers.first_device != NO_DEVICE
        device = subscribers.first_device + offset if own else NO_DEVICE
        self.trie.add(text, len(self.leaves))
        self.leaves.append(_Leaf(first, count, device, subscribers.no_local, number))
        self.devices += range(device, device + count) if own else [NO_DEVICE] * count
        self.filters += [text if share is None else f"$share/{share}/{text}"] * count
        self.shares += [number] * count
        self.qos += [subscribers.qos] * count
        self.durable += [subscribers.durable] * count

    def columns(self) -> Columns:
        return {
            "subscription": range(len(self.devices)),
            "device": self.devices,
            "filter": self.filters,
            "share": self.shares,
            "qos": self.qos,
            "durable": self.durable,
        }

    def owners(self, found: Leaves, own: int) -> int:
        """How many owners a set of leaves has, without the subscriptions that `own` does not want its messages on."""
        plain, shares = 0, set()
        for leaf in (self.leaves[number] for number in found):
            members = leaf.count - (leaf.no_local and leaf.holds(own))
            if leaf.share is None:
                plain += members
            elif members:
                shares.add(leaf.share)
        return plain + len(shares)


def audiences_of(plan: RunPlan, engines: Sequence[EnginePlan] = ()) -> Audiences:
    """Who is owed what in a run.

    Args:
        plan: the point.
        engines: its slices, which say what process plays each stream; without them every stream is process 0's.

    Raises:
        ConfigError: a publisher's topics reach other subscribers from message to message.
    """
    subscriptions = _subscriptions(plan)
    numbers: dict[tuple[Leaves, int], int] = {}
    audience, devices, levels = array("i"), array("i"), array("b")
    for group in plan.groups:
        if group.publish:
            audience.extend(_audiences_of_group(group, group.publish.topic, subscriptions, numbers))
            devices.extend(range(group.first_device, group.first_device + group.count))
            levels.extend([group.publish.qos] * group.count)
    streams: Columns = {
        "stream": range(len(audience)),
        "device": devices,
        "process": _processes(len(audience), engines),
        "audience": audience,
        "qos": levels,
    }
    fan_outs = [subscriptions.owners(found, own) for found, own in numbers]
    return Audiences(streams, subscriptions.columns(), _members(numbers, subscriptions.leaves), fan_outs)


def fan_out(plan: RunPlan, sample: int = 200) -> float:
    """Deliveries one message causes on average: one for each owner in its audience.

    Looks at up to `sample` publishers, evenly spread over each group: an estimate for plans, not for results.
    """
    subscriptions = _subscriptions(plan)
    total = weight = 0.0
    for group in plan.groups:
        if not group.publish:
            continue
        matcher = subscriptions.trie.matcher(group.publish.topic)
        looked_at = range(0, group.count, max(1, group.count // sample))
        owed = sum(subscriptions.owners(matcher.leaves(index), group.first_device + index) for index in looked_at)
        total += owed / len(looked_at) * group.count
        weight += group.count
    return total / weight if weight else 0.0


def _subscriptions(plan: RunPlan) -> _Subscriptions:
    subscriptions = _Subscriptions()
    for subscribers in _subscribers(plan):
        subscriptions.add(subscribers)
    return subscriptions


def _subscribers(plan: RunPlan) -> Iterator[_Subscribers]:
    """Subscriptions of the devices, then those of the back-end consumers."""
    for group in plan.groups:
        for each in group.subscriptions:
            first, device = each.first_subscription, group.first_device
            yield _Subscribers(each.filter, each.qos, group.durable, group.count, first, device, each.no_local)
    if consumers := plan.consumers:
        text = f"$share/{consumers.share}/{consumers.topic}" if consumers.share else consumers.topic
        yield _Subscribers(text, consumers.qos, consumers.durable, consumers.count, consumers.first_subscription)


def split_share(topic_filter: str) -> tuple[str | None, str]:
    """Name of the share group, None without one, and the filter itself."""
    if not topic_filter.startswith("$share/"):
        return None, topic_filter
    _, name, text = topic_filter.split("/", 2)
    return name, text


def _audiences_of_group(
    group: Group, topic: str, subscriptions: _Subscriptions, numbers: dict[tuple[Leaves, int], int]
) -> Iterator[int]:
    """The audience number of each device of a publishing group; new audiences are added to `numbers`."""
    matcher = subscriptions.trie.matcher(topic)
    leaves = subscriptions.leaves
    selective = any(leaf.no_local for leaf in leaves)
    for index in range(group.count):
        found = matcher.leaves(index)
        device = group.first_device + index
        own = selective and any(leaves[number].no_local and leaves[number].holds(device) for number in found)
        yield numbers.setdefault((found, device if own else NO_DEVICE), len(numbers))


def _members(numbers: Iterable[tuple[Leaves, int]], leaves: Sequence[_Leaf]) -> Columns:
    """Every subscription of every audience."""
    audiences, members = array("i"), array("i")
    for number, (found, own) in enumerate(numbers):
        for leaf in (leaves[each] for each in found):
            chosen = range(leaf.first, leaf.first + leaf.count)
            if leaf.no_local and leaf.holds(own):
                without = leaf.first + own - leaf.first_device
                members.extend(member for member in chosen if member != without)
            else:
                members.extend(chosen)
        if len(members) > MAXIMUM_ROWS:
            raise ConfigError(
                f"the audiences of the publishers have more than {MAXIMUM_ROWS:,} members together",
                hint="use fewer subscribers or let publishers share topics",
            )
        audiences.extend([number] * (len(members) - len(audiences)))
    return {"audience": audiences, "subscription": members}


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
