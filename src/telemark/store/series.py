"""Files of one process's records: they appear in the run folder only when they are complete.

Every table has its own series of files, `<process>-<number>.parquet`. A file is written under a name with a dot
in front and renamed when it is closed, so a reader never meets half a file and a process that dies loses at
most the rows since the last roll.

Engine processes write with `NativeWriter`, whose files the native side encodes: their memory is part of what a run
costs, so nothing here may import Arrow.
"""

from __future__ import annotations

import errno
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from telemark._native import Batch, RecordFile
from telemark.errors import DataError, RequirementError, TelemarkError
from telemark.store.atomic import make_folder, sync_file, sync_folder

ROLL_SECONDS: Final = 10.0
ROLL_ROWS: Final = 4_000_000


def record_file(process: int, number: int) -> str:
    """Name of a finished record file; it belongs to the layout, which is no light import."""
    return f"{process:03d}-{number:05d}.parquet"


class TableFile(Protocol):
    """A Parquet file of one table that is being written."""

    def write(self, batch: Any, /) -> None: ...
    def close(self) -> None: ...


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """A full disk is the host's lack, anything else a fault of the folder."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RequirementError(
                f"no space left for {path}", hint="free disk space or choose another --out"
            ) from error
        raise DataError(f"cannot write {path}: {error}") from error


class _Series:
    """The files of one table: at most one is open."""

    def __init__(
        self, folder: Path, process: int, make: Callable[[Path], TableFile], clock: Callable[[], float]
    ) -> None:
        self._folder = folder
        self._process = process
        self._make = make
        self._clock = clock
        self._number = 0
        self._file: TableFile | None = None
        self._opened = 0.0
        self._rows = 0
        self.written = 0

    def write(self, batch: Any, rows: int) -> None:
        if rows == 0:
            return
        with _disk_errors(self._temporary):
            file = self._file or self._open()
            self._file = None  # one that cannot take its rows is never finished: it would be half a file with a name
            file.write(batch)
        self._file = file
        self._rows += rows

    def due(self, roll_seconds: float, roll_rows: int) -> bool:
        if self._file is None:
            return False
        return self._rows >= roll_rows or self._clock() - self._opened >= roll_seconds

    def close(self) -> None:
        """Finish the open file and give it its name, once it is on the disk: what has a name survives a power cut."""
        if self._file is None:
            return
        file, self._file = self._file, None  # one that fails to close is not closed again and never gets its name
        with _disk_errors(self._temporary):
            file.close()
            sync_file(self._temporary)
            self._temporary.rename(self._folder / record_file(self._process, self._number))
            sync_folder(self._folder)
        self.written += self._rows
        self._number += 1

    @property
    def _temporary(self) -> Path:
        return self._folder / f".{record_file(self._process, self._number)}"

    def _open(self) -> TableFile:
        if self._number == 0:
            make_folder(self._folder)
        self._opened = self._clock()
        self._rows = 0
        return self._make(self._temporary)


class SeriesWriter(ABC):
    """The files of one process. Not for several threads at once.

    Args:
        folder: the run folder.
        process: number of the engine process; consumers count from 1000, the runner is 999.
        clock: seconds that never go back; tests pass their own.
    """

    def __init__(
        self,
        folder: Path,
        process: int,
        *,
        roll_seconds: float = ROLL_SECONDS,
        roll_rows: int = ROLL_ROWS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._process = process
        self._roll_seconds = roll_seconds
        self._roll_rows = roll_rows
        self._clock = clock
        self._series: dict[str, _Series] = {}

    @abstractmethod
    def _make_file(self, table: str, path: Path) -> TableFile:
        """A new file of a table."""

    def _add(self, table: str, batch: Any, rows: int) -> None:
        series = self._series.get(table)
        if series is None:
            make = partial(self._make_file, table)
            series = self._series[table] = _Series(self._folder / table, self._process, make, self._clock)
        series.write(batch, rows)
        self.tick()

    def tick(self) -> None:
        """Close files that are old or large enough. Call it about once a second when nothing is written."""
        for series in self._series.values():
            if series.due(self._roll_seconds, self._roll_rows):
                series.close()

    def rows(self, table: str) -> int:
        """Rows of a table that are in complete files."""
        series = self._series.get(table)
        return 0 if series is None else series.written

    def close(self) -> None:
        """Finish every open file, also when one of them cannot be finished. Safe to call twice."""
        failures = []
        for series in self._series.values():
            try:
                series.close()
            except TelemarkError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class NativeWriter(SeriesWriter):
    """Writes batches of the native engine, which encodes them itself."""

    def write(self, batch: Batch) -> None:
        """Add rows of one table."""
        self._add(batch.table, batch, batch.rows)

    def _make_file(self, table: str, path: Path) -> TableFile:
        return RecordFile(path)
