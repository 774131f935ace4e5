"""What one engine process is asked to do."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from telemark.model.plan.groups import Endpoint, Group
from telemark.model.plan.shapes import Idle, LoadShape

LARGEST_PACKET = 16 << 20  # unless the plan's messages are larger


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """One engine process's whole knowledge of the run; it may run on another host."""

    run: str
    process: int
    seed: int
    endpoints: tuple[Endpoint, ...]
    groups: tuple[Group, ...]
    load: LoadShape = field(default_factory=Idle)  # this process's share
    slot: int = 0  # this process's place among the `slots` that send, so that they interleave evenly
    slots: int = 1
    threads: int = 1
    connect_rate: float = 1000.0  # devices a second, this process; 0: as fast as `connect_parallel` allows
    connect_parallel: int = 256  # connection attempts under way at once
    connect_timeout_s: float = 30.0
    send_for_s: float = 0.0  # length of sending after the common start; 0: until told to stop
    relay_credits: bool = False  # a closed loop over several processes: credits come from outside (`Engine.credit`)
    max_packet_size: int = LARGEST_PACKET  # bytes; MQTT 5 servers are told, and a larger packet ends its connection
    record_deliveries: bool = True
    record_acks: bool = True

    def as_json(self) -> str:
        """The plan as the JSON text the native engine reads."""
        return json.dumps(self.as_dict(), separators=(",", ":"))

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data; a load shape tells its name, which is no field of it."""
        return asdict(self) | {"load": self.load.as_dict()}
