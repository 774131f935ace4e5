"""A run plan made of command-line options instead of a scenario."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from telemark.catalog.case import statistics_of
from telemark.errors import ConfigError
from telemark.model.case import Case
from telemark.model.plan import (
    MINIMUM_PAYLOAD,
    Group,
    Idle,
    LoadShape,
    Phases,
    Publish,
    RunPlan,
    Secret,
    Subscription,
    Version,
)
from telemark.model.plan.shapes.paced import Paced
from telemark.model.plan.shapes.windowed import Windowed

SUITE, SCENARIO = "adhoc", "load"
RULES = ("lost == 0", "dropped == 0", "violations == 0")
NO_PARAMETERS = ("password_env", "password_file", "required")  # where a secret is kept, and rules


@dataclass(frozen=True, slots=True)
class AdhocLoad:
    """What `telemark load` was asked for. Names are those of its options."""

    publishers: int = 1
    subscribers: int = 1
    rate: float = 100.0
    qos: int = 0
    payload: int = 64
    topic: str = "telemark/load/{index}"
    topic_filter: str | None = None
    share: str | None = None
    duration: float = 10.0
    warmup: float = 1.0
    connect_rate: float = 0.0  # 0: unlimited
    unpaced: bool = False
    window: int = 1000  # messages under way when unpaced
    required: tuple[str, ...] = ()  # thresholds instead of the usual one
    version: Version = "5"
    tls: bool = False
    ca: str | None = None
    insecure: bool = False
    username: str | None = None
    password_env: str | None = None
    password_file: str | None = None

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> AdhocLoad:
        """Take the values that belong here out of all options; every wrong one is reported at once."""
        load = cls(**{field.name: settings[field.name] for field in fields(cls) if field.name in settings})
        problems = tuple(load.problems())
        if problems:
            raise ConfigError("load cannot be run", problems=problems)
        return load

    def problems(self) -> list[str]:
        """What is wrong, in words."""
        checks = (
            (self.publishers + self.subscribers > 0, "--publishers and --subscribers are both 0, expected a device"),
            (self.rate >= 0, f"--rate is {self.rate:g}, expected 0 or more messages a second"),
            (self.payload >= MINIMUM_PAYLOAD, f"--payload is {self.payload}, expected {MINIMUM_PAYLOAD} or more bytes"),
            (self.duration > 0, f"--duration is {self.duration:g}, expected seconds above 0"),
            (self.warmup >= 0, f"--warmup is {self.warmup:g}, expected 0 or more seconds"),
            (self.connect_rate >= 0, f"--connect-rate is {self.connect_rate:g}, expected 0 or more devices a second"),
            (self.window > 0, f"--window is {self.window}, expected 1 or more messages"),
            (
                not self.unpaced or (self.publishers > 0 and self.subscribers > 0),
                "--unpaced needs a publisher and a subscriber: what is received allows the next to be sent",
            ),
            (self.tls or not (self.ca or self.insecure), "--ca and --insecure need --tls"),
            (
                self.username is not None or not (self.password_env or self.password_file),
                "a password needs --username",
            ),
            (not (self.password_env and self.password_file), "--password-env and --password-file exclude each other"),
            (self.share is None or self.version == "5", "--share needs --version 5"),
        )
        return [sentence for good, sentence in checks if not good]

    def filter(self) -> str:
        """The subscribers' filter: every `{...}` of the topic becomes a one-level wildcard."""
        plain = self.topic_filter or "/".join("+" if "{" in level else level for level in _levels(self.topic))
        return f"$share/{self.share}/{plain}" if self.share else plain

    def remote_options(self) -> tuple[str, ...]:
        """Options of the remote adapter that follow from these."""
        named = {"ca": self.ca, "username": self.username, "verify": "false" if self.insecure else None}
        named |= {"password_env": self.password_env, "password_file": self.password_file}
        return tuple(f"{name}={value}" for name, value in named.items() if value is not None)


def plan_load(load: AdhocLoad) -> RunPlan:
    """The plan of one ad-hoc run.

    Raises:
        ConfigError: with everything that is wrong.
    """
    parameters = {field.name: getattr(load, field.name) for field in fields(load) if field.name not in NO_PARAMETERS}
    shown = {name: value for name, value in parameters.items() if value is not None}
    shape = _shape(load)
    return RunPlan(
        suite=SUITE,
        scenario=SCENARIO,
        point=_point(load, sends=shape.sends),
        size="",
        seed=1,
        parameters=shown,
        groups=(_subscribers(load), _publishers(load)),
        load=shape,
        phases=Phases(warmup_s=load.warmup, measure_s=load.duration),
        thresholds=load.required or (RULES if load.publishers and load.subscribers else ()),
        connect_rate=load.connect_rate,
        case=Case(
            title="Load from the command line",
            about="Publishers and subscribers as the options of `telemark load` described them.",
            headline=shape.headline,
            statistics=statistics_of(shape.headline, shape),
        ),
    ).assemble()


def _shape(load: AdhocLoad) -> LoadShape:
    if not load.publishers or not (load.unpaced or load.rate > 0):
        return Idle()
    return Windowed(load.window) if load.unpaced else Paced(load.rate)


def _point(load: AdhocLoad, *, sends: bool) -> str:
    """What tells this run from others of its kind; a rate only where something is sent."""
    words = [f"publishers={load.publishers}", f"subscribers={load.subscribers}"]
    if sends:
        pace = f"window={load.window}" if load.unpaced else f"rate={load.rate:g}"
        words += [pace, f"payload={load.payload}"]
    return " ".join([*words, f"qos={load.qos}"])


def _subscribers(load: AdhocLoad) -> Group:
    subscription = Subscription(load.filter(), load.qos)
    return Group("subscribers", load.subscribers, subscriptions=(subscription,), **_common(load, "subscriber"))


def _publishers(load: AdhocLoad) -> Group:
    publish = Publish(load.topic, load.qos, load.payload)
    return Group("publishers", load.publishers, publish=publish, **_common(load, "publisher"))


def _common(load: AdhocLoad, role: str) -> dict[str, Any]:
    """What the devices of both groups have in common."""
    secret = Secret(load.password_env, load.password_file)
    return {
        "endpoints": ("tls" if load.tls else "plain",),
        "client_id": f"telemark-{role}-{{index}}",
        "version": load.version,
        "username": load.username,
        "password": secret if load.password_env or load.password_file else None,
    }


def _levels(topic: str) -> list[str]:
    """Levels of a topic pattern; a slash inside braces divides numbers, not levels."""
    return re.split(r"/(?![^{}]*\})", topic)
