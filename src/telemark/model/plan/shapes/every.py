"""One message now and then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from telemark.model.keys import Meaning
from telemark.model.plan.shapes.shape import LoadShape


@dataclass(frozen=True, slots=True)
class Every(LoadShape):
    """The first publisher sends one message every so many seconds."""

    shape: ClassVar[str] = "every"
    headline: ClassVar[str] = "peak_received_rate"  # one message fans out to all: its spike counts, not the average

    every_s: Annotated[float, Meaning("seconds from one message to the next", above=0)]

    def offered_rate(self) -> float:
        return 1.0 / self.every_s

    def words(self) -> str:
        return f"one message every {self.every_s:g} s"

    def senders(self, publishers: Sequence[int]) -> list[int]:
        """One: there is one sender in the whole run."""
        return [process for process, count in enumerate(publishers) if count][:1]
