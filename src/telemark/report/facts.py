"""What the host and the versions were, how it was measured, and how far to trust it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from telemark.report import format as fmt
from telemark.report.limiting_side import bottleneck_fact
from telemark.report.model import Fact, ScoreRow
from telemark.report.source import RunSource
from telemark.verdicts import limits


def _each(values: Iterable[Any], limit: int = 120) -> str:
    """All different values, in order; hosts and versions can differ between the runs of a campaign."""
    found = dict.fromkeys(fmt.one_line(value, limit) for value in values if value not in (None, "", {}, []))
    return "; ".join(found) or fmt.MISSING


def _mappings(runs: Sequence[RunSource], key: str) -> list[Mapping[str, Any]]:
    return [found for run in runs if isinstance(found := run.facts.get(key), Mapping)]


def host_facts(runs: Sequence[RunSource]) -> tuple[Fact, ...]:
    """Host, servers and software of a campaign."""
    hosts = _mappings(runs, "host")
    servers = _mappings(runs, "server")
    versions = {name: None for found in _mappings(runs, "versions") for name in found}
    facts = [
        Fact("host", _each(host.get("name") for host in hosts)),
        Fact("CPU", _each(f"{host.get('cpu')}, {host.get('cores')} cores" for host in hosts)),
        Fact("memory", _each(fmt.size_bytes(host.get("memory_bytes")) for host in hosts)),
        Fact("system", _each(f"{host.get('os')}, kernel {host.get('kernel')}" for host in hosts)),
        Fact("servers", _each(_server(server) for server in servers)),
        Fact("what the profiles mean", _each((_profile(server) for server in servers), 300)),
        Fact("telemark", _each(run.facts.get("telemark_version") for run in runs)),
    ]
    for name in versions:
        facts.append(Fact(fmt.one_line(name, 40), _each(found.get(name) for found in _mappings(runs, "versions"))))
    times = sorted(str(run.facts.get("started_at")) for run in runs if run.facts.get("started_at"))
    if times:
        facts.append(Fact("measured", _each((times[0], times[-1]))))
    return tuple(facts)


def _server(server: Mapping[str, Any]) -> str:
    return f"{server.get('name')} {server.get('version') or ''} ({server.get('profile') or 'storage not known'})"


def _profile(server: Mapping[str, Any]) -> str:
    note = server.get("profile_note")
    return f"{server.get('name')} {server.get('profile')}: {note}" if note else ""


def trust_facts(runs: Sequence[RunSource], rows: Sequence[ScoreRow]) -> tuple[Fact, ...]:
    """How it was measured and how far to trust it, over all runs of a campaign."""
    return (
        Fact("latency counts from", "the time a message was due, not from when it was sent: a stall is not hidden"),
        _engine(rows),
        _headroom(rows),
        _worst("worst send delay (99P)", [_of(run, "send_delay_p99_us") for run in runs], fmt.time_us),
        _worst("worst loop lag of the engine", [_of(run, "loop_lag_max_us") for run in runs], fmt.time_us),
        _clock(runs),
        Fact("repeats of a point", _each(f"up to {max(row.repeat for row in rows) + 1}" for _ in rows[:1])),
        _pinning(runs),
        _integrity(rows),
    )


def _of(run: RunSource, column: str) -> float | None:
    return run.point.get(column) if run.point else None


def _worst(name: str, values: Sequence[float | None], write: Any) -> Fact:
    known = [value for value in values if value is not None]
    return Fact(name, write(max(known)) if known else fmt.MISSING)


def _engine(rows: Sequence[ScoreRow]) -> Fact:
    bound = sum(bool(row.engine_bound) for row in rows)
    unknown = sum(row.engine_bound is None for row in rows)
    if bound:
        return Fact(
            "engine", f"the bottleneck in {bound} of {len(rows)} runs: no verdict about the server there", "fail"
        )
    if unknown:
        return Fact("engine", f"not known for {unknown} of {len(rows)} runs", "caution")
    near = sum((row.values.get("engine_headroom") or math.inf) < limits.ENOUGH_HEADROOM for row in rows)
    if near:
        return Fact("engine", f"near its limit in {near} of {len(rows)} runs: it may show in the numbers", "caution")
    return Fact("engine", "was never near its own limit", "pass")


def _headroom(rows: Sequence[ScoreRow]) -> Fact:
    known = [found for row in rows if (found := row.values.get("engine_headroom")) is not None]
    if not known:
        return Fact(
            "engine headroom",
            "not known: neither samples of the engine nor a fitting calibration",
            "caution",
        )
    lowest = min(known)
    tone = "pass" if lowest >= limits.ENOUGH_HEADROOM else "caution"
    missing = f"; not known for {len(rows) - len(known)} runs" if len(known) < len(rows) else ""
    used = f"the engine was at {1 / lowest:.0%} of what it can do here" if lowest > 0 else "none"
    return Fact("engine headroom", f"{fmt.ratio(lowest)} at least: {used}{missing}", tone)


def _clock(runs: Sequence[RunSource]) -> Fact:
    clocks = _mappings(runs, "clock")
    hosts = [host for clock in clocks for host in clock.get("hosts") or () if isinstance(host, Mapping)]
    errors = [host["error_ns"] for host in hosts if isinstance(host.get("error_ns"), int | float)]
    names = {host.get("host") for host in hosts}
    source = _each(clock.get("source") for clock in clocks)
    if len(names) <= 1 and not any(errors):
        return Fact("clock", f"{source}: one host, one clock, no correction needed")
    return Fact(
        "clock", f"{source}; {len(names)} hosts, error at most {fmt.time_us(max(errors) / 1000) if errors else '?'}"
    )


def _pinning(runs: Sequence[RunSource]) -> Fact:
    found = [
        ", ".join(f"{who} on {_cpus(cpus)}" for who, cpus in pinning.items() if cpus)
        for pinning in _mappings(runs, "pinning")
    ]
    return Fact("CPU pinning", _each(text or "none: server and engine share all cores" for text in found or [""]))


def _cpus(cpus: Any) -> str:
    return "CPU " + ",".join(str(cpu) for cpu in cpus) if isinstance(cpus, list | tuple) else str(cpus)


def _integrity(rows: Sequence[ScoreRow]) -> Fact:
    inexact = sum(row.values.get("integrity_exact") is False for row in rows)
    if inexact:
        return Fact("counting", f"loss is an upper bound in {inexact} of {len(rows)} runs", "caution")
    return Fact("counting", "every message is a row: lost, duplicate and reordered are exact")


def run_facts(run: RunSource) -> tuple[Fact, ...]:
    """What one run was, for its own section."""
    facts, point = run.facts, run.point or {}
    server = facts.get("server") if isinstance(facts.get("server"), Mapping) else {}
    load = (facts.get("plan") or {}).get("load") or {}
    return (
        Fact("run", fmt.one_line(run.name)),
        Fact(
            "state", fmt.one_line(facts.get("state") or fmt.MISSING), "" if facts.get("state") == "complete" else "fail"
        ),
        Fact("server", fmt.one_line(_server(server or {}))),
        Fact(
            "devices",
            f"{fmt.count(point.get('publishers'))} publishers, {fmt.count(point.get('subscribers'))} subscribers",
        ),
        Fact("messages", f"QoS {point.get('qos', fmt.MISSING)}, {fmt.size_bytes(point.get('payload_bytes'))}"),
        Fact("load", _load(load, point)),
        Fact("measured for", fmt.seconds(point.get("measure_s"))),
        Fact("sent / received", f"{fmt.count(point.get('sent'))} / {fmt.count(point.get('received'))}"),
        Fact("owed / lost", f"{fmt.count(point.get('owed'))} / {fmt.count(point.get('lost'))}"),
        Fact("CPU per message", fmt.time_us(point.get("server_cpu_us_per_message"))),
        Fact("memory per connection", fmt.size_bytes(point.get("server_bytes_per_connection"))),
        bottleneck_fact(run),
        Fact("steady", {True: "yes", False: "no"}.get(point.get("steady"), "not known")),  # type: ignore[arg-type]
        Fact("seed", str(facts.get("seed", fmt.MISSING))),
    )


def _load(load: Mapping[str, Any], point: Mapping[str, Any]) -> str:
    return f"{fmt.one_line(load.get('shape') or 'not known', 30)}, {fmt.rate(point.get('offered_rate'))} offered"
