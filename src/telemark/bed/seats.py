"""Which task of the barrier stage is the agent of which host.

Spark puts the tasks where it likes. When the stage was counted before all of a cluster's executors had registered, a
host of the bed may have got no task at all: then nobody serves, and the stage is counted and submitted again.
"""

from __future__ import annotations

from collections.abc import Sequence


def without_task(addresses: Sequence[str], names: Sequence[str]) -> list[str]:
    """Hosts of the bed that no task is on. Every task of a stage comes to the same answer.

    Args:
        addresses: the host of every task, as Spark calls it.
        names: the hosts of the bed. A bed of one host on one task may call it as it likes.
    """
    if len(addresses) == len(names) == 1:
        return []
    return sorted(set(names) - set(addresses))


def agent_of(task: int, addresses: Sequence[str], names: Sequence[str]) -> str | None:
    """The host whose agent a task is: the first one on each host of the bed. Others have nothing to do."""
    if len(addresses) == len(names) == 1:
        return names[0]
    name = addresses[task]
    return name if name in names and addresses.index(name) == task else None
