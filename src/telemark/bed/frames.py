"""What goes over the line between runner and host agent: JSON lines, with bytes behind a line that announces them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

LONGEST_LINE = 1 << 22  # an engine's plan with a few thousand groups
LONGEST_PAYLOAD = 1 << 22
LONGEST_GREETING = 1 << 12  # of a line from somebody who has not shown that he knows the secret
_SIZE = "bytes"

Message = dict[str, Any]


def encode(message: Mapping[str, Any], payload: bytes = b"") -> bytes:
    """One frame."""
    sized = {**message, _SIZE: len(payload)} if payload else message
    return json.dumps(sized, separators=(",", ":")).encode() + b"\n" + payload


async def read_frame(reader: asyncio.StreamReader, *, limit: int = LONGEST_LINE) -> tuple[Message, bytes]:
    """The next frame.

    Raises:
        EOFError: the other side has closed the line.
        ValueError: what came is no frame.
    """
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the line was closed")
    if len(line) > limit:
        raise ValueError(f"a line of {len(line)} bytes, expected at most {limit}")
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("a line that is no JSON object")
    size = message.pop(_SIZE, 0)
    if not isinstance(size, int) or not 0 <= size <= (LONGEST_PAYLOAD if limit == LONGEST_LINE else 0):
        raise ValueError(f"{_SIZE}: found {size!r}, expected at most {LONGEST_PAYLOAD}")
    return message, await reader.readexactly(size) if size else b""
