"""A stand-in for the engine process: speaks its lines, plays no devices. Its `run` field says how to misbehave.

fine            connects, sends 10 messages for each begin, finishes
dies            is killed by a signal when told to begin
crashes         prints to standard error and ends with status 3 when told to begin
refuses         fails at once with a plan problem
deaf            never finishes
credits         reports 10 messages received after begin, then counts the credits it is given as sent
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

request = json.loads(sys.stdin.readline())
plan = request["plan"]
mode = plan["run"]
devices = sum(group["count"] for group in plan["groups"])
status = {"is": "status", "devices": devices, "connected": 0, "ready": 0, "failed": 0, "sent": 0, "received": 0}


def say(**message: object) -> None:
    print(json.dumps(message), flush=True)


if mode == "refuses":
    say(**{"is": "failed", "kind": "plan", "message": "load.rate: -1, expected 0 or more"})
    sys.exit(1)
print("a library's chatter that is no JSON", flush=True)
say(**status | {"connected": devices, "ready": devices})
say(**{"is": "ready"})
for line in sys.stdin:
    order = json.loads(line)
    if order["do"] == "begin":
        if mode == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if mode == "crashes":
            print("boom", file=sys.stderr)
            sys.exit(3)
        if mode == "credits":
            say(**{"is": "received", "messages": 10})
        status |= {"ready": devices, "sent": 10, "begun_ns": order["start_ns"]}
        say(**status)
    if order["do"] == "credit":
        status["sent"] += order["messages"]
        say(**status)
    if order["do"] == "set_rate":
        say(**status | {"rate": order["rate"]})
    if order["do"] == "finish":
        if mode == "deaf":
            time.sleep(60)
        say(**{"is": "finished"})
        sys.exit(0)
