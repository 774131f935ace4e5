"""What one check found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

State = Literal["ok", "short", "differs", "unknown"]
# short: a run of this many devices will fail or be distorted. differs: not what the report used; may be fine.
# unknown: this host does not tell.


@dataclass(frozen=True, slots=True)
class Finding:
    """One setting: as it should be, as it is, why it matters, and how to change it."""

    name: str
    state: State
    should: str
    has: str
    why: str
    fix: str | None = None  # a command, complete; None when nothing needs to be done

    def as_dict(self) -> dict[str, str | None]:
        """Plain data for `telemark doctor --json`."""
        return asdict(self)
