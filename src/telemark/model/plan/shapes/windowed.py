"""A closed loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from telemark.model.keys import Meaning
from telemark.model.plan.shapes.shape import LoadShape
from telemark.model.shares import share_out


@dataclass(frozen=True, slots=True)
class Windowed(LoadShape):
    """A closed loop: so many messages are under way, and what is received allows as many new ones."""

    shape: ClassVar[str] = "windowed"
    closed_loop: ClassVar[bool] = True

    window: Annotated[int, Meaning("messages sent at first", minimum=1)]
    refill: Annotated[int, Meaning("as many are sent for each so many received", minimum=1)] = 1

    def offered_rate(self) -> None:
        return None

    def words(self) -> str:
        return (
            f"closed loop: {self.window:,} messages under way, {self.refill:,} more for each {self.refill:,} received"
        )

    def problems(self) -> Iterator[str]:
        if self.refill > self.window:
            yield f"refill: found {self.refill}, expected at most the window of {self.window}: it would never happen"

    def part(self, process: int, publishers: Sequence[int]) -> Self:
        return replace(self, window=share_out(self.window, publishers)[process])

    def credits(self, received: int) -> int:
        return received - received % self.refill
