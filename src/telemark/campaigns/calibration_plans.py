"""The runs of a calibration: the built-in server under every load shape.

Three kinds. A *ceiling* is a closed loop that keeps enough messages under way to use up the slower side: the rate it
reaches is the most that engine and built-in server can do together, so the engine alone can do at least as much. A
*floor* is a light paced load: its latency is that of the network and of the instrument itself. A *shape* run shows
that each of the other load shapes is kept as planned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from telemark.model.plan import Group, Idle, ListenerPlan, LoadShape, Phases, Publish, RunPlan, Subscription
from telemark.model.plan.shapes.batched import Batched
from telemark.model.plan.shapes.burst import Burst
from telemark.model.plan.shapes.every import Every
from telemark.model.plan.shapes.paced import Paced
from telemark.model.plan.shapes.steps import Step, Steps
from telemark.model.plan.shapes.windowed import Windowed

PUBLISHERS = 200
CONNECTIONS = {"none": 4000, "tls": 600, "psk": 1500}
WARMUP_S, SECONDS = 1.0, 2.0  # rates are over full seconds, counted from the start of the warm-up
UNDER_WAY = 2000  # messages of a ceiling run: enough to hide the way there and back, few enough for any socket buffer
FLOOR_RATE = 1000.0
SHAPE_RATE = 2000.0
Security = Literal["none", "tls", "psk"]
LISTENERS: dict[str, ListenerPlan] = {
    "none": ListenerPlan("plain"),
    "tls": ListenerPlan("tls", "tls", "1.3"),
    "psk": ListenerPlan("psk", "psk", "1.2", "PSK-AES256-CBC-SHA"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One run of the calibration and what it stands for."""

    kind: Literal["ceiling", "floor", "shape", "connect"]
    shape: str
    qos: int
    security: Security
    payload: int
    plan: RunPlan


def _groups(qos: int, payload: int, listener: str) -> tuple[Group, ...]:
    publish = Publish("c/{index}", qos, payload)
    subscriber = Subscription("c/#", qos)
    return (
        Group("publishers", PUBLISHERS, endpoints=(listener,), client_id="pub-{index}", publish=publish),
        Group(
            "subscriber",
            1,
            endpoints=(listener,),
            client_id="sub-{index}",
            subscriptions=(subscriber,),
        ),
    )


def _plan(name: str, groups: tuple[Group, ...], load: LoadShape, listener: ListenerPlan) -> RunPlan:
    return RunPlan(
        suite="calibration",
        scenario=name,
        point="",
        size="quick",
        seed=1,
        parameters={},
        groups=groups,
        load=load,
        phases=Phases(warmup_s=WARMUP_S, measure_s=SECONDS, drain_timeout_s=5.0),
        connect_rate=0.0,
        listeners=(listener,),
    ).assemble()


def _case(
    kind: Literal["ceiling", "floor", "shape"], load: LoadShape, qos: int, security: Security, payload: int
) -> Case:
    listener = LISTENERS[security]
    name = f"{kind}-{load.shape}-q{qos}-{security}-{payload}"
    plan = _plan(name, _groups(qos, payload, listener.name), load, listener)
    return Case(kind, load.shape, qos, security, payload, plan)


def ceiling(qos: int, security: Security = "none", payload: int = 32) -> Case:
    """As many messages as go through."""
    load = Windowed(window=UNDER_WAY, refill=100)
    return _case("ceiling", load, qos, security, payload)


def floor(qos: int, security: Security = "none", payload: int = 32) -> Case:
    """The latency of an idle instrument."""
    return _case("floor", Paced(FLOOR_RATE), qos, security, payload)


def shape(load: LoadShape) -> Case:
    """A load shape that must be kept as planned."""
    return _case("shape", load, 0, "none", 32)


def connect(security: Security) -> Case:
    """As many connections as go through."""
    listener = LISTENERS[security]
    count = CONNECTIONS[security]
    groups = (Group("devices", count, endpoints=(listener.name,), client_id="dev-{index}"),)
    plan = _plan(f"connect-{security}", groups, Idle(), listener)
    plan = replace(plan, phases=Phases(measure_s=0.0), connect_parallel=128).assemble()
    return Case("connect", plan.load.shape, 0, security, 0, plan)


def all_cases() -> list[Case]:
    """Everything `telemark calibrate` runs."""
    return [
        *(ceiling(qos) for qos in (0, 1, 2)),
        ceiling(0, "tls"),
        ceiling(0, "none", 1024),
        ceiling(0, "none", 16_384),
        *(floor(qos) for qos in (0, 1, 2)),
        floor(0, "tls"),
        shape(Paced(SHAPE_RATE, arrivals="poisson")),
        shape(Batched(batch=200, period_ms=100.0)),
        shape(Every(0.1)),
        shape(Burst(SHAPE_RATE / 2, burst_rate=SHAPE_RATE * 2, burst_s=0.2, burst_every_s=1.0)),
        shape(Steps((Step(1.0, SHAPE_RATE / 2), Step(2.0, SHAPE_RATE)))),
        connect("none"),
        connect("tls"),
        connect("psk"),
    ]
