"""Folders behind any URL that Spark can read, through Spark's own file systems."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from telemark.errors import DataError


class HadoopFolders:
    """`telemark.store.layout.Folders` for URLs, and the little writing that results need."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        self._configuration: Any = spark._jsc.hadoopConfiguration()

    def children(self, folder: str) -> list[str]:
        """Names in a folder, sorted; empty when there is no such folder."""
        system, path = self._at(folder)
        try:
            if not system.exists(path) or not system.getFileStatus(path).isDirectory():
                return []
            return sorted(str(status.getPath().getName()) for status in system.listStatus(path))
        except Exception as error:
            raise DataError(f"{folder} cannot be listed: {_first_line(error)}") from error

    def read_text(self, path: str) -> str:
        """Content of a small file."""
        system, place = self._at(path)
        try:
            stream = system.open(place)
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()
        except Exception as error:
            raise DataError(f"{path} cannot be read: {_first_line(error)}") from error

    def write_text(self, path: str, text: str) -> None:
        """Write a small file, replacing an older one."""
        system, place = self._at(path)
        try:
            stream = system.create(place, True)
            try:
                stream.write(bytearray(text.encode("utf-8")))
            finally:
                stream.close()
        except Exception as error:
            raise DataError(f"{path} cannot be written: {_first_line(error)}") from error

    def _at(self, path: str) -> tuple[Any, Any]:
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        try:
            return place.getFileSystem(self._configuration), place
        except Exception as error:
            raise DataError(f"{path}: Spark has no file system for it: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    cause = getattr(error, "java_exception", None)
    text = str(cause.toString()) if cause is not None else str(error)
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__
