"""Packed grouping keys: several small numbers in one bigint, two when they do not fit.

Spark groups by one bigint about twice as fast as by several columns. How many bits each number needs is known
before: Parquet files carry the largest value of every column.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

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

    def pack(self, run: Column, owner: Column, stream: Column, block: Column) -> list[Column]:
        """The key columns of a row."""
        high = _join(_join(run.cast("bigint"), owner + 1, self.owner), stream, self.stream)
        if self.single:
            return [_join(high, block, self.block).alias("key")]
        return [high.alias("key"), block.cast("bigint").alias("block")]

    def unpack(self) -> list[Column]:
        """Columns r, owner, stream and block of a packed row."""
        low = self.block if self.single else 0
        block = _cut("key", 0, self.block) if self.single else F.col("block")
        return [
            F.shiftrightunsigned(F.col("key"), low + self.stream + self.owner).cast("int").alias("r"),
            (_cut("key", low + self.stream, self.owner).cast("int") - 1).alias("owner"),
            _cut("key", low, self.stream).cast("int").alias("stream"),
            block.alias("block"),
        ]


def _join(high: Column, low: Column, bits: int) -> Column:
    return F.shiftleft(high, bits).bitwiseOR(low.cast("bigint"))


def _cut(name: str, at: int, bits: int) -> Column:
    return F.shiftrightunsigned(F.col(name), at).bitwiseAND(F.lit((1 << bits) - 1))
