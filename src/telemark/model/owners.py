"""Who owns the messages of an audience, from the columns a run folder keeps: see `telemark.model.audience`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Owner:
    """A plain subscription or a share group: each message of its audience is owed to it once."""

    share: int | None
    filter: str
    qos: int  # of a group: the smallest of its members
    members: list[int] = field(default_factory=list)  # subscription numbers


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of one run, by number."""

    by_number: dict[int, Owner]
    of_subscription: dict[int, int]  # subscription -> number of its owner
    qos_of_subscription: dict[int, int]


def owners_of(
    subscriptions: Iterable[int],
    shares: Iterable[int | None],
    filters: Iterable[str],
    levels: Iterable[int],
    shared_from: int,
) -> Owners:
    """Owners from columns of the subscriptions table.

    Args:
        subscriptions: subscription numbers. shares: number of each one's share group, or None.
        filters: as subscribed. levels: QoS asked for.
        shared_from: above all subscription numbers. A plain subscription is the owner of its own number, share group g
            is owner `shared_from + g`.
    """
    owners = Owners({}, {}, {})
    for number, share, text, qos in zip(subscriptions, shares, filters, levels, strict=True):
        owner = number if share is None else shared_from + share
        known = owners.by_number.setdefault(owner, Owner(share, text, qos))
        known.filter, known.qos = min(known.filter, text), min(known.qos, qos)
        known.members.append(number)
        owners.of_subscription[number] = owner
        owners.qos_of_subscription[number] = qos
    return owners


def owed_qos(audiences: Iterable[int], subscriptions: Iterable[int], owners: Owners) -> dict[tuple[int, int], int]:
    """(audience, owner) -> the QoS the owner asked for, from columns of the audiences table.

    Of a share group the smallest among its members in this audience counts. Members that are in no table are left out.
    """
    found: dict[tuple[int, int], int] = {}
    for audience, number in zip(audiences, subscriptions, strict=True):
        owner = owners.of_subscription.get(number)
        if owner is not None:
            key, qos = (audience, owner), owners.qos_of_subscription[number]
            found[key] = min(found.get(key, qos), qos)
    return found


def fan_outs(owed: Mapping[tuple[int, int], int]) -> Counter[int]:
    """Deliveries that one message of an audience causes: one for each owner."""
    return Counter(audience for audience, _ in owed)
