"""One rate for the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

from telemark.model.keys import Meaning
from telemark.model.plan.shapes.shape import LoadShape, portion


@dataclass(frozen=True, slots=True)
class Paced(LoadShape):
    """One rate, the publishers in turn."""

    shape: ClassVar[str] = "paced"
    rate_can_change: ClassVar[bool] = True

    rate: Annotated[float, Meaning("messages a second of all publishers together")]
    arrivals: Annotated[Literal["steady", "poisson"], Meaning("evenly spaced or at random")] = "steady"

    def offered_rate(self) -> float:
        return self.rate

    def words(self) -> str:
        return f"{self.rate:,g} messages a second, {'evenly spaced' if self.arrivals == 'steady' else 'at random'}"

    def searched_rate(self) -> float:
        return self.rate

    def part(self, process: int, publishers: Sequence[int]) -> Self:
        return replace(self, rate=self.rate * portion(process, publishers))
