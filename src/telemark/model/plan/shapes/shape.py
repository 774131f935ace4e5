"""What all load shapes have in common. Each shape is one file beside this one and holds everything about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from telemark.model.keys import Meaning
from telemark.model.shares import share_out


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadShape(ABC):
    """How often messages are sent, over time. Rates are aggregates over all publishers, in messages a second."""

    shape: ClassVar[str]  # its name in scenario files and JSON
    sends: ClassVar[bool] = True
    closed_loop: ClassVar[bool] = False  # what is received allows the next to be sent
    rate_can_change: ClassVar[bool] = False  # `telemark rate` means something for it
    headline: ClassVar[str] = "received_rate"  # the column of `points` that answers "how much"

    limit: Annotated[int | None, Meaning("stop after so many messages", minimum=1)] = None
    max_lateness_s: Annotated[float, Meaning("a message later than this is dropped and counted", above=0)] = 1.0

    @abstractmethod
    def offered_rate(self) -> float | None:
        """Messages a second it wants to send on average; None when the server paces it."""

    @abstractmethod
    def words(self) -> str:
        """The load in words, without its limit."""

    def describe(self) -> str:
        """The load in words."""
        return self.words() + (f", {self.limit:,} messages in all" if self.limit is not None else "")

    def problems(self) -> Iterator[str]:
        """Rules between fields that are broken, each as `field: found ..., expected ...`."""
        yield from ()

    def searched_rate(self) -> float | None:
        """The rate a search for the peak starts from; None when it is no question of this shape."""
        return None

    def unit(self, publishers: int) -> int:
        """How many publishers of a group must stay together in one process."""
        return 1

    def senders(self, publishers: Sequence[int]) -> list[int]:
        """The processes that send, given how many publishers each plays."""
        return [process for process, count in enumerate(publishers) if count]

    def share(self, process: int, publishers: Sequence[int]) -> Self:
        """The part one sending process carries, in proportion to the publishers it plays."""
        mine = self.part(process, publishers)
        return mine if self.limit is None else replace(mine, limit=share_out(self.limit, publishers)[process])

    def part(self, process: int, publishers: Sequence[int]) -> Self:
        """The share of one process, limit aside."""
        return self

    def credits(self, received: int) -> int:
        """Messages a closed loop may send, over all, once so many were received; its window is not among them."""
        return 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data: its name and its fields."""
        return {"shape": self.shape, **asdict(self)}


def portion(process: int, publishers: Sequence[int]) -> float:
    """The fraction of all publishers that one process plays."""
    return publishers[process] / sum(publishers)
