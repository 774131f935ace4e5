"""The lengths of a run's phases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from telemark.model.keys import Meaning


@dataclass(frozen=True, slots=True)
class Phases:
    """Lengths of a run's phases in seconds. Connect and drain end early when they are done."""

    connect_timeout_s: Annotated[float, Meaning("longest time to connect all devices")] = 60.0
    hold_s: Annotated[float, Meaning("idle time with all devices connected, after connect")] = 0.0
    warmup_s: Annotated[float, Meaning("sending before the numbers count")] = 0.0
    measure_s: Annotated[float, Meaning("sending whose numbers count")] = 10.0
    drain_timeout_s: Annotated[float, Meaning("longest wait for messages still owed")] = 10.0
