"""A child process spoken to in JSON lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from telemark.host.lines import LineProcess

ECHO = """
import json, sys
print("chatter", flush=True)
print("[1, 2]", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    if order["do"] == "crash":
        print("first line", "boom", sep="\\n", file=sys.stderr)
        sys.exit(3)
    for number in range(order.get("times", 1)):
        print(json.dumps({"is": order["do"], "number": number}), flush=True)
    print('{"is": "half', end="", flush=True)
    print('"}', flush=True)
"""
Start = Callable[[], LineProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[LineProcess] = []

    def start_child() -> LineProcess:
        started.append(LineProcess([sys.executable, "-c", ECHO], tmp_path / "logs" / "child.log", {"A": "b"}))
        return started[-1]

    yield start_child
    for child in started:
        child.kill()


def test_the_latest_message_of_each_kind_is_kept_and_all_are_read(start: Start) -> None:
    """What is no object with a kind was printed by somebody else."""
    child = start()
    child.order({"do": "status", "times": 1000})
    seen: list[int] = []
    while "half" not in child.latest:
        seen += [message["number"] for message in child.read() if message["is"] == "status"]

    assert list(range(1000)) == seen
    assert {"is": "status", "number": 999} == child.latest["status"]


def test_of_several_failures_the_first_counts(start: Start) -> None:
    """The others follow from it."""
    child = start()
    child.order({"do": "failed", "times": 2})
    while "half" not in child.latest:
        child.read()

    assert 0 == child.latest["failed"]["number"]
    assert child.wait_for("ready", 60) is None


def test_waiting_takes_the_message_or_ends_in_time(start: Start) -> None:
    """The next wait is for the next message."""
    child = start()
    child.order({"do": "clock"})

    assert {"is": "clock", "number": 0} == child.wait_for("clock", 60)
    assert child.wait_for("clock", 0.01) is None


def test_how_it_ended_is_told_with_its_last_words(start: Start) -> None:
    """An order to a process that has gone is no error."""
    child = start()
    child.order({"do": "crash"})

    assert child.wait_for_end(60)
    assert "ended with status 3: boom" == child.last_words()
    assert "ended with status 3: first line\nboom" == child.last_words(lines=2)
    child.order({"do": "status"})
    assert [] == child.read()
    assert not child.kill()


def test_killing_says_whether_it_was_there_and_leaves_no_empty_log(start: Start) -> None:
    """Twice does no harm."""
    child = start()

    assert child.kill()
    assert not child.kill()
    assert "was killed by signal 9" == child.last_words()
    assert not child.log.exists()


def test_waiting_for_the_end_is_bounded(start: Start) -> None:
    """A process that stays is told apart from one that ended."""
    started = time.monotonic()

    assert not start().wait_for_end(0.05)
    assert time.monotonic() - started < 30
