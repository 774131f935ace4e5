"""The plan of one try: the case at another rate, for another length."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from telemark.errors import ConfigError
from telemark.model.plan import Load, RunPlan, Size, Step
from telemark.runner.search.bracket import Stage, Try

Quantity = Literal["messages", "connections"]
# Seconds a rate must hold in a short try, by size. The confirming try has the case's own length. Steadiness is judged
# on full seconds and takes at least five of them.
TRY_SECONDS: dict[Size, float] = {"quick": 6.0, "laptop": 15.0, "published": 60.0}
RAMP_STEPS = (0.25, 0.5, 0.75)  # shares of the rate during warm-up: the load rises to the rate and never above it
RAMP_SECONDS: dict[Size, float] = {"quick": 1.0, "laptop": 4.0, "published": 30.0}


@dataclass(frozen=True, slots=True)
class Probe:
    """Makes plans for the tries of one search."""

    case: RunPlan

    @property
    def quantity(self) -> Quantity:
        """What is searched for: messages a second, or connections a second where nothing is sent."""
        return "connections" if self.case.load.shape == "idle" else "messages"

    def check(self) -> None:
        """Refuse a case that has no rate to search for."""
        if self.case.load.shape not in ("paced", "steps", "idle"):
            raise ConfigError(
                f"{self.case.suite}/{self.case.scenario}: a search needs a paced load, this is {self.case.load.shape}",
                hint="a closed loop finds its own rate: use telemark run; other shapes: --publishers sweeps the load",
            )

    @property
    def start(self) -> float:
        """First rate when the user names none: half of what the case plans at this size."""
        planned = self.case.connect_rate if self.quantity == "connections" else self.case.load.rate
        return max(planned / 2, 10.0)

    def plan(self, tried: Try, number: int) -> RunPlan:
        """The run for a try; `number` tells apart two tries of the same rate."""
        label = f"{self.case.point} rate={tried.rate:.0f} {tried.stage.value}".strip()
        parameters = self.case.parameters | {"rate": round(tried.rate, 3), "stage": tried.stage.value, "try": number}
        plan = replace(self.case, point=label, parameters=parameters)
        if self.quantity == "connections":
            return replace(plan, connect_rate=tried.rate)
        return self._paced(plan, tried)

    def _paced(self, plan: RunPlan, tried: Try) -> RunPlan:
        ramp_s = RAMP_SECONDS[plan.size]
        full = tried.stage is Stage.CONFIRM
        measure_s = max(plan.phases.measure_s, TRY_SECONDS[plan.size]) if full else TRY_SECONDS[plan.size]
        rising = tuple(Step(ramp_s / len(RAMP_STEPS), share * tried.rate) for share in RAMP_STEPS)
        settle_s = ramp_s  # at the full rate, before measuring begins
        load = Load(
            "steps",
            steps=(*rising, Step(settle_s + measure_s, tried.rate)),
            rate=tried.rate,
            max_lateness_s=plan.load.max_lateness_s,
        )
        phases = replace(plan.phases, warmup_s=ramp_s + settle_s, measure_s=measure_s)
        return replace(plan, load=load, phases=phases)

    def seconds(self, stage: Stage) -> float:
        """About how long one try takes, with start, drain and analysis."""
        overhead_s = 8.0
        if self.quantity == "connections":
            return overhead_s + sum(group.count for group in self.case.groups) / max(self.start, 1.0)
        tried = self.plan(Try(1.0, stage), 0)
        return overhead_s + tried.phases.warmup_s + tried.phases.measure_s
