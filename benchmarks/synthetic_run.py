"""Makes a run folder as large as you like, with known faults planted: the pipeline must find exactly those.

    python benchmarks/synthetic_run.py FOLDER --messages 60000000 --rate 100000 --streams 10000

Messages go out on an exact schedule, spend a plausible time in the engine and in the server, and are recorded in
the order they arrive. Chosen at random: some are lost, some delivered twice, some delivered after their successor.
Prints the planted counts as one JSON line.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from telemark.store.documents.run import RunFile
from telemark.store.schemas import DELIVERIES
from telemark.store.writer import RecordWriter

START_NS = 1_000_000_000_000
SECOND = 1_000_000_000
WARMUP_S = 2


@dataclass(frozen=True)
class Wanted:
    """Size of the run and how many faults to plant."""

    messages: int = 60_000_000
    rate: int = 100_000
    streams: int = 10_000
    subscriptions: int = 10
    lost: int = 1_200
    duplicate: int = 350
    reordered: int = 500
    processes: int = 2
    seed: int = 1

    @property
    def seconds(self) -> int:
        """Length of the schedule, rounded up."""
        return -(-self.messages // self.rate)

    @property
    def gap_ns(self) -> int:
        """Time between two messages of a stream."""
        return SECOND * self.streams // self.rate


@dataclass(frozen=True)
class Faults:
    """Numbers of the messages each fault happens to; no message has two."""

    lost: np.ndarray
    duplicate: np.ndarray
    reordered: np.ndarray


def choose_faults(wanted: Wanted, random: np.random.Generator) -> Faults:
    """Pick faulty messages far enough apart that no fault hides another one.

    A message is only reordered when its successor in the stream arrives, so the last of each stream are left out.
    """
    total = wanted.lost + wanted.duplicate + wanted.reordered
    usable = (wanted.messages - 4 * wanted.streams) // (3 * wanted.streams)  # every third message of a stream
    cells = random.choice(usable * wanted.streams, total, replace=False)
    chosen = (cells // wanted.streams * 3 + 1) * wanted.streams + cells % wanted.streams
    lost, duplicate, reordered = np.split(chosen, [wanted.lost, wanted.lost + wanted.duplicate])
    return Faults(np.sort(lost), np.sort(duplicate), np.sort(reordered))


def within(numbers: np.ndarray, first: int, last: int) -> np.ndarray:
    """Positions relative to `first` of the chosen numbers in [first, last)."""
    low, high = np.searchsorted(numbers, [first, last])
    return numbers[low:high] - first


def deliveries(wanted: Wanted, faults: Faults, first: int, last: int, random: np.random.Generator) -> pa.RecordBatch:
    """Messages `first` to `last` as they arrive."""
    number = np.arange(first, last, dtype=np.int64)
    intended = START_NS + number * SECOND // wanted.rate
    sent = intended + random.exponential(40_000, number.size).astype(np.int64)
    # The tail is cut below the gap of a stream, so that only planted messages arrive out of order.
    service = np.minimum(random.lognormal(12.6, 0.5, number.size), wanted.gap_ns * 0.4).astype(np.int64) + 20_000
    service[within(faults.reordered, first, last)] = wanted.gap_ns * 8 // 5
    rows = np.concatenate([number, number[within(faults.duplicate, first, last)]])
    position = rows - first
    received = sent[position] + service[position]
    received[number.size :] += 300_000
    keep = np.ones(rows.size, dtype=bool)
    keep[within(faults.lost, first, last)] = False
    order = np.argsort(received, kind="stable")
    order = order[keep[order]]
    duplicate = (np.arange(rows.size) >= number.size).astype(np.int8)
    stream = (rows % wanted.streams).astype(np.int32)
    columns = {
        "stream": stream,
        "sequence": rows // wanted.streams,
        "intended_ns": intended[position],
        "sent_ns": sent[position],
        "received_ns": received,
        "subscription": stream % wanted.subscriptions,
        "qos": np.zeros(rows.size, dtype=np.int8),
        "flags": duplicate,
        "size": np.full(rows.size, 64, dtype=np.int32),
    }
    return pa.RecordBatch.from_arrays(
        [pa.array(columns[field.name][order], field.type) for field in DELIVERIES], schema=DELIVERIES
    )


def write_deliveries(folder: Path, wanted: Wanted, faults: Faults, random: np.random.Generator) -> None:
    """Spread the seconds over the processes: each writes its own files, in arrival order."""
    writers = [RecordWriter(folder, process, roll_seconds=1e9) for process in range(wanted.processes)]
    share = wanted.messages // wanted.processes
    for process, writer in enumerate(writers):
        end = wanted.messages if process == wanted.processes - 1 else (process + 1) * share
        with writer:
            for first in range(process * share, end, 1_000_000):
                batch = deliveries(wanted, faults, first, min(first + 1_000_000, end), random)
                writer.write("deliveries", batch)


def write_small_tables(folder: Path, wanted: Wanted) -> None:
    """Who is owed what, what was sent, and a health sample every second."""
    streams = range(wanted.streams)
    counts = [len(range(stream, wanted.messages, wanted.streams)) for stream in streams]
    seconds = range(wanted.seconds)
    with RecordWriter(folder, 999) as writer:
        writer.write_rows("streams", [_stream(wanted, stream) for stream in streams])
        writer.write_rows("senders", [_sender(stream, count) for stream, count in enumerate(counts)])
        numbers = range(wanted.subscriptions)
        writer.write_rows("subscriptions", [_subscription(wanted, number) for number in numbers])
        writer.write_rows("audiences", [{"audience": number, "subscription": number} for number in numbers])
        writer.write_rows("subscribed", [{"subscription": number, "from_ns": START_NS - SECOND} for number in numbers])
        writer.write_rows(
            "connections", [_connection(device) for device in range(wanted.streams + wanted.subscriptions)]
        )
        writer.write_rows("counters", [_counter(wanted, second) for second in seconds])
        writer.write_rows("health", [row for second in seconds for row in _health(second)])


def _stream(wanted: Wanted, stream: int) -> dict[str, int]:
    return {"stream": stream, "device": stream, "process": 0, "audience": stream % wanted.subscriptions, "qos": 0}


def _sender(stream: int, count: int) -> dict[str, int | None]:
    return {
        "stream": stream, "process": 0, "first_sequence": 0 if count else None,
        "last_sequence": count - 1 if count else None, "sent": count, "acked": 0, "dropped": 0, "bytes": 64 * count,
    }  # fmt: skip


def _subscription(wanted: Wanted, number: int) -> dict[str, object]:
    device = wanted.streams + number
    return {"subscription": number, "device": device, "filter": f"s/{number}/#", "qos": 0, "durable": False}


def _connection(device: int) -> dict[str, object]:
    started = START_NS - 60 * SECOND + device * 100_000
    return {
        "device": device, "process": 0, "attempt": 0, "started_ns": started, "tcp_ns": started + 90_000 + device % 97,
        "connack_ns": started + 300_000 + device % 1_001, "result": "ok", "session_present": False,
    }  # fmt: skip


def _counter(wanted: Wanted, second: int) -> dict[str, int]:
    count = min(wanted.rate, wanted.messages - second * wanted.rate)
    return {
        "process": 0, "second": second, "intended": count, "sent": count, "acked": 0, "dropped": 0,
        "received": count, "sent_bytes": 64 * count, "received_bytes": 64 * count,
        "connected": wanted.streams + wanted.subscriptions, "connects": 0, "disconnects": 0, "pushed_back": 0,
        "loop_lag_max_ns": 200_000, "send_delay_max_ns": 600_000, "cpu_ns": 400_000_000,
    }  # fmt: skip


def _health(second: int) -> list[dict[str, object]]:
    time_ns = START_NS + second * SECOND + SECOND // 2
    samples = [
        ("host", "cpu0", "cpu_busy", 0.5), ("host", "cpu1", "cpu_busy", 0.4), ("server", "77", "cpu_cores", 0.6),
        ("server", "77", "rss_bytes", 50e6 + second), ("server", "77", "pss_bytes", 48e6 + second),
        ("engine", "78", "cpu_cores", 0.4), ("counters", "", "buffered_messages", float(second % 7)),
    ]  # fmt: skip
    return [
        {"time_ns": time_ns, "source": source, "instance": instance, "metric": metric, "value": value}
        for source, instance, metric, value in samples
    ]


def run_file(folder: Path, wanted: Wanted) -> RunFile:
    """The facts of the synthetic run."""
    end = START_NS + wanted.seconds * SECOND
    warm = START_NS + min(WARMUP_S, wanted.seconds // 2) * SECOND
    phases = {"connect": (START_NS - 60 * SECOND, START_NS), "warmup": (START_NS, warm), "measure": (warm, end)}
    return RunFile(
        run=folder.name, campaign=folder.parent.name, state="complete", suite="synthetic", scenario="fan-in",
        point=f"messages={wanted.messages}", size="laptop", parameters={"messages": wanted.messages},
        server={"name": "synthetic", "version": "1", "profile": "memory"}, processes=wanted.processes,
        start_ns=START_NS, phases=phases | {"drain": (end, end + SECOND)}, host={"name": "synthetic", "cores": 2},
        started_at="2026-01-01T00:00:00+00:00", thresholds=("lost == 0",),
    )  # fmt: skip


def make(folder: Path, wanted: Wanted) -> dict[str, int]:
    """Write the run folder; returns what was planted."""
    random = np.random.default_rng(wanted.seed)
    faults = choose_faults(wanted, random)
    run_file(folder, wanted).with_changes(state="running").write(folder)
    write_deliveries(folder, wanted, faults, random)
    write_small_tables(folder, wanted)
    run_file(folder, wanted).write(folder)
    return {
        name: value for name, value in asdict(wanted).items() if name in ("messages", "lost", "duplicate", "reordered")
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    for name, value in asdict(Wanted()).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    values = vars(parser.parse_args())
    print(json.dumps(make(values.pop("folder").resolve(), Wanted(**values))))


if __name__ == "__main__":
    main()
