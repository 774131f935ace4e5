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

from telemark.pipeline.batch import PHASES
from telemark.pipeline.read import Records
from telemark.store.layout import RunFolder
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


def phase_code(run: RunFolder, time: Column) -> Column:
    """Place in PHASES of the phase a time of this run falls into."""
    code = F.lit(0)
    for place, name in enumerate(PHASES):
        window = run.facts.phases.get(name)
        if window is not None:
            code = F.when((time >= window[0]) & (time < window[1]), place).otherwise(code)
    return code.cast("bigint")


def _second(run: RunFolder, time: Column) -> Column:
    # Whole-number division: a double has no room for nanoseconds of a month of uptime.
    offset = F.greatest(time - F.lit(run.facts.start_ns or 0), F.lit(0))
    return F.least(F.call_function("div", offset, F.lit(1_000_000_000)), F.lit(LAST_SECOND))


def _microseconds(duration: Column) -> Column:
    """Nearest whole microsecond, plus BIAS, within its bits. Never null: least and greatest pass over nulls."""
    shifted = duration + F.lit(BIAS * 1000 + 500)
    within = F.least(F.greatest(shifted, F.lit(0)), F.lit(((1 << US_BITS) - 1) * 1000))
    return F.call_function("div", within, F.lit(1000))


def _key(measure: int | Column, place: Column, duration: Column) -> Column:
    """Packed key but for the run. `place` holds second and phase at their bits."""
    code = F.lit(measure) if isinstance(measure, int) else measure
    return F.shiftleft(code.cast("bigint"), MEASURE_AT).bitwiseOR(place).bitwiseOR(_microseconds(duration))


def _place(run: RunFolder, time: Column) -> Column:
    return F.shiftleft(_second(run, time), SECOND_AT).bitwiseOR(F.shiftleft(phase_code(run, time), PHASE_AT))


def _delivery_keys(frame: DataFrame, run: RunFolder) -> DataFrame:
    intended, sent, received = F.col("intended_ns"), F.col("sent_ns"), F.col("received_ns")
    stamped = frame.where(F.col("flags").bitwiseAND(FLAG_FOREIGN) == 0)
    placed = stamped.select(_place(run, intended).alias("place"), intended, sent, received)
    place = F.col("place")
    keys = F.array(
        _key(0, place, received - intended), _key(1, place, received - sent), _key(2, place, sent - intended)
    )
    return placed.select(F.explode(keys).alias("key"))


def _ack_keys(frame: DataFrame, run: RunFolder) -> DataFrame:
    step = F.col("step")
    measure = F.when(step == ACK_PUBACK, 3).when(step == ACK_PUBREC, 4).when(step == ACK_PUBCOMP, 5)
    known = frame.where(step.isin(ACK_PUBACK, ACK_PUBREC, ACK_PUBCOMP))
    return known.select(_key(measure, _place(run, F.col("sent_ns")), F.col("acked_ns") - F.col("sent_ns")).alias("key"))


def _connection_keys(frame: DataFrame, run: RunFolder) -> DataFrame:
    """Phases of connecting. Each step counts where both its ends were reached; the whole, where CONNACK was."""
    started, tcp, tls, connack, suback = (
        F.col(f"{name}_ns") for name in ("started", "tcp", "tls", "connack", "suback")
    )
    place = F.lit(PHASES.index("connect") << PHASE_AT).cast("bigint")
    steps = [(6, started, tcp), (7, tcp, tls), (8, F.coalesce(tls, tcp), connack), (9, connack, suback)]
    keys = F.array(
        *[
            F.when((until - begin).isNotNull(), _key(measure, place, until - begin))
            for measure, begin, until in [*steps, (10, started, connack)]
        ]
    )
    return frame.select(F.explode(keys).alias("key")).where("key is not null")


def histogram(records: Records) -> DataFrame:
    """(key, n) of every duration of the batch. Measures differ between the sources, so their keys never meet."""
    sources = {"deliveries": _delivery_keys, "acks": _ack_keys, "connections": _connection_keys}
    return reduce(DataFrame.union, [_counted(records.marked(name, make)) for name, make in sources.items()])


def _counted(keys: DataFrame) -> DataFrame:
    packed = F.shiftleft(F.col("r").cast("bigint"), RUN_AT).bitwiseOR(F.col("key"))
    return keys.groupBy(packed.alias("key")).agg(F.count(F.lit(1)).alias("n"))


def part(key: str, at: int, bits: int) -> Column:
    """One number out of a packed key."""
    return F.shiftrightunsigned(F.col(key), at).bitwiseAND(F.lit((1 << bits) - 1))


def duration_us() -> Column:
    """The duration of a histogram row."""
    return part("key", 0, US_BITS) - F.lit(BIAS)
