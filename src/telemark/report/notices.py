"""Everything a reader must know before trusting a run's numbers, worst first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from telemark.report import format as fmt
from telemark.report.model import Notice, Severity
from telemark.report.source import RunSource

ENOUGH_HEADROOM = 1.3  # below this the engine was too near its own ceiling to speak about the server
BUSY_CORE = 0.95  # a core busier than this may have delayed server and engine alike
STEAL = 0.02  # share of CPU time the hypervisor took away

_ORDER: dict[Severity, int] = {"danger": 0, "caution": 1, "note": 2}


def notices_of(run: RunSource) -> tuple[Notice, ...]:
    """All notices about one run."""
    facts, point = run.facts, run.point
    found = list(_about_state(facts))
    if point is None:
        found.append(("danger", f"no numbers: {run.unanalysed or 'its results are damaged'}"))
    else:
        found += _about_engine(point)
        found += _about_integrity(point)
        found += _about_connections(point)
        found += _about_steadiness(point)
        found += _about_host(point)
        found += [("caution", fmt.one_line(text, 300)) for text in point.get("warnings") or ()]
    found += [("note", fmt.one_line(note, 300)) for note in facts.get("notes") or ()]
    unique = dict.fromkeys(found)
    return tuple(
        Notice(severity, text, run.name) for severity, text in sorted(unique, key=lambda item: _ORDER[item[0]])
    )


Found = Iterator[tuple[Severity, str]]


def _about_state(facts: Mapping[str, Any]) -> Found:
    state = facts.get("state")
    reason = fmt.one_line(facts.get("reason") or "no reason was recorded", 300)
    if state in ("failed", "interrupted"):
        yield "danger", f"the run {'failed' if state == 'failed' else 'was interrupted'}: {reason}"
    elif state == "running":
        yield "danger", "the run has not ended, or was killed before it could say so: its numbers are not complete"


def _about_engine(point: Mapping[str, Any]) -> Found:
    if point.get("engine_bound"):
        reason = fmt.one_line(point.get("engine_bound_reason") or "it was late or starved")
        yield "danger", f"the engine was the bottleneck, so nothing is concluded about the server: {reason}"
    headroom = point.get("engine_headroom")
    if headroom is None:
        yield "note", "no calibration of this host: how near the engine was to its own ceiling is not known"
    elif headroom < ENOUGH_HEADROOM:
        yield "caution", f"the engine had only {fmt.ratio(headroom)} headroom (wanted: {ENOUGH_HEADROOM}x)"
    if dropped := point.get("dropped"):
        yield "caution", f"{fmt.count(dropped)} due messages were never sent by the engine (dropped)"


def _about_integrity(point: Mapping[str, Any]) -> Found:
    if violations := point.get("violations"):
        yield "danger", f"{fmt.count(violations)} deliveries break what their QoS promises"
    if point.get("integrity_exact") is False:
        yield "caution", "a subscription was interrupted: what it was owed is only an upper bound, loss is not judged"
    if foreign := point.get("foreign"):
        yield "caution", f"{fmt.count(foreign)} received messages were not sent by this run"


def _about_connections(point: Mapping[str, Any]) -> Found:
    if failures := point.get("connect_failures"):
        yield "caution", f"{fmt.count(failures)} connection attempts failed"
    if disconnects := point.get("disconnects"):
        yield "caution", f"{fmt.count(disconnects)} devices were disconnected unexpectedly"
    if refusals := point.get("refusals"):
        yield "caution", f"the server refused {fmt.count(refusals)} requests"


def _about_steadiness(point: Mapping[str, Any]) -> Found:
    if point.get("steady") is False:
        reason = fmt.one_line(point.get("steady_reason") or "the series is not steady")
        yield "caution", f"the run did not reach a steady state: {reason}"
    if point.get("latency_trend") == "rising":
        yield "caution", "latency was still rising at the end: a longer run would give a higher figure"


def _about_host(point: Mapping[str, Any]) -> Found:
    busiest = point.get("host_core_busy_max")
    if busiest is not None and busiest > BUSY_CORE:
        yield "caution", f"a core of the host was {fmt.percent(busiest)} busy; engine and server may have shared it"
    steal = point.get("host_steal_mean")
    if steal is not None and steal > STEAL:
        yield "caution", f"the hypervisor took {fmt.percent(steal)} of the host's CPU time"
