"""Small run folders with random contents, and what is in them as plain Python: material for the oracle."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from telemark.store.documents.run import RunFile
from telemark.store.writer import RecordWriter

SECOND = 1_000_000_000
START = 5_000 * SECOND
WARM_UNTIL = START + 1 * SECOND
END = START + 4 * SECOND
DRAINED = END + SECOND
PHASES = {
    "connect": (START - 10 * SECOND, START - SECOND),
    "warmup": (START, WARM_UNTIL),
    "measure": (WARM_UNTIL, END),
    "drain": (END, DRAINED),
    "stop": (DRAINED, DRAINED + SECOND),
}

Row = dict[str, Any]


@dataclass
class Rows:
    """The record tables of a run, as lists of rows."""

    deliveries: list[Row] = field(default_factory=list)
    senders: list[Row] = field(default_factory=list)
    acks: list[Row] = field(default_factory=list)
    connections: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    counters: list[Row] = field(default_factory=list)
    health: list[Row] = field(default_factory=list)
    streams: list[Row] = field(default_factory=list)
    subscriptions: list[Row] = field(default_factory=list)
    audiences: list[Row] = field(default_factory=list)
    subscribed: list[Row] = field(default_factory=list)


def facts(folder: Path, **changes: Any) -> RunFile:
    """run.json of a complete run with the usual phases."""
    values: Row = {
        "run": folder.name, "campaign": folder.parent.name, "state": "complete", "suite": "test", "scenario": "random",
        "point": "p", "size": "quick", "server": {"name": "none", "profile": "memory"}, "start_ns": START,
        "phases": PHASES, "started_at": "2026-01-01T00:00:00Z", "host": {"name": "here", "cores": 2},
    }  # fmt: skip
    return RunFile(**(values | changes))


def write(folder: Path, rows: Rows, **changes: Any) -> Path:
    """Write the run folder: deliveries in several files of two processes, the rest in one each."""
    facts(folder, **changes).write(folder)
    half = len(rows.deliveries) // 2
    for process, part in enumerate((rows.deliveries[:half], rows.deliveries[half:])):
        with RecordWriter(folder, process, roll_rows=40) as writer:
            for begin in range(0, len(part), 40):
                writer.write_rows("deliveries", part[begin : begin + 40])
    with RecordWriter(folder, 999) as writer:
        for name, table in vars(rows).items():
            if name != "deliveries" and table:
                writer.write_rows(name, table)
    return folder


def random_run(seed: int) -> Rows:
    """Streams, subscriptions and share groups, with losses, duplicates, delays and strangers."""
    random = Random(seed)
    rows = Rows()
    for stream in range(random.randint(0, 4)):
        _add_stream(rows, random, stream)
    for number in range(random.randint(0, 5)):
        _add_subscription(rows, random, number)
    _deliver(rows, random)
    for device in range(random.randint(0, 6)):
        rows.connections.append(_connection(random, device))
    for second in range(4):
        rows.counters += [_counter(random, process, second) for process in range(2)]
    return rows


def _add_stream(rows: Rows, random: Random, stream: int) -> None:
    sent = random.choice([0, 1, 63, 64, 65, random.randint(2, 300)])
    qos = random.randint(0, 2)
    rows.streams.append(
        {"stream": stream, "device": stream, "process": 0, "audience": random.randint(0, 2), "qos": qos}
    )
    if random.random() < 0.95:  # the engine process of the others died without a word
        last = sent - 1 if sent else None
        rows.senders.append(
            {"stream": stream, "process": 0, "first_sequence": 0 if sent else None, "last_sequence": last,
             "sent": sent, "acked": 0, "dropped": 0, "bytes": 32 * sent}
        )  # fmt: skip
    rows.streams[-1]["_sent"] = sent
    rows.streams[-1]["_period"] = random.choice([1_000, 400_000, 10_000_000])


def _add_subscription(rows: Rows, random: Random, number: int) -> None:
    share = random.choice([None, None, 0, 1])
    durable = random.random() < 0.3
    rows.subscriptions.append(
        {"subscription": number, "device": 100 + number, "filter": f"f/{number if share is None else share}",
         "share": share, "qos": random.randint(0, 2), "durable": durable}
    )  # fmt: skip
    rows.audiences += [{"audience": a, "subscription": number} for a in range(3) if random.random() < 0.6]
    begins = random.choice([START - SECOND, START - SECOND, START - SECOND, START + SECOND])
    until = random.choice([None, None, None, END - SECOND])
    rows.subscribed.append({"subscription": number, "from_ns": begins, "until_ns": until})
    if until is not None and random.random() < 0.5:
        rows.subscribed.append({"subscription": number, "from_ns": until + 5, "until_ns": None})


def _owners(rows: Rows, audience: int) -> list[list[int]]:
    """Members to choose from, one list per plain subscription or share group of an audience."""
    inside = {row["subscription"] for row in rows.audiences if row["audience"] == audience}
    groups: dict[Any, list[int]] = {}
    for row in rows.subscriptions:
        if row["subscription"] in inside:
            key = ("plain", row["subscription"]) if row["share"] is None else ("share", row["share"])
            groups.setdefault(key, []).append(row["subscription"])
    return list(groups.values())


def _deliver(rows: Rows, random: Random) -> None:
    times: set[tuple[int, int]] = set()
    calm = random.random() < 0.5
    for stream in rows.streams:
        for sequence in range(stream.pop("_sent")):
            intended = START + sequence * stream["_period"]
            sent = intended + random.randint(0, 300_000)
            for members in _owners(rows, stream["audience"]):
                for _ in range(random.choices([0, 1, 2, 3], [3, 92, 4, 1])[0]):
                    delay = random.randint(1_000, 100_000 if calm else 3 * stream["_period"] + 2_000)
                    message = {
                        "stream": stream["stream"],
                        "sequence": sequence,
                        "intended_ns": intended,
                        "sent_ns": sent,
                    }
                    _arrive(rows, message | {"received_ns": sent + delay}, random.choice(members), times)
        del stream["_period"]
    _strangers(rows, random)
    rows.deliveries.sort(key=lambda row: row["received_ns"])


def _arrive(rows: Rows, message: Row, subscription: int, times: set[tuple[int, int]]) -> None:
    received = message["received_ns"]
    while (subscription, received) in times:  # the engine gives no two messages of a connection the same time
        received += 1
    times.add((subscription, received))
    constant = {"subscription": subscription, "received_ns": received, "qos": 0, "flags": 0, "size": 32}
    rows.deliveries.append(message | constant)


def _strangers(rows: Rows, random: Random) -> None:
    """Deliveries without a stamp, and ones that nobody sent in this run."""
    for _ in range(random.choice([0, 0, 1, 3])):
        received = START + random.randint(0, 3 * SECOND)
        stray = {"stream": -1, "sequence": 0, "intended_ns": 0, "sent_ns": 0, "flags": 4}
        old = {"stream": 0, "sequence": 1, "intended_ns": START - 9, "sent_ns": START - 8, "flags": 0}
        rows.deliveries.append(
            random.choice([stray, old]) | {"received_ns": received, "subscription": -1, "qos": 0, "size": 5}
        )


def _connection(random: Random, device: int) -> Row:
    started = PHASES["connect"][0] + random.randint(0, SECOND)
    ok = random.random() < 0.8
    tcp = started + random.randint(10_000, 90_000)
    tls = tcp + random.randint(100_000, 900_000) if random.random() < 0.5 else None
    connack = (tls or tcp) + random.randint(10_000, 90_000) if ok else None
    suback = connack + 12_345 if connack is not None and random.random() < 0.5 else None
    return {
        "device": device, "process": 0, "attempt": 0, "started_ns": started, "tcp_ns": tcp, "tls_ns": tls,
        "connack_ns": connack, "suback_ns": suback, "result": "ok" if ok else "refused",
    }  # fmt: skip


def _counter(random: Random, process: int, second: int) -> Row:
    names = (
        "intended", "sent", "acked", "dropped", "received", "sent_bytes", "received_bytes", "connected", "connects",
        "disconnects", "pushed_back", "loop_lag_max_ns", "send_delay_max_ns", "cpu_ns",
    )  # fmt: skip
    return {"process": process, "second": second} | {name: random.randint(0, 50) for name in names}
