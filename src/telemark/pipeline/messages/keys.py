"""Packed keys: several small numbers in one bigint. The only module that knows which bits hold what.

Spark groups by one bigint about twice as fast as by several columns. Each key is written once as SQL text, for the pass
over the rows, and once for NumPy, for everything after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from telemark.errors import DataError

Numbers = npt.NDArray[np.int64]

MOST_RUNS: Final = 32
PHASES: Final = ("outside", "connect", "hold", "warmup", "measure", "drain", "stop")  # position = code in a key
MEASURES: Final = (
    "latency", "service_time", "send_delay", "puback", "pubrec", "pubcomp",
    "tcp_connect", "tls_handshake", "connack", "suback", "connect",
)  # fmt: skip
MESSAGE_MEASURES: Final = MEASURES[:3]

# A duration: bits 58-62 run, 54-57 measure, 36-53 second, 33-35 phase, 0-32 microseconds + _BIAS.
_US_BITS, _PHASE_BITS, _SECOND_BITS, _MEASURE_BITS = 33, 3, 18, 4
_PHASE_AT, _SECOND_AT, _MEASURE_AT, _RUN_AT = 33, 36, 54, 58
_BIAS: Final = 1 << 31  # us; clocks of two hosts may disagree, so a duration can be negative
_US_MASK: Final = (1 << _US_BITS) - 1
_LAST_SECOND: Final = (1 << _SECOND_BITS) - 1  # three days
NO_DURATION: Final = -1  # no key is negative
LONGEST_US: Final = _US_MASK - _BIAS  # 107 minutes; a longer one counts as this and is warned about
EXACT_BITS: Final = 8  # buckets are 1 us wide below 256 us, then at most a 128th of their value

# Expressions are SQL texts: one call into Java each. Built from columns they take thousands, and seconds.


def moment_sql(second: str, phase: str) -> str:
    """Second and phase at their bits."""
    return f"shiftleft(least(greatest({second}, 0L), {_LAST_SECOND}L), {_SECOND_AT}) | shiftleft({phase}, {_PHASE_AT})"


def duration_sql(measure: str, moment: str, duration_ns: str) -> str:
    """Key of a duration, to the nearest microsecond, of a row with column r. All arguments are SQL texts.

    Never null: least and greatest pass over nulls.
    """
    us = f"(least(greatest({duration_ns} + {_BIAS * 1000 + 500}L, 0L), {_US_MASK * 1000}L) div 1000L)"
    return f"(shiftleft(cast(r as bigint), {_RUN_AT}) | shiftleft({measure}, {_MEASURE_AT}) | {moment} | {us})"


def second_sql() -> str:
    """What all durations of one run, measure and second have in common."""
    return f"shiftrightunsigned(key, {_SECOND_AT})"


def duration_keys(run: int, measure: str, phase: str, durations_ns: Numbers) -> Numbers:
    """Keys of durations of second 0."""
    us = np.clip((durations_ns + 500) // 1000, -_BIAS, LONGEST_US) + _BIAS
    fixed = run << _RUN_AT | MEASURES.index(measure) << _MEASURE_AT | PHASES.index(phase) << _PHASE_AT
    return us | fixed


def microseconds(keys: Numbers) -> Numbers:
    """Durations of keys of any kind below."""
    return (keys & _US_MASK) - _BIAS


def groups(keys: Numbers) -> Numbers:
    """What is left of a phase key or second key without its duration."""
    return keys >> _US_BITS


def phase_keys(keys: Numbers) -> Numbers:
    """Keys without their second: run, measure, phase, duration."""
    group = keys >> _MEASURE_AT << _PHASE_BITS | keys >> _PHASE_AT & (1 << _PHASE_BITS) - 1
    return group << _US_BITS | keys & _US_MASK


def second_keys(keys: Numbers) -> Numbers:
    """Keys without their phase: run, measure, second, duration."""
    return keys >> _SECOND_AT << _US_BITS | keys & _US_MASK


def phase_group(group: int) -> tuple[int, str, str]:
    """(run, measure, phase) of the group of phase keys."""
    upper, phase = divmod(group, 1 << _PHASE_BITS)
    run, measure = divmod(upper, 1 << _MEASURE_BITS)
    return run, MEASURES[measure], PHASES[phase]


def second_group(group: int) -> tuple[int, str, int]:
    """(run, measure, second) of the group of second keys."""
    upper, second = divmod(group, 1 << _SECOND_BITS)
    run, measure = divmod(upper, 1 << _MEASURE_BITS)
    return run, MEASURES[measure], second


def message_measure(keys: Numbers) -> npt.NDArray[np.bool_]:
    """Whether a key is a duration of a delivery."""
    return (keys >> _MEASURE_AT & (1 << _MEASURE_BITS) - 1) < len(MESSAGE_MEASURES)


def bucket_width_bits(us: Numbers) -> Numbers:
    """Bits of the width of the bucket a duration falls into."""
    length = np.frexp(np.maximum(us, 0).astype(np.float64))[1]  # exact: durations have 33 bits, doubles 53
    return np.maximum(length.astype(np.int64) - EXACT_BITS, 0)


def bucket_keys(keys: Numbers) -> Numbers:
    """Phase keys with their duration lowered to the beginning of its bucket."""
    us = microseconds(keys)
    bits = bucket_width_bits(us)
    return keys - us + (us >> bits << bits)


# A block of messages: run, owner, stream and block number, as many bits as the numbers of the batch need.

BLOCK_BITS: Final = 6
BLOCK: Final = 1 << BLOCK_BITS  # messages; as many as a bigint has bits
_KEY_BITS: Final = 63  # the sign bit stays free: keys are never negative and sort as they should
_LEAST_BLOCK_BITS: Final = 10


def bits_for(largest: int) -> int:
    """Bits that hold 0 to `largest`."""
    return max(largest, 1).bit_length()


@dataclass(frozen=True, slots=True)
class BlockKey:
    """Where (run, owner, stream, block) lie in a key. Owner -1 is possible, so one more is stored."""

    owner: int
    stream: int
    block: int

    @classmethod
    def for_numbers(cls, runs: int, owner: int, stream: int, sequence: int) -> BlockKey:
        """The key of a batch with so many runs and these largest numbers.

        Raises:
            DataError: the numbers are too large for one key.
        """
        used = bits_for(runs - 1) + bits_for(owner + 1) + bits_for(stream)
        if used > _KEY_BITS - _LEAST_BLOCK_BITS:
            raise DataError(f"subscription {owner} or stream {stream} is larger than any plan makes it")
        return cls(bits_for(owner + 1), bits_for(stream), min(bits_for(sequence >> BLOCK_BITS), _KEY_BITS - used))

    @property
    def last_sequence(self) -> int:
        """The largest sequence a key can hold: one beyond it cannot be a message of the run."""
        return (1 << self.block + BLOCK_BITS) - 1

    def sql(self) -> str:
        """Key of a row with columns r, owner, stream and sequence."""
        return f"(shiftleft({self.row_pair_sql()}, {self.block}) | shiftright(sequence, {BLOCK_BITS}))"

    def row_pair_sql(self) -> str:
        """Pair of a row with columns r, owner and stream."""
        owner = f"(shiftleft(cast(r as bigint), {self.owner}) | cast(owner + 1 as bigint))"
        return f"(shiftleft({owner}, {self.stream}) | cast(stream as bigint))"

    def pair_sql(self) -> str:
        """What all blocks of one run, owner and stream have in common."""
        return f"shiftright(key, {self.block})"

    def pairs(self, keys: Numbers) -> Numbers:
        """The pair (run, owner, stream) of each key."""
        return keys >> self.block

    def pair_keys(self, run: Any, owner: Any, stream: Any) -> Any:
        """The pair of numbers, or of arrays of them."""
        return (run << self.owner | owner + 1) << self.stream | stream

    def block_keys(self, pair: Any, block: Any) -> Any:
        """The key of a block of a pair."""
        return pair << self.block | block

    def split_pairs(self, pairs: Numbers) -> Mapping[str, Numbers]:
        """run (r), owner and stream of each pair."""
        upper = pairs >> self.stream
        return {
            "r": (upper >> self.owner).astype(np.int32),
            "owner": ((upper & (1 << self.owner) - 1) - 1).astype(np.int32),
            "stream": (pairs & (1 << self.stream) - 1).astype(np.int32),
        }

    def blocks(self, keys: Numbers) -> Numbers:
        """The block number of each key."""
        return keys & (1 << self.block) - 1


# A member of a share group: run and subscription in one number, to be looked up by.

_MEMBER_BITS: Final = 32


def member_sql() -> str:
    """The member a row with columns r and subscription belongs to; negative for subscription -1."""
    return f"(shiftleft(cast(r as bigint), {_MEMBER_BITS}) | cast(subscription as bigint))"


def member_key(run: int, subscription: int) -> int:
    """The member of one run and subscription."""
    return run << _MEMBER_BITS | subscription
