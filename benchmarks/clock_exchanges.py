"""What exchanges of clock readings cost, and how well they limit a clock.

    python benchmarks/clock_exchanges.py [--seconds 30]

The runner's side and a host's side, each a process of its own that does nothing else, at the rate of a real bed. Prints
the CPU time of either process for each exchange, the round trips, and the error that the exchanges leave.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import statistics
import time
from multiprocessing.connection import Connection

from telemark._native import ClockResponder
from telemark.bed.clock_service import ask_clock
from telemark.model.clock import Exchange, correction

LINE, KEY = 1, b"k" * 32


def answer(address: tuple[str, int], line: Connection) -> None:
    """The runner's side until told to stop; tells the CPU time that it took."""
    responder = ClockResponder(address)
    responder.admit(LINE, KEY)
    begun = time.process_time()
    line.send(None)
    line.recv()
    line.send(time.process_time() - begun)
    responder.close()


def main() -> None:
    """Measure and print one JSON line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=30.0)
    seconds = parser.parse_args().seconds
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=answer, args=(address, there), daemon=True)
    process.start()
    here.recv()
    begun = time.process_time()
    asker = ask_clock(address, LINE, KEY)
    time.sleep(seconds)
    asked_s = time.process_time() - begun
    here.send(None)
    answered_s = here.recv()
    found = list(map(Exchange, *asker.drain()))
    asker.close()
    errors = sorted(correction(found).error_ns)
    print(
        json.dumps(
            {
                "exchanges": len(found),
                "host_cpu_us": asked_s / len(found) * 1e6,
                "runner_cpu_us": answered_s / len(found) * 1e6,
                "round_trip_us": statistics.median(each.answered_ns - each.asked_ns for each in found) / 1e3,
                "median_error_us": statistics.median(errors) / 1e3,
                "worst_error_us": errors[-1] / 1e3,
            }
        )
    )


if __name__ == "__main__":
    main()
