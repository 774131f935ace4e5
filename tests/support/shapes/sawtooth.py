"""A load shape that telemark does not have: what one Python file must hold to add it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from telemark.model.keys import Meaning
from telemark.model.plan.shapes.shape import LoadShape, portion


@dataclass(frozen=True, slots=True)
class Sawtooth(LoadShape):
    """A rate that rises from nothing to its top, again and again."""

    shape: ClassVar[str] = "sawtooth"
    headline: ClassVar[str] = "peak_received_rate"

    top: Annotated[float, Meaning("messages a second at the top of a tooth", above=0)]
    tooth_s: Annotated[float, Meaning("length of a tooth", above=0)] = 10.0

    def offered_rate(self) -> float:
        return self.top / 2

    def words(self) -> str:
        return f"teeth of {self.tooth_s:g} s that rise to {self.top:,g} messages a second"

    def problems(self) -> Iterator[str]:
        if self.tooth_s > self.top:
            yield f"tooth_s: found {self.tooth_s:g}, expected at most top = {self.top:g}"

    def part(self, process: int, publishers: Sequence[int]) -> Self:
        return replace(self, top=self.top * portion(process, publishers))
