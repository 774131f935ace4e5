"""The engine's clock: the same in every process of a host, and estimated across hosts within its stated error."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from telemark.model.clock import Correction, Exchange, correction

SOURCE = Path(__file__).parents[2] / "src"
# An engine's clock in a process of its own, as a host would show it whose clock is so many nanoseconds off.
HOST = """
import sys
sys.path.insert(0, sys.argv[1])
from telemark._native import monotonic_ns
for _ in sys.stdin:
    print(monotonic_ns() + int(sys.argv[2]), flush=True)
"""


@contextmanager
def host(offset_ns: int) -> Iterator[subprocess.Popen[str]]:
    """Another engine host."""
    command = [sys.executable, "-c", HOST, str(SOURCE), str(offset_ns)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def reading(process: subprocess.Popen[str]) -> int:
    """Its time, now."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def exchange(asking: subprocess.Popen[str], telling: subprocess.Popen[str], times: int = 32) -> Correction:
    """The correction that exchanges between two engine hosts give."""
    found = []
    for _ in range(times):
        asked_ns, told_ns = reading(asking), reading(telling)
        found.append(Exchange(asked_ns, told_ns, reading(asking)))
    return correction(found)


def test_engine_processes_of_one_host_have_one_clock() -> None:
    """The clock of one process, asked from another: no offset that the exchange could show."""
    with host(0) as one, host(0) as other:
        found = exchange(other, one)
    correction_ns, error_ns = found.at(found.first_ns)
    assert abs(correction_ns) <= error_ns


@pytest.mark.parametrize("offset_ns", [1_000_000, -250_000_000, 86_400_000_000_000])
def test_the_offset_of_another_host_is_found_within_its_error(offset_ns: int) -> None:
    """Two engine hosts, the second so far off; the error is a small part of the offset."""
    with host(0) as here, host(offset_ns) as there:
        found = exchange(here, there, times=200)
    correction_ns, error_ns = found.at(found.first_ns)
    assert abs(correction_ns - offset_ns) <= error_ns
    assert error_ns < abs(offset_ns)
