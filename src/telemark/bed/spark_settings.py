"""How programs of ours use the Spark of a bed: settings that stage and analysis share, and where its executors are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any


def settings_for_bed(
    spark: str, runner: str, hosts: int, archive: str | None, given: Mapping[str, str]
) -> dict[str, str]:
    """Settings that any application on the bed's Spark needs; what the bed file gives goes before."""
    settings = dict(given)
    if not spark.startswith("local"):
        settings |= {"spark.driver.host": runner, "spark.driver.bindAddress": runner}
    if spark.startswith(("yarn", "k8s")):  # these give executors, not cores
        settings = {"spark.executor.instances": str(hosts), **settings}
    if archive:
        settings |= {"spark.archives": f"{archive}#telemark"}
    return settings


def python_on_hosts(python: str, archive: str | None) -> str:
    """The Python that has telemark there."""
    return "./telemark/bin/python" if archive else python


def executor_hosts(context: Any, runner: str) -> set[str]:
    """Hosts that have an executor now. Spark lists the driver as one more, under the runner's address."""
    found = Counter(info.host() for info in context._jsc.sc().statusTracker().getExecutorInfos())
    found[runner] -= 1
    return {host for host, count in found.items() if count > 0}
