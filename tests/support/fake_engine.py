"""A stand-in for the engine process: speaks its lines, plays no devices. The plan's seed says how to misbehave.

FINE        connects, "sends" and "receives" 10 messages after begin, finishes
DIES        is killed by a signal when told to begin
CRASHES     prints to standard error and ends with status 3 when told to begin
REFUSES     fails at once with a plan problem
DEAF        never finishes
CREDITS     reports 10 messages received after begin, then counts the credits it is given as sent
SLOW        never gets all its devices ready
LOSES       receives one message less than it sent
FULL        fails as a full disk would when told to begin
REFUSED     one device fails to connect, with an event
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

FINE, DIES, CRASHES, REFUSES, DEAF, CREDITS, SLOW, LOSES, FULL, REFUSED, LOST = range(11)


def say(**message: object) -> None:
    print(json.dumps(message), flush=True)


def begin(mode: int, start_ns: int, devices: int) -> dict[str, object]:
    """What changes in the status when sending begins."""
    if mode == DIES:
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == CRASHES:
        print("boom", file=sys.stderr)
        sys.exit(3)
    if mode == FULL:
        say(**{"is": "failed", "kind": "RequirementError", "message": "no space left for deliveries"})
        sys.exit(1)
    if mode == CREDITS:
        say(**{"is": "received", "messages": 10})
    if mode == LOST:
        say(**{"is": "event", "kind": "disconnected", "detail": "device 0: connection reset"})
        return {"connected": 0, "disconnects": devices}
    return {"ready": devices, "sent": 10, "received": 9 if mode == LOSES else 10, "begun_ns": start_ns}


def main() -> None:
    plan = json.loads(sys.stdin.readline())["plan"]
    assert plan["load"]["shape"]  # without its tag the real engine understands no load
    mode = plan["seed"] - plan["process"]  # every process gets the run's seed plus its number
    devices = sum(group["count"] for group in plan["groups"])
    status: dict[str, object] = {"is": "status", "devices": devices, "connected": devices, "sent": 0, "received": 0}
    if mode == REFUSES:
        say(**{"is": "failed", "kind": "plan", "message": "load.rate: -1, expected 0 or more"})
        sys.exit(1)
    print("a library's chatter that is no JSON", flush=True)
    if mode == REFUSED:
        say(**{"is": "event", "kind": "connect_refused", "detail": "device 0: bad user name or password"})
        status["failed"] = 1
    say(**status | {"ready": devices - (mode in (SLOW, REFUSED))})
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "begin":
            status |= begin(mode, order["start_ns"], devices)
        if order["do"] == "credit":
            status["sent"] = int(str(status["sent"])) + order["messages"]
        if order["do"] == "set_rate":
            status["rate"] = order["rate"]
        if order["do"] == "finish":
            if mode == DEAF:
                time.sleep(60)
            say(**{"is": "finished"})
            sys.exit(0)
        say(**status)


if __name__ == "__main__":
    main()
