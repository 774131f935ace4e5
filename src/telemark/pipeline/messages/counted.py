"""Where a counted table is kept: it leaves Spark when it is small enough for the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from telemark.pipeline.spark.reading import spark_schema
from telemark.pipeline.tables.counted import Counted, Here, Question

HERE_BYTES: Final = 1 << 28  # up to this size a table leaves Spark; what is made of it takes up to five times as much
PART_ROWS: Final = 2_000_000  # of a part on an executor
# Rows of different tables leave Spark in one job as Arrow streams, each with the number of its question.
_ANSWERS: Final = pa.schema([("question", pa.int32()), ("rows", pa.binary())])


class InSpark:
    """A table that Spark keeps until it is closed."""

    def __init__(self, frame: DataFrame, rows: int) -> None:
        self._frame = frame
        self._parts = max(-(-rows // PART_ROWS), 1)

    def answer(self, questions: Sequence[Question], together: str) -> list[pa.Table]:
        functions = [question.function for question in questions]

        def part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            found = list(batches)
            if found:
                rows = pa.Table.from_batches(found)
                streams = [_stream(function(rows)) for function in functions]
                yield pa.record_batch([list(range(len(streams))), streams], schema=_ANSWERS)

        parts = self._frame.repartition(self._parts, F.expr(together))
        answers = _map_in_arrow(parts, part, _ANSWERS).toArrow()
        return [_joined(answers, number, question.schema) for number, question in enumerate(questions)]

    def close(self) -> None:
        self._frame.unpersist()


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _joined(answers: pa.Table, question: int, schema: pa.Schema) -> pa.Table:
    """All parts' answers to one question."""
    streams = answers.filter(pc.equal(answers["question"], question))["rows"]
    tables = [pa.ipc.open_stream(each.as_py()).read_all().cast(schema) for each in streams]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _map_in_arrow(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: pa.Schema
) -> DataFrame:
    """`DataFrame.mapInArrow`, which asks for pandas without using it."""
    mapped = UserDefinedFunction(
        function, spark_schema(schema), evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF, deterministic=True
    )
    column: Any = mapped(*[frame[name] for name in frame.columns])
    jvm_frame: Any = frame._jdf
    return DataFrame(jvm_frame.mapInArrow(column._jc, False, None), frame.sparkSession)


def fits_here(frame: DataFrame, rows: int) -> bool:
    """Whether so many rows of a frame may leave Spark. NumPy takes every column as 8 bytes."""
    return rows * len(frame.columns) * 8 <= HERE_BYTES


def counted(frame: DataFrame, most_rows: int) -> Counted:
    """Compute a frame of at most so many rows, and put it where it belongs."""
    if fits_here(frame, most_rows):
        return Here(frame.toArrow())
    kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
    rows = kept.count()
    if not fits_here(kept, rows):
        return InSpark(kept, rows)
    try:
        return Here(kept.toArrow())
    finally:
        kept.unpersist()
