"""What all kinds of back-end consumers have in common in a plan. The kinds themselves are in `telemark.consumers`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

from telemark.model.keys import Meaning
from telemark.model.plan.groups import QOS


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPlan(ABC):
    """Consumers that are not MQTT devices: consumer {index} receives what its topic filter matches."""

    kind: ClassVar[str]  # its name in scenario files and JSON; a server that lets it in has a capability of that name

    count: Annotated[int, Meaning("consumers; 0 for none")]
    topic: Annotated[str, Meaning("what consumer {index} subscribes to, as an MQTT filter", pattern=True)]
    qos: Annotated[int, Meaning("QoS the deliveries owe, for the integrity rules", allowed=QOS)] = 0
    tls: Annotated[bool, Meaning("the consumers connect with TLS and verify the server")] = False
    first_subscription: int = 0  # number of the first consumer's subscription, unique in the run

    @property
    def memory_bytes(self) -> int:
        """About what its processes take."""
        return 0

    @property
    def share(self) -> str | None:
        """Name of the share group they form; None when each gets every message."""
        return None

    @property
    def durable(self) -> bool:
        """Whether the server keeps messages while no consumer is there."""
        return False

    @abstractmethod
    def describe(self) -> str:
        """One consumer in words."""

    def needs(self) -> frozenset[str]:
        """Capabilities the server must have."""
        return frozenset({self.kind} | ({"tls-1.2"} if self.tls else set()))

    def problems(self) -> Iterator[str]:
        """Rules between fields that are broken, each as `field: found ..., expected ...`."""
        yield from ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data: its kind and its fields."""
        return {"kind": self.kind, **asdict(self)}
