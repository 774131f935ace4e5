"""Counted values in groups: exact quantiles of all groups at once, and running extremes within a group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from telemark.pipeline.messages.keys import Numbers, groups, microseconds

COUNTED = pa.schema([("key", pa.int64()), ("n", pa.int64())])


def numbers(table: pa.Table, column: str) -> Numbers:
    """A column without nulls as an array."""
    return np.asarray(table[column].to_numpy(), dtype=np.int64)


def starts_of(*columns: Numbers) -> Numbers:
    """Where equal entries begin, in columns whose equal entries lie side by side."""
    changes = np.zeros(columns[0].size, dtype=bool)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changes)


def summed(keys: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """Keys in order, each once, with the sum of its counts."""
    order = np.argsort(keys)
    ordered = keys[order]
    starts = starts_of(ordered)
    return ordered[starts], np.add.reduceat(counts[order], starts) if starts.size else counts


def counted_keys(keys: Numbers) -> pa.Table:
    """COUNTED of keys."""
    return pa.Table.from_arrays([*map(pa.array, summed(keys, np.ones_like(keys)))], schema=COUNTED)


def quantiles(keys: Numbers, counts: Numbers, wanted: Sequence[float]) -> npt.NDArray[np.float64]:
    """One row per group of keys, one column per quantile; between two ranks by straight line.

    `keys` are in order, each once; groups and values are those of `messages.keys`.
    """
    starts = starts_of(groups(keys))
    upto = np.cumsum(counts)
    before = upto[starts] - counts[starts]
    totals = np.add.reduceat(counts, starts)
    positions = np.outer(totals - 1, np.asarray(wanted, dtype=np.float64))
    values = microseconds(keys)
    below = np.floor(positions)
    low, high = (
        values[np.searchsorted(upto, before[:, None] + edge.astype(np.int64), side="right")]
        for edge in (below, np.ceil(positions))
    )
    return np.asarray(low + (positions - below) * (high - low), dtype=np.float64)


def largest_before(values: Numbers, group: Numbers) -> Numbers:
    """For each entry the largest value before it in its group; the smallest number there is for the first of a group.

    Entries of a group lie side by side. A running maximum over (group, rank of the value) begins anew with every group,
    because all numbers of a later group are larger.
    """
    order = np.argsort(values, kind="stable")
    ranks = np.empty_like(order)
    ranks[order] = np.arange(values.size)
    same = group[1:] == group[:-1]
    number = np.cumsum(np.concatenate([np.zeros(1, dtype=bool), ~same]))[: values.size]
    highest = np.maximum.accumulate(number * values.size + ranks)
    found = np.full(values.size, np.iinfo(np.int64).min, dtype=np.int64)
    found[1:][same] = values[order[highest[:-1][same] % values.size]]
    return found


def smallest_after(values: Numbers, group: Numbers) -> Numbers:
    """For each entry the smallest value after it in its group; the largest number there is for the last of a group."""
    return ~largest_before(~values[::-1], group[::-1])[::-1]
