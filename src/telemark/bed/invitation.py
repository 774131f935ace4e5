"""What a host agent is told by the barrier stage that starts it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Invitation:
    """How to reach the runner, and the secret to prove it with. It travels in memory only and is never printed."""

    campaign: str
    address: str  # the runner's
    port: int
    secret: bytes = field(repr=False)
    encrypted: bool
    scratch: str  # folder for records until they are home
