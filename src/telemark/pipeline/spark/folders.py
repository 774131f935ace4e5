"""Folders behind any URL that Spark can read, through Spark's own file systems."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from telemark.errors import DataError, RequirementError


class HadoopFolders:
    """`telemark.store.layout.Folders` for URLs."""

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
        try:
            return self.read(path).decode()
        except UnicodeDecodeError as error:
            raise DataError(f"{path} cannot be read: {error}") from error

    def read(self, path: str) -> bytes:
        """Content of a small file."""
        system, file = self._at(path)
        try:
            stream = system.open(file)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()
        except Exception as error:
            raise DataError(f"{path} cannot be read: {_first_line(error)}") from error

    def write(self, path: str, content: bytes) -> None:
        """Write a small file, replacing an older one."""
        system, file = self._at(path)
        try:
            stream = system.create(file, True)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()
        except Exception as error:
            raise RequirementError(f"{path} cannot be written: {_first_line(error)}", hint="use --out") from error

    def remove(self, path: str) -> None:
        """Remove a file, if it exists."""
        system, file = self._at(path)
        try:
            system.delete(file, False)
        except Exception as error:
            raise RequirementError(f"{path} cannot be removed: {_first_line(error)}", hint="use --out") from error

    def _at(self, path: str) -> tuple[Any, Any]:
        file = self._jvm.org.apache.hadoop.fs.Path(path)
        try:
            return file.getFileSystem(self._configuration), file
        except Exception as error:
            raise DataError(f"{path}: Spark has no file system for it: {_first_line(error)}") from error


class HadoopFiles:
    """Files of a results folder behind a URL, by their path in it."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self._folders = HadoopFolders(spark)
        self._url = url

    def children(self, folder: str) -> list[str]:
        return self._folders.children(f"{self._url}/{folder}")

    def read(self, path: str) -> bytes:
        return self._folders.read(f"{self._url}/{path}")

    def write(self, path: str, content: bytes) -> None:
        self._folders.write(f"{self._url}/{path}", content)

    def remove(self, path: str) -> None:
        self._folders.remove(f"{self._url}/{path}")


def _first_line(error: Exception) -> str:
    cause = getattr(error, "java_exception", None)
    text = str(cause.toString()) if cause is not None else str(error)
    return text.strip().splitlines()[0] if text.strip() else type(error).__name__
