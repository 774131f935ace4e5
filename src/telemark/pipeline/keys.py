"""Packed grouping keys: several small numbers in one bigint, two when they do not fit.

Spark groups by one bigint about twice as fast as by several columns. How many bits each number needs is known
before: Parquet files carry the largest value of every column.
"""

from __future__ import annotations

from dataclasses import dataclass

ONE_KEY_BITS = 63  # the sign bit stays free: keys are never negative and sort as they should


def bits_for(largest: int) -> int:
    """Bits that hold 0 to `largest`."""
    return max(largest, 1).bit_length()


@dataclass(frozen=True, slots=True)
class Packing:
    """Where (run, owner, stream, block) lie in a key.

    The owner is a subscription or what stands for a share group; -1 is possible, so one more is stored.
    """

    run: int
    owner: int
    stream: int
    block: int

    @property
    def single(self) -> bool:
        """Whether one bigint holds everything."""
        return self.run + self.owner + self.stream + self.block <= ONE_KEY_BITS

    @property
    def names(self) -> list[str]:
        """Names of the key columns."""
        return ["key"] if self.single else ["key", "block"]

    def pack(self, owner: str, block: str) -> list[str]:
        """SQL texts of the key columns of rows with columns r and stream."""
        high = _join(_join("cast(r as bigint)", f"({owner} + 1)", self.owner), "stream", self.stream)
        if self.single:
            return [f"{_join(high, block, self.block)} as key"]
        return [f"{high} as key", f"cast({block} as bigint) as block"]

    def unpack(self) -> list[str]:
        """SQL texts of the columns r, owner, stream and block of a packed row."""
        low = self.block if self.single else 0
        return [
            f"cast(shiftrightunsigned(key, {low + self.stream + self.owner}) as int) as r",
            f"cast({_cut(low + self.stream, self.owner)} as int) - 1 as owner",
            f"cast({_cut(low, self.stream)} as int) as stream",
            f"{_cut(0, self.block)} as block" if self.single else "block",
        ]


def _join(high: str, low: str, bits: int) -> str:
    return f"(shiftleft({high}, {bits}) | cast({low} as bigint))"


def _cut(at: int, bits: int) -> str:
    return f"(shiftrightunsigned(key, {at}) & {(1 << bits) - 1}L)"
