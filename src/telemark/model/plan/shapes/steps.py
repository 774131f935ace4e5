"""Stretches of constant rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from telemark.model.keys import Meaning
from telemark.model.plan.shapes.shape import LoadShape, portion


@dataclass(frozen=True, slots=True)
class Step:
    """A stretch of constant rate."""

    seconds: Annotated[float, Meaning("its length", above=0)]
    rate: Annotated[float, Meaning("messages a second of all publishers together")]


@dataclass(frozen=True, slots=True)
class Steps(LoadShape):
    """One rate after the other."""

    shape: ClassVar[str] = "steps"

    steps: Annotated[tuple[Step, ...], Meaning("stretches of constant rate")]

    def offered_rate(self) -> float:
        return sum(step.seconds * step.rate for step in self.steps) / sum(step.seconds for step in self.steps)

    def words(self) -> str:
        return "messages a second: " + ", then ".join(f"{step.rate:,g} for {step.seconds:g} s" for step in self.steps)

    def problems(self) -> Iterator[str]:
        if not self.steps:
            yield "steps: found none, expected at least one"

    def searched_rate(self) -> float:
        return max(step.rate for step in self.steps)

    def part(self, process: int, publishers: Sequence[int]) -> Self:
        mine = portion(process, publishers)
        return replace(self, steps=tuple(Step(step.seconds, step.rate * mine) for step in self.steps))
