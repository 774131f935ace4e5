"""Whether two sides may be compared at all: what must be equal, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from telemark.errors import NotComparableError
from telemark.report.compare.sides import Key, Side
from telemark.report.format import one_line
from telemark.report.source import RunSource

# Parts of a plan that change how hard a point is. Names, seeds and notes do not.
PLANNED = ("groups", "load", "phases", "consumers", "server_options", "connect_rate")


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that must be equal and is not."""

    what: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.what}: {self.a} and {self.b}"


def over_all(a: Side, b: Side) -> Iterator[Difference]:
    """What keeps two whole sides from being comparable."""
    looks: dict[str, Callable[[Mapping[str, Any]], object]] = {
        "host": lambda facts: (facts.get("host") or {}).get("fingerprint"),
        "size": lambda facts: facts.get("size"),
        "CPU pinning": lambda facts: facts.get("pinning") or "none",
        "run folder format": lambda facts: facts.get("format"),
        "telemark version": lambda facts: _release(facts.get("telemark_version")),
    }
    for what, look in looks.items():
        values_a, values_b = ({_shown(look(run.facts)) for run in side.runs} for side in (a, b))
        if values_a != values_b:
            yield Difference(what, ", ".join(sorted(values_a)), ", ".join(sorted(values_b)))


def in_point(key: Key, a: RunSource, b: RunSource) -> Iterator[Difference]:
    """What keeps two points from being comparable: another profile or another plan."""
    where = " ".join(part for part in key[1:] if part)
    profiles = [str((run.facts.get("server") or {}).get("profile")) for run in (a, b)]
    if profiles[0] != profiles[1]:
        yield Difference(f"profile of {one_line(where)}", one_line(profiles[0]), one_line(profiles[1]))
    plans = [run.facts.get("plan") or {} for run in (a, b)]
    for part in PLANNED:
        for path, left, right in _unequal(plans[0].get(part), plans[1].get(part), part):
            yield Difference(f"{path} of {one_line(where)}", _shown(left), _shown(right))


def refuse(found: list[Difference]) -> NotComparableError:
    """The error that names what differs."""
    shown = "; ".join(str(difference) for difference in found[:6])
    more = f"; and {len(found) - 6} more" if len(found) > 6 else ""
    return NotComparableError(f"not comparable: {shown}{more}", hint="--force compares all the same and says so")


def _release(version: object) -> str:
    """Versions that differ only in the last number measure the same way."""
    return ".".join(str(version).split(".")[:2])


def _unequal(left: Any, right: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """The innermost fields in which two plans differ, with their paths."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for name in dict.fromkeys((*left, *right)):
            yield from _unequal(left.get(name), right.get(name), f"{path}.{name}")
    elif isinstance(left, list | tuple) and isinstance(right, list | tuple) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _unequal(one, other, f"{path}[{index}]")
    elif left != right:
        yield path, left, right


def _shown(value: object) -> str:
    return "none" if value in (None, "") else one_line(value, 60)
