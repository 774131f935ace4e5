"""What a whole run is asked to do.

A `RunPlan` describes one point (one cell of a scenario's sweep) for the whole run; listeners are named, not addressed.
The runner resolves the names against the server's endpoints and cuts the plan into one `EnginePlan` per engine process.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from telemark.errors import ConfigError
from telemark.model.case import Case
from telemark.model.plan.consumers import ConsumerPlan
from telemark.model.plan.groups import Group, ListenerPlan
from telemark.model.plan.needs import derive_listeners, derive_needs
from telemark.model.plan.numbering import number_groups
from telemark.model.plan.phases import Phases
from telemark.model.plan.rules import problems_of
from telemark.model.plan.shapes import LoadShape

Profile = Literal["memory", "durable", "fsync"]
Size = Literal["quick", "laptop", "published"]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One point of a scenario, resolved: everything but the server's addresses.

    `assemble` completes it; whoever makes or changes a plan calls it last.
    """

    suite: str
    scenario: str
    point: str  # label of the cell, for example "publishers=4000 qos=1"
    size: Size | Literal[""]  # a load from the command line has none
    seed: int
    parameters: dict[str, str | int | float | bool]  # the cell's values after defaults and overrides
    groups: tuple[Group, ...]
    load: LoadShape
    phases: Phases
    profile: Profile = "memory"
    needs: frozenset[str] = frozenset()  # capability names, see servers/contract.py
    thresholds: tuple[str, ...] = ()  # see verdicts/: "lost == 0", "mean_latency < 500 ms"
    allow: tuple[str, ...] = ()  # deviations that fail no run: lost, dropped, violations
    consumers: ConsumerPlan | None = None
    connect_rate: float = 1000.0
    connect_parallel: int = 256
    server_options: dict[str, str | int | float | bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # how this size differs from the published one, printed with the result
    listeners: tuple[ListenerPlan, ...] = ()  # one for each endpoint name the groups use, in the same order
    case: Case = field(default_factory=Case)

    def assemble(self) -> RunPlan:
        """The complete plan: everything numbered, listeners and needs derived, every rule checked.

        Groups without devices, and consumers without any, are left out.

        Raises:
            ConfigError: with everything that is wrong.
        """
        groups, next_subscription = number_groups(self.groups)
        consumers = self.consumers if self.consumers and self.consumers.count else None
        listeners = derive_listeners(groups, self.listeners)
        plan = replace(
            self,
            groups=groups,
            consumers=consumers and replace(consumers, first_subscription=next_subscription),
            listeners=listeners,
            needs=self.needs | derive_needs(groups, listeners, consumers),
        )
        problems = tuple(problems_of(plan))
        if problems:
            raise ConfigError(f"{self.suite}/{self.scenario} cannot be planned", problems=problems)
        return plan

    def with_endpoint_names(self) -> tuple[str, ...]:
        """Names of all listeners the groups use, each once, in order of first use."""
        names = [name for group in self.groups for name in group.endpoints]
        return tuple(dict.fromkeys(names))

    def as_dict(self) -> dict[str, Any]:
        """Plain data for run.json and `telemark plan --json`."""
        plain = asdict(replace(self, needs=frozenset(), consumers=None))
        consumers = self.consumers.as_dict() if self.consumers else None
        return plain | {"needs": sorted(self.needs), "load": self.load.as_dict(), "consumers": consumers}
