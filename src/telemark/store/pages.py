"""What the parts of a stranger's Parquet file would take in memory, found without unpacking any of them.

A reader makes room for what the file claims before it looks at the content. The directory at the file's end claims its
own size, and each page claims how large it will be: both are looked at here first, in the file's own few bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import pyarrow.parquet as pq

from telemark.errors import DataError

MOST_DIRECTORY: Final = 64 << 20  # bytes: some hundred for each column of a million rows
MOST_PAGE: Final = 256 << 20  # bytes: a page of this program has a column of at most a million rows
MOST_PAGES: Final = 200_000  # of one file: looking at them takes a few seconds

# Fields of a page's head, as the format's description numbers them. A page of data has one of two forms.
_UNPACKED, _PACKED, _FIRST_FORM, _SECOND_FORM, _VALUES = 2, 3, 5, 8, 1
_DEEPEST = 4  # a page's head holds the head of its form, and that the statistics
_LONGEST = 1 << 31  # bytes: sizes in the format have 31 bits

Fields = dict[int, "int | Fields"]


@dataclass(slots=True)
class Contents:
    """What the pages of a file hold; what the directory says about it is not believed."""

    values: int = 0  # of the column that has most
    text: int = 0  # bytes of all text columns


def read_directory(file: BinaryIO) -> Any:
    """The directory of a Parquet file. Raises DataError, OSError or ArrowException when it is too large or damaged."""
    file.seek(max(0, file.seek(0, 2) - 8))
    claimed = int.from_bytes(file.read(4), "little")
    if claimed > MOST_DIRECTORY:
        raise DataError(f"its directory has {claimed:,} bytes, expected at most {MOST_DIRECTORY:,}")
    file.seek(0)
    return pq.read_metadata(file)


def contents(file: BinaryIO, directory: Any) -> Contents:
    """Look at the head of every page.

    Raises:
        DataError: a page is too large for memory, or the pages are damaged.
    """
    found, pages, values = Contents(), 0, Counter[str]()
    for column in _columns(directory):
        for size, count in _pages(file, column):
            pages += 1
            if size > MOST_PAGE:
                raise DataError(f"a page has {size:,} bytes, expected at most {MOST_PAGE:,}")
            if pages > MOST_PAGES:
                raise DataError(f"it has more than {MOST_PAGES:,} pages")
            values[column.path_in_schema] += count
            found.text += size if column.physical_type == "BYTE_ARRAY" else 0
    found.values = max(values.values(), default=0)
    return found


def _columns(directory: Any) -> Iterator[Any]:
    for group in map(directory.row_group, range(directory.num_row_groups)):
        yield from map(group.column, range(group.num_columns))


def _pages(file: BinaryIO, column: Any) -> Iterator[tuple[int, int]]:
    """(unpacked size, number of values) of a column's pages."""
    # A column without rows, or without a dictionary, may have 0 there.
    starts = [each for each in (column.dictionary_page_offset, column.data_page_offset) if each and each > 0]
    place = min(starts, default=0)
    end = place + column.total_compressed_size if starts else 0
    while place < end:
        file.seek(place)
        head = _read_fields(file)
        unpacked, packed = head.get(_UNPACKED), head.get(_PACKED)
        if not isinstance(unpacked, int) or not isinstance(packed, int) or not 0 <= packed < _LONGEST:
            raise DataError(f"the page at byte {place:,} has no size")
        form = head.get(_FIRST_FORM) or head.get(_SECOND_FORM)
        values = form.get(_VALUES) if isinstance(form, dict) else 0
        yield unpacked, values if isinstance(values, int) else 0
        place = file.tell() + packed


def _read_fields(file: BinaryIO, depth: int = 1) -> Fields:
    """Numbers and structs of a struct in Thrift's compact form; the file stands behind it afterwards."""
    fields: Fields = {}
    field = 0
    while head := _byte(file):
        field = field + (head >> 4) if head >> 4 else _whole_number(file)
        match head & 15:
            case 1 | 2:  # true and false: the kind is the value
                pass
            case 3:
                _byte(file)
            case 4 | 5 | 6:
                fields[field] = _whole_number(file)
            case 8 if (length := _unsigned(file)) < _LONGEST:
                file.seek(length, 1)
            case 12 if depth < _DEEPEST:
                fields[field] = _read_fields(file, depth + 1)
            case _:
                raise DataError("a page has a head of an unknown kind")
    return fields


def _whole_number(file: BinaryIO) -> int:
    coded = _unsigned(file)
    return (coded >> 1) ^ -(coded & 1)


def _unsigned(file: BinaryIO) -> int:
    number = shift = 0
    while shift < 64:
        byte = _byte(file)
        number |= (byte & 127) << shift
        if byte < 128:
            return number
        shift += 7
    raise DataError("a page has a number that is too long")


def _byte(file: BinaryIO) -> int:
    found = file.read(1)
    if not found:
        raise DataError("the file ends within a page")
    return found[0]
