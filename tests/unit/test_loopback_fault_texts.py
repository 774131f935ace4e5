"""Fault texts of the built-in server."""

from __future__ import annotations

from typing import Any

import pytest

from telemark.errors import ConfigError
from telemark.servers.loopback_faults import parse_faults


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("delay=5ms", {"delay_ms": 5.0}),
        ("delay=0.2s", {"delay_ms": 200.0}),
        ("delay=1500us", {"delay_ms": 1.5}),
        ("stall=1@3", {"stall": [{"seconds": 1.0, "at": 3.0}]}),
        ("stall=0.5s@3s", {"stall": [{"seconds": 0.5, "at": 3.0}]}),
        ("drop=100", {"drop": 100}),
        ("duplicate=7", {"duplicate": 7}),
        ("reorder=2", {"reorder": 2}),
        ("refuse-connect=10", {"refuse_connect": {"every": 10}}),
        ("refuse-connect=10:0x88", {"refuse_connect": {"every": 10, "code": 0x88}}),
        ("refuse-subscribe=3:128", {"refuse_subscribe": {"every": 3, "code": 128}}),
        ("disconnect=device-3@500", {"disconnect": [{"client": "device-3", "after": 500}]}),
        ("disconnect=a@b@5x2", {"disconnect": [{"client": "a@b", "after": 5, "times": 2}]}),
    ],
)
def test_a_fault_text_becomes_a_setting(text: str, expected: dict[str, Any]) -> None:
    """Each fault has a short text."""
    assert expected == parse_faults([text])


def test_faults_add_up() -> None:
    """Several faults are in force together; stalls and disconnects are lists."""
    expected = {"drop": 3, "stall": [{"seconds": 1.0, "at": 2.0}, {"seconds": 1.0, "at": 5.0}]}

    assert expected == parse_faults(["drop=3", "stall=1@2", "stall=1@5"])


def test_every_wrong_text_is_reported_at_once() -> None:
    """The error names each text and an example of what was expected."""
    with pytest.raises(ConfigError) as caught:
        parse_faults(["dorp=3", "drop=x", "stall=1", "disconnect=5", "delay=soon"])

    assert len(caught.value.problems) == 5
    assert "dorp" in caught.value.problems[0]
    assert "stall=1@3" in caught.value.problems[2]
