"""How large the numbers of a run's deliveries are, from the directories at the end of its Parquet files.

No row is read: Parquet keeps count, smallest and largest value of every column of every row group.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from telemark.errors import DataError
from telemark.store.pages import contents, read_directory
from telemark.store.reader import record_files
from telemark.store.schemas import TABLES


@dataclass(frozen=True, slots=True)
class Bounds:
    """Largest numbers of a run's deliveries. -1 where there is none."""

    deliveries: int = 0
    stream: int = -1
    sequence: int = -1
    subscription: int = -1
    first_intended_ns: int = 0
    last_intended_ns: int = 0
    acks: int = 0
    share: int = -1  # largest share group of its subscriptions; -1: no shared subscription


def local_bounds(folder: Path) -> Bounds:
    """Bounds of a run folder on this host. Looks at every record file, so damaged ones are found here.

    Raises:
        DataError: a file is damaged; all of them are named.
    """
    directories = _directories(folder)
    deliveries = directories["deliveries"]
    intended = list(_extremes(deliveries, "intended_ns"))
    return Bounds(
        deliveries=sum(directory.num_rows for directory in deliveries),
        stream=max((high for _, high in _extremes(deliveries, "stream")), default=-1),
        sequence=max((high for _, high in _extremes(deliveries, "sequence")), default=-1),
        subscription=max(
            (
                high
                for table in ("deliveries", "subscriptions")
                for _, high in _extremes(directories[table], "subscription")
            ),
            default=-1,
        ),
        # Rows without a stamp have 0 there; they must not stretch the run's time.
        first_intended_ns=min((low for low, _ in intended if low > 0), default=0),
        last_intended_ns=max((high for _, high in intended), default=0),
        acks=sum(directory.num_rows for directory in directories["acks"]),
        share=max((high for _, high in _extremes(directories["subscriptions"], "share")), default=-1),
    )


def _directories(folder: Path) -> dict[str, list[Any]]:
    """The directory of every record file, by table."""
    found: dict[str, list[Any]] = {}
    damaged: list[str] = []
    for table in TABLES:
        found[table] = []
        for path in record_files(folder, table):
            try:
                with path.open("rb") as file:
                    directory = read_directory(file)
                    contents(file, directory)  # a page that is too large for memory is refused
                _refuse_other_types(directory.schema.to_arrow_schema(), TABLES[table])
                found[table].append(directory)
            except (OSError, DataError, pa.ArrowException) as error:
                damaged.append(f"{table}/{path.name}: {str(error).splitlines()[0]}")
    if damaged:
        raise DataError(f"{folder} has damaged files: {'; '.join(damaged)}", hint="copy the run folder again")
    return found


def _refuse_other_types(found: pa.Schema, expected: pa.Schema) -> None:
    """A column may be missing (older formats have fewer), but none may hold something else."""
    for field in expected:
        if field.name in found.names and found.field(field.name).type != field.type:
            raise DataError(f"{field.name} is {found.field(field.name).type}, expected {field.type}")


def _extremes(directories: Iterable[Any], column: str) -> Iterable[tuple[int, int]]:
    """(smallest, largest) of a column in every row group that has values."""
    for directory in directories:
        if column not in directory.schema.names:
            continue
        place = directory.schema.names.index(column)
        for group in range(directory.num_row_groups):
            chunk = directory.row_group(group).column(place)
            statistics = chunk.statistics
            if statistics is not None and statistics.has_min_max:
                yield int(statistics.min), int(statistics.max)
            elif statistics is None or statistics.null_count < chunk.num_values:
                # Guessing would make keys too narrow for the values, and every number after it wrong.
                raise DataError(
                    f"a Parquet file lacks the smallest and largest {column} (statistics)",
                    hint="copy the run folder as it was recorded: files rewritten without statistics cannot be used",
                )
