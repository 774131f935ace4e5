"""How large the numbers of a batch are, and what follows from that."""

from __future__ import annotations

from dataclasses import dataclass

from telemark.pipeline.messages.keys import BlockKey
from telemark.store.bounds import Bounds


@dataclass(frozen=True, slots=True)
class Numbering:
    """The largest numbers of a batch and what follows from them."""

    bounds: tuple[Bounds, ...]  # one per run, in batch order

    @property
    def deliveries(self) -> int:
        """Delivery rows of the batch."""
        return sum(bound.deliveries for bound in self.bounds)

    @property
    def acks(self) -> int:
        """Rows about acknowledgements."""
        return sum(bound.acks for bound in self.bounds)

    @property
    def shared_from(self) -> int:
        """Share group g is owner `shared_from + g`: above every subscription number."""
        return self._most("subscription") + 1

    @property
    def has_shares(self) -> bool:
        """Whether any run of the batch has a shared subscription."""
        return self._most("share") >= 0

    @property
    def foreign_stream(self) -> int:
        """The stream number of rows without a message of this run."""
        return self._most("stream") + 1

    @property
    def periods(self) -> tuple[int, ...]:
        """Typical time between two messages of a stream, in ns, one per run. Any number is correct; see order.py."""
        return tuple(
            max(bound.last_intended_ns - bound.first_intended_ns, 0) // max(bound.sequence, 1) for bound in self.bounds
        )

    @property
    def key(self) -> BlockKey:
        """The key of a block."""
        owner = self.shared_from + max(self._most("share"), 0)
        sequence = max(self._most("sequence"), 0)
        return BlockKey.for_numbers(len(self.bounds), owner, self.foreign_stream, sequence)

    @property
    def last_streams(self) -> tuple[int, ...]:
        """The largest stream number of each run."""
        return tuple(bound.stream for bound in self.bounds)

    @property
    def last_sequences(self) -> tuple[int, ...]:
        """The largest sequence of each run that can be a message of it."""
        return tuple(min(bound.sequence, self.key.last_sequence) for bound in self.bounds)

    def _most(self, name: str) -> int:
        return max(int(getattr(bound, name)) for bound in self.bounds)
