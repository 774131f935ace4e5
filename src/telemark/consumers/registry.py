"""The kinds of back-end consumers there are. A new kind is one line here."""

from __future__ import annotations

from pathlib import Path

from telemark.consumers.contract import BackendConsumers, ConsumerKind
from telemark.consumers.jms.plan import JmsConsumers
from telemark.errors import ConfigError
from telemark.model.plan import ConsumerPlan
from telemark.servers.contract import ServerAdapter

TAG = "kind"  # the key that names the kind

KINDS: dict[str, type[ConsumerKind]] = {
    JmsConsumers.kind: JmsConsumers,
}


def make_consumers(plan: ConsumerPlan, adapter: ServerAdapter, folder: Path) -> BackendConsumers:
    """The consumers of a run, not started yet.

    Raises:
        ConfigError: the server, which runs already, gives them no way to reach it.
    """
    access = adapter.access(plan.kind)
    if access is None or not isinstance(plan, ConsumerKind):
        raise ConfigError(f"server {adapter.name} gives no way for {plan.kind} consumers to reach it")
    return plan.make(access, folder)
