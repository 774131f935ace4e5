"""Every duration of a batch of runs, counted in whole microseconds: the one heavy step of the latency tables.

One packed bigint key holds run, measure, second, phase and duration. Grouping by it with a plain count is several
times faster than any percentile function on the rows, and everything asked later is exact on the small result.

    bits 58-62 run   54-57 measure   36-53 second   33-35 phase   0-32 duration in us + BIAS
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.batch import PHASES, Batch, per_run
from telemark.pipeline.read import Records
from telemark.store.schemas import ACK_PUBACK, ACK_PUBCOMP, ACK_PUBREC, FLAG_FOREIGN

MEASURES: Final = (
    "latency", "service_time", "send_delay", "puback", "pubrec", "pubcomp",
    "tcp_connect", "tls_handshake", "connack", "suback", "connect",
)  # fmt: skip

US_BITS, PHASE_BITS, SECOND_BITS, MEASURE_BITS = 33, 3, 18, 4
PHASE_AT, SECOND_AT, MEASURE_AT, RUN_AT = 33, 36, 54, 58
BIAS: Final = 1 << 31  # us; clocks of two hosts may disagree, so a duration can be negative
LONGEST_US: Final = (1 << US_BITS) - 1 - BIAS  # 107 minutes; a longer one counts as this and is warned about
SHORTEST_US: Final = -BIAS
LAST_SECOND: Final = (1 << SECOND_BITS) - 1  # three days


# Expressions are SQL texts: one call into Java each. Built from columns they take thousands, and seconds.


def phase_code(batch: Batch, time: str) -> str:
    """Place in PHASES of the phase a time of a row's run falls into."""
    whens = []
    for place, name in reversed(list(enumerate(PHASES))):
        # The last that fits counts: phases follow each other, and one that is empty or missing holds nothing.
        windows = [run.facts.phases.get(name, (0, 0)) for run in batch.runs]
        if any(begin < end for begin, end in windows):
            begins, ends = (per_run(each) for each in zip(*windows, strict=True))
            whens.append(f"when {time} >= {begins} and {time} < {ends} then {place}L")
    return f"case {' '.join(whens)} else 0L end" if whens else "0L"


def _second(batch: Batch, time: str) -> str:
    # Whole-number division: a double has no room for nanoseconds of a month of uptime.
    return f"least(greatest({time} - {batch.starts}, 0L) div 1000000000L, {LAST_SECOND}L)"


def _place(batch: Batch, time: str) -> str:
    """Second and phase at their bits."""
    return f"shiftleft({_second(batch, time)}, {SECOND_AT}) | shiftleft({phase_code(batch, time)}, {PHASE_AT})"


def _microseconds(duration: str) -> str:
    """Nearest whole microsecond, plus BIAS, within its bits. Never null: least and greatest pass over nulls."""
    longest = ((1 << US_BITS) - 1) * 1000
    return f"(least(greatest({duration} + {BIAS * 1000 + 500}L, 0L), {longest}L) div 1000L)"


def _key(measure: str, duration: str) -> str:
    """Packed key but for the run. `place` is a column."""
    return f"(shiftleft({measure}, {MEASURE_AT}) | place | {_microseconds(duration)})"


def _delivery_keys(frame: DataFrame, batch: Batch) -> DataFrame:
    times = ("intended_ns", "sent_ns", "received_ns")
    ours = frame.where(f"(flags & {FLAG_FOREIGN}) = 0")
    placed = ours.selectExpr("r", f"{_place(batch, 'intended_ns')} as place", *times)
    keys = [
        _key("0L", "received_ns - intended_ns"),
        _key("1L", "received_ns - sent_ns"),
        _key("2L", "sent_ns - intended_ns"),
    ]
    return placed.selectExpr("r", f"explode(array({', '.join(keys)})) as key")


def _ack_keys(frame: DataFrame, batch: Batch) -> DataFrame:
    steps = f"case step when {ACK_PUBACK} then 3L when {ACK_PUBREC} then 4L when {ACK_PUBCOMP} then 5L end"
    placed = frame.selectExpr("r", f"{_place(batch, 'sent_ns')} as place", f"{steps} as measure", "sent_ns", "acked_ns")
    return placed.where("measure is not null").selectExpr("r", f"{_key('measure', 'acked_ns - sent_ns')} as key")


def _connection_keys(frame: DataFrame, _: Batch) -> DataFrame:
    """Phases of connecting. Each step counts where both its ends were reached; the whole, where CONNACK was."""
    placed = frame.selectExpr("*", f"{PHASES.index('connect') << PHASE_AT}L as place")
    durations = {
        6: "tcp_ns - started_ns",
        7: "tls_ns - tcp_ns",
        8: "connack_ns - coalesce(tls_ns, tcp_ns)",
        9: "suback_ns - connack_ns",
        10: "connack_ns - started_ns",
    }
    keys = [f"if({text} is null, null, {_key(f'{measure}L', text)})" for measure, text in durations.items()]
    return placed.selectExpr("r", f"explode(array({', '.join(keys)})) as key").where("key is not null")


def histogram(records: Records) -> DataFrame:
    """(key, n) of every duration of the batch. Measures differ between the sources, so their keys never meet."""
    sources = {"deliveries": _delivery_keys, "acks": _ack_keys, "connections": _connection_keys}
    return reduce(
        DataFrame.union, [_counted(make(records.table(name), records.batch)) for name, make in sources.items()]
    )


def _counted(keys: DataFrame) -> DataFrame:
    packed = keys.selectExpr(f"shiftleft(cast(r as bigint), {RUN_AT}) | key as key")
    return packed.groupBy("key").agg(F.expr("count(1) as n"))


def part(key: str, at: int, bits: int) -> Column:
    """One number out of a packed key."""
    return F.shiftrightunsigned(F.col(key), at).bitwiseAND(F.lit((1 << bits) - 1))


def duration_us() -> Column:
    """The duration of a histogram row."""
    return part("key", 0, US_BITS) - F.lit(BIAS)
