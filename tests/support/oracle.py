"""The answers the pipeline must give, computed the plain way: a few lines each, no cleverness."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import ceil, floor, sqrt
from typing import Any

from tests.support.run_builder import DRAINED, PHASES, START, Row, Rows

QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}


def phase(time: int) -> str:
    return next((name for name, (begin, end) in PHASES.items() if begin <= time < end), "outside")


def percentile(ordered: list[int], q: float) -> float:
    place = q * (len(ordered) - 1)
    low, high = ordered[floor(place)], ordered[ceil(place)]
    return low + (place - floor(place)) * (high - low)


def durations(rows: Rows) -> dict[tuple[str, str], list[int]]:
    """Whole microseconds by measure and phase."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows.deliveries:
        if not row["flags"] & 4:
            when = phase(row["intended_ns"])
            found["latency", when].append(row["received_ns"] - row["intended_ns"])
            found["service_time", when].append(row["received_ns"] - row["sent_ns"])
            found["send_delay", when].append(row["sent_ns"] - row["intended_ns"])
    for row in rows.connections:
        before_connack = row["tls_ns"] or row["tcp_ns"]
        ends = {
            "tcp_connect": ("started_ns", row["tcp_ns"]), "tls_handshake": ("tcp_ns", row["tls_ns"]),
            "suback": ("connack_ns", row["suback_ns"]), "connect": ("started_ns", row["connack_ns"]),
        }  # fmt: skip
        for measure, (begin, end) in ends.items():
            if row[begin] is not None and end is not None:
                found[measure, "connect"].append(end - row[begin])
        if row["connack_ns"] is not None:
            found["connack", "connect"].append(row["connack_ns"] - before_connack)
    return {name: sorted((value + 500) // 1000 for value in values) for name, values in found.items()}


def statistics(ordered: list[int]) -> Row:
    mean = sum(ordered) / len(ordered)
    stdev = sqrt(sum((value - mean) ** 2 for value in ordered) / len(ordered))
    figures = {"min": ordered[0], "mean": mean, "stdev": stdev, "max": ordered[-1]}
    return figures | {name: percentile(ordered, q) for name, q in QUANTILES.items()}


def late(receipts: list[tuple[int, int]]) -> set[int]:
    """Sequences first received after a later one; receipts are (received, sequence)."""
    seen: set[int] = set()
    found = set()
    for _, sequence in sorted(receipts):
        if sequence not in seen and seen and sequence < max(seen):
            found.add(sequence)
        seen.add(sequence)
    return found


def integrity(rows: Rows) -> dict[int, Row]:
    """By the smallest subscription of each plain subscription or share group."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows.subscriptions:
        groups[("p", row["subscription"]) if row["share"] is None else ("s", row["share"])].append(row)
    found = {}
    for members in groups.values():
        numbers = {row["subscription"] for row in members}
        found[min(numbers)] = _owner(rows, members, numbers)
    return found


def _owner(rows: Rows, members: list[Row], numbers: set[int]) -> Row:
    totals: Counter[str] = Counter()
    unknown = False
    audiences = {row["audience"] for row in rows.audiences if row["subscription"] in numbers}
    sent_by = {row["stream"]: row["sent"] for row in rows.senders}
    got = [row for row in rows.deliveries if row["subscription"] in numbers]
    ours = 0
    for stream in (row for row in rows.streams if row["audience"] in audiences):
        # The QoS of a group towards an audience is that of its members in it.
        inside = {row["subscription"] for row in rows.audiences if row["audience"] == stream["audience"]} & numbers
        qos = min(stream["qos"], *(row["qos"] for row in members if row["subscription"] in inside))
        mine = [row for row in got if row["stream"] == stream["stream"] and row["intended_ns"] >= START]
        ours += len(mine)
        distinct = len({row["sequence"] for row in mine})
        unknown |= stream["stream"] not in sent_by
        sent = sent_by.get(stream["stream"], 0)
        totals += Counter(owed=sent, delivered=distinct, duplicate=len(mine) - distinct)
        if qos in (0, 2):
            totals["violations"] += len(mine) - distinct
        if qos in (1, 2):
            totals["violations"] += max(sent - distinct, 0)
        totals["lost"] += max(sent - distinct, 0)
        totals["excess"] += distinct > sent
    for number in numbers:
        for stream_number in {row["stream"] for row in got}:
            receipts = [
                (row["received_ns"], row["sequence"])
                for row in got
                if row["subscription"] == number and row["stream"] == stream_number and row["intended_ns"] >= START
            ]
            totals["reordered"] += len(late(receipts))
    known = {} if not unknown else dict.fromkeys(("owed", "lost", "violations"))
    names = ("owed", "delivered", "lost", "duplicate", "reordered", "violations")
    exact = not unknown and not totals["excess"] and all(_steady(rows, row) for row in members)
    return {name: totals[name] for name in names} | {"foreign": len(got) - ours, "exact": exact} | known


def _steady(rows: Rows, subscription: Row) -> bool:
    periods = [row for row in rows.subscribed if row["subscription"] == subscription["subscription"]]
    early = [row for row in periods if row["from_ns"] <= START]
    lasting = [row for row in early if row["until_ns"] is None or row["until_ns"] >= DRAINED]
    return bool(lasting) or (subscription["durable"] and bool(early))
