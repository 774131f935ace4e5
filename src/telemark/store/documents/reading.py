"""The one reader of documents: bytes become a checked value or a `Problem`, never an exception.

Run folders come from strangers. A document is a regular file of limited size, UTF-8, JSON without NaN, infinity or
numbers beyond 64 bits, not nested deeply, without half characters, and every field has the type its dataclass names.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from telemark.errors import DataError
from telemark.store.documents.typed import Mismatch, typed

T = TypeVar("T")
LARGEST_BYTES: Final = 16 << 20
DEEPEST: Final = 40
Prepare = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a document cannot be used."""

    message: str
    hint: str | None = None

    def error(self) -> DataError:
        """For those who cannot go on without the document."""
        return DataError(self.message, hint=self.hint)


class Refused(Exception):  # noqa: N818 - it never leaves the reader
    """A document that is well formed but cannot be used, with a hint."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def required(found: T | Problem) -> T:
    """The value. Raises DataError when there is a problem instead."""
    if isinstance(found, Problem):
        raise found.error()
    return found


def read_document(path: Path, kind: type[T], prepare: Prepare | None = None) -> T | Problem:
    """Read and check a document of this host; see `decode`."""
    data = read_bytes(path)
    return data if isinstance(data, Problem) else decode(data, kind, str(path), prepare)


def read_bytes(path: Path, largest: int = LARGEST_BYTES) -> bytes | Problem:
    """Content of a regular file. Links, pipes and devices are refused: reading them may never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                return Problem(f"{path} is not a regular file")
            if about.st_size > largest:
                return Problem(f"{path} has {about.st_size:,} bytes, expected at most {largest:,}")
            return file.read(largest)
    except (OSError, ValueError) as error:
        if path.is_symlink():
            return Problem(f"{path} is a link: links in run and campaign folders are not followed")
        return Problem(f"{path} cannot be read: {error}")


def decode(data: bytes | str, kind: Any, name: str, prepare: Prepare | None = None) -> Any | Problem:
    """Check the content of a document.

    Args:
        data: its content.
        kind: the dataclass (or hint) it must fit.
        name: what messages call it.
        prepare: makes today's form of what was read; raises Refused for what cannot be used.
    """
    try:
        content = json.loads(data, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
        _refuse_strange(content, DEEPEST)
        return typed(kind, prepare(content) if prepare else content)
    except Refused as refused:
        return Problem(f"{name}: {refused}", refused.hint)
    except Mismatch as mismatch:
        return Problem(f"{name}: {mismatch}")
    except RecursionError:
        return Problem(f"{name}: nested more than {DEEPEST} deep")
    except ValueError as error:  # malformed JSON, bytes that are no UTF-8, half characters
        return Problem(f"{name} is not JSON: {error}")


def _no_number(text: str) -> NoReturn:
    raise Refused(f"{text} is not a number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        _no_number(text[:30])
    return value


def _whole(text: str) -> int:
    value = int(text) if len(text) < 25 else 1 << 64
    if not -(1 << 63) <= value < 1 << 63:
        raise Refused(f"{text[:30]} is beyond 64 bits")
    return value


def _refuse_strange(value: Any, left: int) -> None:
    """Half characters (no file, no terminal takes them) and depth beyond any document of ours."""
    if left == 0:
        raise RecursionError
    if isinstance(value, str):
        value.encode()  # UnicodeEncodeError is a ValueError
    elif isinstance(value, list):
        for item in value:
            _refuse_strange(item, left - 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            key.encode()
            _refuse_strange(item, left - 1)
