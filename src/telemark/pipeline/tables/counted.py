"""A counted table: in the driver's memory while it is small, in Spark when it is not.

Functions of this package take an Arrow table and give one. Where the counted table is in Spark, the same function runs
on the executors, a part of the table at a time; its results must then be fit to be put together on the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

Function = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class Question:
    """Something to find out about a counted table.

    Args:
        function: gets rows with the columns of the table and gives rows of `schema`.
        schema: of the result.
    """

    function: Function
    schema: pa.Schema


class Counted(Protocol):
    """A counted table, wherever it is."""

    def answer(self, questions: Sequence[Question], together: str) -> list[pa.Table]:
        """What each function makes of the table, or of parts of it, one after the other. One pass answers all.

        Args:
            questions: in the order of the results.
            together: SQL text; rows that agree in it are in the same part.
        """
        ...

    def close(self) -> None:
        """Free what Spark keeps of it."""
        ...


class Here:
    """A table in the driver's memory."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def answer(self, questions: Sequence[Question], together: str) -> list[pa.Table]:
        del together
        return [question.function(self._table) for question in questions]

    def close(self) -> None:
        return None
