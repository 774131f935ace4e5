"""Which CPUs each part of a run may use: `--pin server=0 --pin engine=1,2-3`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from telemark.errors import ConfigError

ROLES = ("server", "engine", "consumer")

Pinning = Mapping[str, tuple[int, ...]]  # role -> CPUs; a role that is absent is not pinned


def parse_pins(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Read `role=cpus` texts, all problems reported at once.

    Raises:
        ConfigError: an unknown role, a CPU this host does not have, or a text that cannot be read.
    """
    pins: dict[str, tuple[int, ...]] = {}
    problems = []
    for text in texts:
        role, _, cpus = text.partition("=")
        try:
            if role not in ROLES:
                raise ValueError(f"role {role!r} is none of {', '.join(ROLES)}")
            pins[role] = usable_here(parse_cpus(cpus))
        except ValueError as error:
            problems.append(f"--pin {text}: {error}")
    if problems:
        raise ConfigError(
            "pinning cannot be used", hint="for example --pin server=0 --pin engine=1", problems=tuple(problems)
        )
    return pins


def parse_cpus(text: str) -> tuple[int, ...]:
    """CPU numbers of `0`, `0,2` or `0-3,8`; ValueError says what is wrong."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"expected CPU numbers such as 0 or 0,2-3, found {text!r}")
        numbers.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(numbers))


def usable_here(cpus: tuple[int, ...]) -> tuple[int, ...]:
    """The same CPUs; ValueError when this host does not have them."""
    missing = sorted(set(cpus) - os.sched_getaffinity(0))
    if missing or not cpus:
        allowed = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        raise ValueError(f"CPU {','.join(map(str, missing))} is not usable here, only {allowed}")
    return cpus


def describe(pins: Pinning) -> dict[str, Any]:
    """For run.json: each role's CPUs, null when the scheduler was free to choose (the default on every host)."""
    return {role: list(pins[role]) if role in pins else None for role in ROLES}


def pin_process(pid: int, cpus: Sequence[int]) -> None:
    """Pin every thread of a process that already runs; nothing for no CPUs. A process that has gone is passed over."""
    if not cpus:
        return
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):
            os.sched_setaffinity(int(thread.name), cpus)
