"""A base rate with bursts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from telemark.model.keys import Meaning
from telemark.model.plan.shapes.shape import LoadShape, portion


@dataclass(frozen=True, slots=True)
class Burst(LoadShape):
    """A base rate, and a higher one for a while at regular times."""

    shape: ClassVar[str] = "burst"

    rate: Annotated[float, Meaning("messages a second between bursts, all publishers together")]
    burst_rate: Annotated[float, Meaning("messages a second during a burst", above=0)]
    burst_s: Annotated[float, Meaning("length of a burst", above=0)]
    burst_every_s: Annotated[float, Meaning("from the start of one burst to the start of the next", above=0)]

    def offered_rate(self) -> float:
        return self.rate + (self.burst_rate - self.rate) * self.burst_s / self.burst_every_s

    def words(self) -> str:
        return (
            f"{self.rate:,g} messages a second, {self.burst_rate:,g} for {self.burst_s:g} s "
            f"every {self.burst_every_s:g} s"
        )

    def problems(self) -> Iterator[str]:
        if self.burst_every_s <= self.burst_s:
            yield f"burst_every_s: found {self.burst_every_s:g}, expected more than burst_s = {self.burst_s:g}"

    def part(self, process: int, publishers: Sequence[int]) -> Self:
        mine = portion(process, publishers)
        return replace(self, rate=self.rate * mine, burst_rate=self.burst_rate * mine)
