"""Everything a reader must know before trusting a run's numbers, worst first.

The pipeline's own warnings are passed on; what follows from the columns of the points table is said here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from telemark.report import format as fmt
from telemark.report.model import Notice, Severity
from telemark.report.source import RunSource
from telemark.verdicts import limits

_ORDER: dict[Severity, int] = {"danger": 0, "caution": 1, "note": 2}


def notices_of(run: RunSource) -> tuple[Notice, ...]:
    """All notices about one run."""
    facts, point = run.facts, run.point
    found = list(_about_state(facts))
    if point is None:
        found.append(("danger", f"no numbers: {run.unanalysed or 'its results are damaged'}"))
    else:
        found += _about_engine(point, judged=bool(facts.get("thresholds")))
        found += _about_integrity(point)
        found += _about_connections(point)
        found += _about_steadiness(point)
        found += _about_host(point)
        found += [("caution", fmt.one_line(text, 300)) for text in point.get("warnings") or ()]
    found += _about_rate(facts)
    found += _about_security(facts)
    found += _about_storage(facts)
    found += [("note", fmt.one_line(note, 300)) for note in facts.get("notes") or ()]
    unique = dict.fromkeys(found)
    return tuple(
        Notice(severity, text, run.name) for severity, text in sorted(unique, key=lambda item: _ORDER[item[0]])
    )


Notices = Iterator[tuple[Severity, str]]


def _about_state(facts: Mapping[str, Any]) -> Notices:
    state = facts.get("state")
    reason = fmt.one_line(facts.get("reason") or "no reason was recorded", 300)
    if state in ("failed", "interrupted"):
        yield "danger", f"the run {'failed' if state == 'failed' else 'was interrupted'}: {reason}"
    elif state == "running":
        yield "danger", "the run has not ended, or was killed before it could say so: its numbers are not complete"


def _about_rate(facts: Mapping[str, Any]) -> Notices:
    if changes := facts.get("rate_changes") or ():
        rates = ", ".join(f"{change['rate']:,g}" for change in changes)
        yield (
            "caution",
            f"the rate was changed while the run was under way, to {rates} messages a second: figures and verdicts are "
            "over the whole measure phase; the intervals table and the figures over time tell the stretches apart",
        )


def _about_engine(point: Mapping[str, Any], judged: bool) -> Notices:
    """The reason stands with the judgements, if there are any; headroom is among the pipeline's warnings."""
    if point.get("engine_bound"):
        reason = "" if judged else f" ({fmt.one_line(point.get('engine_bound_reason') or 'no details', 300)})"
        yield "danger", f"the engine was the bottleneck: nothing is concluded about the server{reason}"
    if dropped := point.get("dropped"):
        yield "caution", f"{fmt.count(dropped)} due messages were never sent by the engine (dropped)"


def _about_integrity(point: Mapping[str, Any]) -> Notices:
    if violations := point.get("violations"):
        yield "danger", f"{fmt.count(violations)} deliveries break what their QoS promises"
    if foreign := point.get("foreign"):
        yield "caution", f"{fmt.count(foreign)} received messages were not sent by this run"


def _about_connections(point: Mapping[str, Any]) -> Notices:
    if failures := point.get("connect_failures"):
        yield "caution", f"{fmt.count(failures)} connection attempts failed"
    if disconnects := point.get("disconnects"):
        yield "caution", f"{fmt.count(disconnects)} devices were disconnected unexpectedly"
    if refusals := point.get("refusals"):
        yield "caution", f"the server refused {fmt.count(refusals)} requests"


def _about_steadiness(point: Mapping[str, Any]) -> Notices:
    if point.get("steady") is False:
        reason = fmt.one_line(point.get("steady_reason") or "the series is not steady")
        yield "caution", f"the run did not reach a steady state: {reason}"
    if point.get("latency_trend") == "rising":
        yield "caution", "latency was still rising at the end: a longer run would give a higher figure"


def _about_security(facts: Mapping[str, Any]) -> Notices:
    """Whoever was asked for might not be who answered."""
    server = facts.get("server")
    endpoints = server.get("endpoints") if isinstance(server, Mapping) else None
    for name, endpoint in endpoints.items() if isinstance(endpoints, Mapping) else ():
        if isinstance(endpoint, Mapping) and endpoint.get("verified") is False:
            yield "caution", fmt.one_line(f"the certificate of listener {name} was not verified (--insecure)")


def _about_storage(facts: Mapping[str, Any]) -> Notices:
    """What durable means differs from server to server: not all of them wait for the disk."""
    server = facts.get("server")
    if isinstance(server, Mapping) and server.get("profile") == "durable" and server.get("profile_note"):
        yield "caution", fmt.one_line(f"durable on {server.get('name')} means: {server['profile_note']}", 300)


def _about_host(point: Mapping[str, Any]) -> Notices:
    busiest = point.get("host_core_busy_max")
    if busiest is not None and busiest > limits.BUSY_CORE:
        yield (
            "caution",
            f"a core of the host was more than {fmt.percent(limits.BUSY_CORE)} busy: server and engine may share it",
        )
