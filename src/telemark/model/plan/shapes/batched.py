"""Batches at fixed times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from telemark.errors import ConfigError
from telemark.model.keys import Meaning
from telemark.model.plan.shapes.shape import LoadShape, portion


@dataclass(frozen=True, slots=True)
class Batched(LoadShape):
    """A batch of messages at once in every period, from all publishers or from each partition of them in turn."""

    shape: ClassVar[str] = "batched"
    rate_can_change: ClassVar[bool] = True

    batch: Annotated[int, Meaning("messages per period and partition", minimum=1)]
    period_ms: Annotated[float, Meaning("the period", above=0)]
    partitions: Annotated[
        int,
        Meaning("equal runs of publishers, each with a batch of its own; they take turns within the period", minimum=1),
    ] = 1

    def offered_rate(self) -> float:
        return self.batch * self.partitions * 1000.0 / self.period_ms

    def words(self) -> str:
        where = f" in each of {self.partitions:,} partitions" if self.partitions > 1 else ""
        return f"a batch of {self.batch:,} messages every {self.period_ms:g} ms{where}"

    def unit(self, publishers: int) -> int:
        """A whole partition: its batch is sent by one process."""
        if publishers % self.partitions:
            raise ConfigError(
                f"load.partitions: {publishers:,} publishers do not divide into {self.partitions:,} equal partitions",
                hint="choose a number of publishers that is a multiple of the partitions",
            )
        return publishers // self.partitions

    def part(self, process: int, publishers: Sequence[int]) -> Self:
        return replace(self, partitions=max(1, round(self.partitions * portion(process, publishers))))
