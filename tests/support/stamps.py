"""Stamped payloads, as the engine sends them."""

from __future__ import annotations

import struct

STAMP = struct.Struct("<2sBBIQqq")


def stamped(stream: int, sequence: int) -> bytes:
    """A 32-byte payload of a stream."""
    return STAMP.pack(b"TM", 1, 0, stream, sequence, 0, 0)


def read_stamp(payload: bytes) -> tuple[int, int]:
    """Stream and sequence of a payload."""
    _, _, _, stream, sequence, _, _ = STAMP.unpack_from(payload)
    return stream, sequence
