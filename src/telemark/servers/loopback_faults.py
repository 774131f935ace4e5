"""Faults of the built-in server as short texts, for command lines and server options.

| text | what the server does |
|---|---|
| `delay=5ms` | every delivery waits so long |
| `stall=1@3` | stands still for 1 s, 3 s after the first message |
| `drop=100` `duplicate=100` `reorder=100` | to every 100th message of each subscription |
| `refuse-connect=10` `refuse-connect=10:0x88` | refuses every 10th CONNECT, with that code |
| `refuse-subscribe=10` `refuse-subscribe=10:0x87` | refuses every 10th SUBSCRIBE |
| `disconnect=CLIENT@500` `disconnect=CLIENT@500x3` | cuts the device off after 500 messages, three times |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from telemark.errors import ConfigError

_DELAY = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)?")
_TO_MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0, None: 1.0}


def parse_faults(texts: Sequence[str]) -> dict[str, Any]:
    """Read fault texts into the settings the native server takes. Every problem is reported at once."""
    settings: dict[str, Any] = {}
    problems: list[str] = []
    for text in texts:
        name, _, value = text.partition("=")
        reader = READERS.get(name)
        if reader is None:
            problems.append(f"{text!r}: unknown fault, expected one of {', '.join(READERS)}")
            continue
        try:
            _add(settings, name.replace("-", "_"), reader(value))
        except ValueError:
            problems.append(f"{text!r}: expected {EXAMPLES[name]}")
    if problems:
        raise ConfigError("faults of the built-in server cannot be used", problems=tuple(problems))
    return settings


def _add(settings: dict[str, Any], name: str, value: Any) -> None:
    """Lists grow; of the others the last one counts."""
    if name == "delay":
        settings["delay_ms"] = value
    elif name in ("stall", "disconnect"):
        settings.setdefault(name, []).append(value)
    else:
        settings[name] = value


def _delay(text: str) -> float:
    found = _DELAY.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return float(found.group(1)) * _TO_MILLISECONDS[found.group(2)]


def _stall(text: str) -> dict[str, float]:
    seconds, _, at = text.partition("@")
    return {"seconds": float(seconds.removesuffix("s")), "at": float(at.removesuffix("s"))}


def _refusal(text: str) -> dict[str, int]:
    every, colon, code = text.partition(":")
    return {"every": int(every)} | ({"code": int(code, 0)} if colon else {})


def _disconnect(text: str) -> dict[str, Any]:
    client, _, count = text.rpartition("@")
    after, x, times = count.partition("x")
    if not client:
        raise ValueError(text)
    return {"client": client, "after": int(after)} | ({"times": int(times)} if x else {})


READERS: dict[str, Callable[[str], Any]] = {
    "delay": _delay,
    "stall": _stall,
    "drop": int,
    "duplicate": int,
    "reorder": int,
    "refuse-connect": _refusal,
    "refuse-subscribe": _refusal,
    "disconnect": _disconnect,
}
EXAMPLES = {
    "delay": "a time such as delay=5ms",
    "stall": "length and start in seconds such as stall=1@3",
    "drop": "a number such as drop=100",
    "duplicate": "a number such as duplicate=100",
    "reorder": "a number such as reorder=100",
    "refuse-connect": "a number, perhaps with a code, such as refuse-connect=10:3",
    "refuse-subscribe": "a number, perhaps with a code, such as refuse-subscribe=10:0x87",
    "disconnect": "client id and number of messages such as disconnect=device-3@500",
}
