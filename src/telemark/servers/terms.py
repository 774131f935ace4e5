"""What a server calls a counter of the contract: one of its own numbers, or a few that are added up."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

# Counters an adapter may give, with what each means (docs/reference/health.md).
COUNTERS = (
    "messages_in",
    "messages_out",
    "messages_dropped",
    "connections",
    "subscriptions",
    "buffered_messages",
    "largest_queue",
    "largest_queue_hwm",
    "bytes_in",
    "bytes_out",
)


@dataclass(frozen=True, slots=True)
class Term:
    """One number of the server, or several of the same name that are taken together."""

    name: str  # a topic, the name of a metric, or a path in a JSON document
    take: Literal["sum", "max"] = "sum"
    leave_out: re.Pattern[str] | None = None  # of several: those whose labels or key match are passed over
    minus: bool = False  # it is subtracted from the others

    def together(self, found: Mapping[str, float]) -> float | None:
        """The value of several; None when there is none to take.

        Args:
            found: values by labels or key.
        """
        kept = [value for key, value in found.items() if self.leave_out is None or not self.leave_out.search(key)]
        if not kept:
            return None
        return max(kept) if self.take == "max" else sum(kept)


Terms = tuple[Term, ...]
Counters = Mapping[str, Terms]  # name of the contract -> what it is made of


def add_up(terms: Terms, value_of: Callable[[Term], float | None]) -> float | None:
    """A counter from the values of its terms; None when one of them is missing: missing is never zero."""
    total = 0.0
    for term in terms:
        value = value_of(term)
        if value is None:
            return None
        total += -value if term.minus else value
    return total
