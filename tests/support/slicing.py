"""A plan cut for the engine processes of one host."""

from __future__ import annotations

from collections.abc import Mapping

from telemark.host.limits import HostLimits
from telemark.model.plan import Endpoint, EnginePlan, RunPlan
from telemark.model.slicing import Place, place_plan


def slice_plan(
    plan: RunPlan,
    endpoints: Mapping[str, Endpoint],
    *,
    run: str,
    limits: HostLimits,
    processes: int = 0,
    threads: int = 1,
) -> tuple[EnginePlan, ...]:
    """One EnginePlan per process; see `place_plan`."""
    placed = place_plan(plan, endpoints, run=run, places=(Place(limits=limits),), processes=processes, threads=threads)
    return tuple(each.plan for each in placed)
