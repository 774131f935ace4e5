"""The plan of one try: the case at another rate or with another number of devices, for another length."""

from __future__ import annotations

from dataclasses import dataclass, replace

from telemark.campaigns.peak.bracket import Stage, Try
from telemark.campaigns.peak.scale import SearchCase
from telemark.errors import ConfigError
from telemark.model.plan import RunPlan
from telemark.model.plan.shapes.steps import Step, Steps
from telemark.store.documents.search import Quantity

# Seconds a rate must hold in a short try, by size. The confirming try has the case's own length. Steadiness is judged
# on full seconds and takes at least five of them.
TRY_SECONDS: dict[str, float] = {"quick": 6.0, "laptop": 15.0, "published": 60.0}
RAMP_STEPS = (0.25, 0.5, 0.75)  # shares of the rate during warm-up: the load rises to the rate and never above it
RAMP_SECONDS: dict[str, float] = {"quick": 1.0, "laptop": 4.0, "published": 30.0}


@dataclass(frozen=True, slots=True)
class Probe:
    """Makes plans for the tries of one search."""

    searched: SearchCase

    @property
    def case(self) -> RunPlan:
        """The point whose peak is searched for."""
        return self.searched.plan

    @property
    def quantity(self) -> Quantity:
        """What is searched for: publishers where the case asks for them, else messages or connections a second."""
        if self.searched.scale is not None:
            return "publishers"
        return "messages" if self.case.load.sends else "connections"

    @property
    def step(self) -> int:
        """The searched quantity is a multiple of this; 0 when it may be any."""
        return self.searched.scale.step if self.searched.scale else 0

    def check(self) -> None:
        """Refuse a case that has nothing to search for."""
        if self.quantity == "messages" and self.case.load.searched_rate() is None:
            raise ConfigError(
                f"{self.case.suite}/{self.case.scenario}: a search needs a paced load, this is {self.case.load.shape}",
                hint="a closed loop finds its own rate: use telemark run; other shapes: --publishers sweeps the load",
            )

    @property
    def start(self) -> float:
        """Where a search begins when the user says nothing: half of what the case plans at this size."""
        planned = self.case.connect_rate if self.quantity == "connections" else self.case.load.searched_rate()
        if self.searched.scale is not None:
            planned = float(self.case.parameters[self.searched.scale.parameter])
            return max(planned, self.step)
        return max((planned or 0.0) / 2, 10.0)

    def ceiling(self, engine: float | None) -> float | None:
        """The highest value worth trying, from the engine's own ceiling in messages or connections a second."""
        offered = self.case.load.offered_rate()
        if self.searched.scale is None or engine is None or not offered:
            return engine
        return engine * float(self.case.parameters[self.searched.scale.parameter]) / offered

    def plan(self, tried: Try, number: int) -> RunPlan:
        """The run for a try; `number` tells apart two tries of the same rate."""
        if self.searched.scale is not None:
            return self._scaled(tried, number)
        label = f"{self.case.point} rate={tried.rate:.0f} {tried.stage.value}".strip()
        parameters = self.case.parameters | {"rate": round(tried.rate, 3), "stage": tried.stage.value, "try": number}
        plan = replace(self.case, point=label, parameters=parameters)
        if self.quantity == "connections":
            return replace(plan, connect_rate=tried.rate).assemble()
        return self._paced(plan, tried).assemble()

    def _scaled(self, tried: Try, number: int) -> RunPlan:
        if self.searched.scale is None:
            raise ValueError("the search has no scale")
        plan = self.searched.scale.at(round(tried.rate))
        parameters = plan.parameters | {"stage": tried.stage.value, "try": number}
        phases = replace(plan.phases, measure_s=self._measure_s(plan, tried))
        return replace(plan, point=f"{plan.point} {tried.stage.value}", parameters=parameters, phases=phases)

    def _measure_s(self, plan: RunPlan, tried: Try) -> float:
        short = TRY_SECONDS[plan.size]
        return max(plan.phases.measure_s, short) if tried.stage is Stage.CONFIRM else short

    def _paced(self, plan: RunPlan, tried: Try) -> RunPlan:
        ramp_s = RAMP_SECONDS[plan.size]
        measure_s = self._measure_s(plan, tried)
        rising = tuple(Step(ramp_s / len(RAMP_STEPS), share * tried.rate) for share in RAMP_STEPS)
        settle_s = ramp_s  # at the full rate, before measuring begins
        steps = (*rising, Step(settle_s + measure_s, tried.rate))
        load = Steps(steps, max_lateness_s=plan.load.max_lateness_s)
        phases = replace(plan.phases, warmup_s=ramp_s + settle_s, measure_s=measure_s)
        return replace(plan, load=load, phases=phases)

    def seconds(self, stage: Stage) -> float:
        """About how long one try takes, with start, drain and analysis."""
        overhead_s = 8.0
        if self.quantity == "connections":
            return overhead_s + sum(group.count for group in self.case.groups) / max(self.start, 1.0)
        tried = self.plan(Try(self.start, stage), 0)
        return overhead_s + tried.phases.warmup_s + tried.phases.measure_s
