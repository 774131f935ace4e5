"""Nothing is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from telemark.model.plan.shapes.shape import LoadShape


@dataclass(frozen=True, slots=True)
class Idle(LoadShape):
    """Nothing is sent: devices connect, subscribe and stay."""

    shape: ClassVar[str] = "idle"
    sends: ClassVar[bool] = False
    headline: ClassVar[str] = "connect_rate"

    def offered_rate(self) -> float:
        return 0.0

    def words(self) -> str:
        return "nothing is sent"
