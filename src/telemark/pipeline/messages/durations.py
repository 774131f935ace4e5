"""Every duration of a batch of runs, counted in whole microseconds: the one heavy step of the latency tables.

One packed key holds run, measure, second, phase and duration. Grouping by it with a plain count is several times faster
than any percentile function on the rows, and everything asked later is exact on the counts.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from telemark.pipeline.batch import RunBatch, per_run
from telemark.pipeline.messages.counted import counted
from telemark.pipeline.messages.keys import MEASURES, MESSAGE_MEASURES, NO_DURATION, PHASES, duration_sql, moment_sql
from telemark.pipeline.spark.reading import Records
from telemark.pipeline.tables.counted import Counted
from telemark.store.schemas import ACK_PUBACK, ACK_PUBCOMP, ACK_PUBREC, FLAG_FOREIGN

_BETWEEN: Final = {
    "latency": "received_ns - intended_ns",
    "service_time": "received_ns - sent_ns",
    "send_delay": "sent_ns - intended_ns",
}
_TIMES: Final = ("intended_ns", "sent_ns", "received_ns")
_STAMPED: Final = f"(flags & {FLAG_FOREIGN}) = 0"
_STEPS: Final = {"puback": ACK_PUBACK, "pubrec": ACK_PUBREC, "pubcomp": ACK_PUBCOMP}


def durations(records: Records, deliveries: int, acks: int) -> Counted:
    """(key, n) of every duration of the deliveries and acknowledgements of the batch."""
    stamped = records.table("deliveries").where(_STAMPED)
    timed = stamped.selectExpr("r", f"{_moment(records.batch, 'intended_ns')} as moment", *_TIMES)
    columns = [f"{text} as {name}" for name, text in _keys("moment").items()]
    # Measured: unpivot makes the three rows in generated code; explode makes an array first, a tenth slower.
    frame = _count(timed.selectExpr(*columns).unpivot([], list(MESSAGE_MEASURES), "measure", "key"))
    if acks:
        frame = frame.union(_count(ack_keys(records)))
    return counted(frame, len(MESSAGE_MEASURES) * deliveries + acks)


def delivery_keys(batch: RunBatch) -> list[str]:
    """SQL texts of the keys of a delivery's durations, one column for each; NO_DURATION where it has no stamp."""
    keys = _keys(_moment(batch, "intended_ns"))
    return [f"if({_STAMPED}, {text}, {NO_DURATION}L) as {name}" for name, text in keys.items()]


def _keys(moment: str) -> dict[str, str]:
    return {name: duration_sql(f"{MEASURES.index(name)}L", moment, text) for name, text in _BETWEEN.items()}


def ack_keys(records: Records) -> DataFrame:
    """(key) of every acknowledgement."""
    cases = " ".join(f"when {step} then {MEASURES.index(name)}L" for name, step in _STEPS.items())
    timed = records.table("acks").selectExpr("*", f"case step {cases} end as measure").where("measure is not null")
    key = duration_sql("measure", _moment(records.batch, "sent_ns"), "acked_ns - sent_ns")
    return timed.selectExpr(f"{key} as key")


def phase_sql(batch: RunBatch, time: str) -> str:
    """Position in PHASES of the phase a time of a row's run falls into."""
    cases = []
    for code, name in reversed(list(enumerate(PHASES))):
        # The last that fits counts: phases follow each other, and one that is empty or missing holds nothing.
        windows = [run.facts.phases.get(name, (0, 0)) for run in batch.runs]
        if any(begin < end for begin, end in windows):
            begins, ends = (per_run(each) for each in zip(*windows, strict=True))
            cases.append(f"when {time} >= {begins} and {time} < {ends} then {code}L")
    return f"case {' '.join(cases)} else 0L end" if cases else "0L"


def _moment(batch: RunBatch, time: str) -> str:
    # Whole-number division: a double has no room for nanoseconds of a month of uptime.
    return moment_sql(f"({time} - {batch.starts}) div 1000000000L", phase_sql(batch, time))


def _count(keys: DataFrame) -> DataFrame:
    return keys.groupBy("key").agg(F.expr("count(1) as n"))
