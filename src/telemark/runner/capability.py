"""Whether a server can do what a point needs, asked before anything starts."""

from __future__ import annotations

from telemark.errors import ConfigError
from telemark.model.plan import RunPlan
from telemark.servers.contract import CAPABILITIES, ServerAdapter, WithProfiles


def missing_capabilities(plan: RunPlan, adapter: ServerAdapter) -> tuple[str, ...]:
    """Names the plan needs and the server does not declare, in the order of the contract's table."""
    lacking = plan.needs - adapter.capabilities()
    order = list(CAPABILITIES)
    return tuple(sorted(lacking, key=lambda name: order.index(name) if name in order else len(order)))


def describe_missing(plan: RunPlan, adapter: ServerAdapter) -> str | None:
    """One sentence; None when nothing is missing."""
    lacking = [f"{CAPABILITIES.get(name, 'unknown')} ({name})" for name in missing_capabilities(plan, adapter)]
    if isinstance(adapter, WithProfiles) and plan.profile not in adapter.profiles:
        lacking.append(f"the profile {plan.profile} ({adapter.profile_note(plan.profile)})")
    if not lacking:
        return None
    return f"{plan.suite}/{plan.scenario} on {adapter.name}: the server lacks {'; '.join(lacking)}"


def refuse_unable(plan: RunPlan, adapter: ServerAdapter) -> None:
    """Raise ConfigError when the server cannot run the point."""
    sentence = describe_missing(plan, adapter)
    if sentence:
        raise ConfigError(sentence, hint="`telemark servers` shows what each server can do")
