"""What a plan takes over from the server it runs on: the login it asks for, and how it writes shared subscriptions."""

from __future__ import annotations

from dataclasses import replace

from telemark.model.plan import EnginePlan, Group, RunPlan, Subscription
from telemark.servers.contract import ServerAdapter, WithLogin, WithShareSyntax

SHARE = "$share/"


def with_login(plan: RunPlan, adapter: ServerAdapter) -> RunPlan:
    """Groups without a user name of their own get the one the server asks for."""
    login = adapter.login() if isinstance(adapter, WithLogin) else None
    if login is None:
        return plan
    groups = tuple(
        group if group.username else replace(group, username=login.username, password=login.password)
        for group in plan.groups
    )
    return replace(plan, groups=groups)


def with_share_syntax(plan: EnginePlan, adapter: ServerAdapter) -> EnginePlan:
    """The engine's plan with shared subscriptions as this server writes them."""
    if not isinstance(adapter, WithShareSyntax):
        return plan
    return replace(
        plan, groups=tuple(_with_prefix(group, adapter.share_prefix(group.version)) for group in plan.groups)
    )


def _with_prefix(group: Group, prefix: str | None) -> Group:
    if prefix is None:
        return group
    return replace(group, subscriptions=tuple(_shared(each, prefix) for each in group.subscriptions))


def _shared(subscription: Subscription, prefix: str) -> Subscription:
    if not subscription.filter.startswith(SHARE):
        return subscription
    share, _, topics = subscription.filter.removeprefix(SHARE).partition("/")
    return replace(subscription, filter=prefix.replace("{share}", share) + topics)
