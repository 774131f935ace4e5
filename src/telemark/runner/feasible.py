"""Whether a point can run on a server from these hosts: the checks that `plan` and `run` share.

All of them are made before anything starts.
"""

from __future__ import annotations

from collections.abc import Sequence

from telemark.errors import TelemarkError
from telemark.host.ports import LOOPBACK
from telemark.model.plan import Endpoint, RunPlan
from telemark.model.slicing import Place, place_plan
from telemark.runner.capability import refuse_unable
from telemark.servers.contract import Listener, ServerAdapter
from telemark.servers.remote import Remote


def listeners_of(plan: RunPlan) -> tuple[Listener, ...]:
    """The listeners that a run of the plan asks of the server."""
    asked = tuple(Listener(each.name, each.security, each.socket_buffer) for each in plan.listeners)
    return asked or tuple(Listener(name) for name in plan.with_endpoint_names())


def planned_endpoints(plan: RunPlan, adapter: ServerAdapter, address: str = LOOPBACK) -> dict[str, Endpoint]:
    """Where devices will connect to; a server that is started later gets its ports then."""
    listeners = listeners_of(plan)
    if isinstance(adapter, Remote):
        return adapter.planned_endpoints(listeners)
    return {each.name: Endpoint(each.name, address, number) for number, each in enumerate(listeners, 1)}


def refuse_impossible(
    plan: RunPlan, adapter: ServerAdapter, places: Sequence[Place], address: str = LOOPBACK, processes: int = 0
) -> None:
    """Raise ConfigError or RequirementError with the reason why a run of the point would be refused.

    Args:
        plan: the point.
        adapter: of the server.
        places: hosts with devices.
        address: of a server that the run starts.
        processes: engine processes on each host; 0: as few as possible.
    """
    refuse_unable(plan, adapter)
    place_plan(plan, planned_endpoints(plan, adapter, address), run="plan", places=places, processes=processes)


def why_impossible(
    plan: RunPlan, adapter: ServerAdapter, places: Sequence[Place], address: str = LOOPBACK
) -> str | None:
    """The reason in words; None when the run would begin."""
    try:
        refuse_impossible(plan, adapter, places)
    except TelemarkError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message
    return None
