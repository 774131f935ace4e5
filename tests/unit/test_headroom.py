"""How much more the engine could have done."""

from __future__ import annotations

from typing import Any

import pytest

from telemark.verdicts.headroom import engine_headroom

CALIBRATED = {"ceiling_rate": 100_000.0, "ceiling_shape": "windowed", "ceiling_connections": 200}
POINT: dict[str, Any] = {
    "engine_busiest_thread_cores": 0.25, "send_delay_p99_us": 500.0, "sent": 10_000, "pushed_back": 0,
    "sent_rate": 10_000.0, "received_rate": 10_000.0, "connections": 200,
}  # fmt: skip


@pytest.mark.parametrize("shape", ["paced", "windowed"])
@pytest.mark.parametrize("delay_us", [1.0, 4_000.0])
def test_an_engine_at_95_percent_of_a_core_has_no_headroom(shape: str, delay_us: float) -> None:
    """Whatever a calibration promises: the run itself shows that its thread had nothing left."""
    point = POINT | {"engine_busiest_thread_cores": 0.95, "send_delay_p99_us": delay_us}
    headroom = engine_headroom(point, CALIBRATED, shape)

    assert headroom is not None
    assert headroom <= 1.1


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_engine_pinned_to_one_core_at_95_percent_has_no_headroom(threads: int) -> None:
    """However many threads share the core."""
    point = POINT | {"engine_busiest_thread_cores": 0.95 / threads, "engine_cpu_cores_mean": 0.95}
    headroom = engine_headroom(point, CALIBRATED, "paced", pinned=(1,))

    assert headroom is not None
    assert headroom <= 1.1


@pytest.mark.parametrize(
    ("changes", "shape", "headroom"),
    [
        ({}, "paced", 4.0),
        ({"send_delay_p99_us": 2_500.0}, "paced", 2.0),
        ({"send_delay_p99_us": 2_500.0, "pushed_back": 100}, "paced", 4.0),
        ({"sent_rate": 50_000.0}, "windowed", 2.0),
        ({"sent_rate": 50_000.0}, "paced", 4.0),
        ({"sent_rate": 50_000.0, "connections": 5_000}, "windowed", 4.0),
        ({"engine_busiest_thread_cores": None, "send_delay_p99_us": None}, "paced", None),
    ],
    ids=["thread", "send delay", "pushed back by the server", "calibration", "of another shape",
         "of fewer connections", "nothing known"],
)  # fmt: skip
def test_headroom_is_the_smallest_that_is_known(changes: dict[str, Any], shape: str, headroom: float | None) -> None:
    """A calibration counts only when it is of the same kind of load."""
    assert headroom == engine_headroom(POINT | changes, CALIBRATED, shape)
