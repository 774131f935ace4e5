"""Random damage for the readers of documents: `python -m tests.support.fuzz_documents [SECONDS] [SEED]`, for each kind.

Any bytes give a value or a problem, never an exception. Input number n of a seed is always the same.
"""

from __future__ import annotations

import json
import random
import sys
import time
from itertools import count

from telemark.store.documents.reading import Problem
from tests.unit.test_documents import KINDS, VALUES

TOKENS = (
    b"null", b"true", b"[", b"]", b"{", b"}", b'"', b"\\", b"-1", b"1e999", b"NaN", b"Infinity", b"\\ud800", b"\xff",
    b"9223372036854775808", b'"x"', b"[]", b"{}", b":", b",", b"\x00", b"[[[[[[[[",
)  # fmt: skip


def damaged(example: bytes, seed: int, number: int) -> bytes:
    """The example with a few places replaced, removed or repeated."""
    dice = random.Random(f"{seed}-{number}")
    data = bytearray(example)
    for _ in range(dice.randrange(1, 8)):
        at = dice.randrange(len(data) + 1)
        end = min(len(data), at + dice.randrange(12))
        data[at:end] = dice.choice((dice.choice(TOKENS), dice.randbytes(dice.randrange(3)), bytes(data[at:end]) * 2))
    return bytes(data)


def fuzz(kind: str, seconds: float, seed: int, most: int = sys.maxsize) -> int:
    """Feed one reader; how many inputs it has survived."""
    read, example = KINDS[kind]
    text, end = json.dumps(example).encode(), time.monotonic() + seconds
    for number in count():
        if number >= most or time.monotonic() > end:
            return number
        data = damaged(text, seed, number)
        try:
            found = read(data)
        except BaseException:
            print(f"{kind}: input {number} of seed {seed}: {data!r}", file=sys.stderr)
            raise
        assert isinstance(found, (VALUES[kind], Problem)), (kind, number)
    raise AssertionError("numbers do not end")


if __name__ == "__main__":
    limit, first_seed = float((sys.argv[1:] or ["60"])[0]), int((sys.argv[2:] or ["1"])[0])
    for name in KINDS:
        print(f"{name}: {fuzz(name, limit, first_seed):,} inputs of seed {first_seed}, none failed")
