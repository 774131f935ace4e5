"""The process that holds Spark for a bed: `python -m telemark.bed.stage_process`, started by `stage.BarrierStage`.

A program has one SparkContext, and the runner's is for the analysis. Orders come as JSON lines on standard input: the
bed, then the invitation. Its end ends the stage.

The invitation with the campaign's secret travels inside the task's code, which Spark keeps in memory: data given to
`parallelize` would pass through a file, and settings and properties appear in the event log.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

from telemark.bed.spark_settings import executor_hosts, python_on_hosts, settings_for_bed
from telemark.errors import RequirementError, TelemarkError
from telemark.runner.engine_process import Say, speaker

Task = Callable[[Iterator[int]], Iterator[str]]

_ALL_CORES: Final = 1_000_000
RESEAT_S = 60.0  # for a stage whose tasks lie on every host of the bed, once Spark has an executor on each
ELSEWHERE_S = 3.0  # Spark lists an executor a moment after it gives slots: then they are on other hosts indeed
GRACE_S = 5.0  # for agents that were told to end
_SETTINGS: Final[Mapping[str, str]] = {
    "spark.app.name": "telemark bed",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.dynamicAllocation.enabled": "false",  # a host must not be taken away during a run
    "spark.task.cpus": "1",
    "spark.task.maxFailures": "1",  # a lost agent ends the campaign; a second try would find no runner
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "1s",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": "30",  # an executor may come back
    "spark.log.level": "ERROR",
}
_PYTHON_ERROR: Final = re.compile(r"(?!java\.|org\.|scala\.|pyspark\.)[\w.]*(Error|Exception|Interrupt)\b")


@dataclass(frozen=True, slots=True)
class StageOrder:
    """What of a bed file the stage needs."""

    spark: str
    runner: str
    names: list[str]  # of the hosts
    settings: dict[str, str]
    python: str
    archive: str | None
    wait: float


class SparkStage:
    """A Spark application with a barrier stage."""

    def __init__(self, order: StageOrder) -> None:
        self._order = order
        self._wide = False  # whether Spark was asked for all of its cores
        self._context = _start_context(order, wide=False)

    def wait_for_hosts(self) -> tuple[set[str], set[str]]:
        """Wait until Spark has an executor on every host of the bed. Returns those without one, and all it has.

        One core for each host is asked for first. A cluster that has other hosts too may give those instead: then
        all of its cores are asked for, so that every host has one. A busy cluster starts executors slowly: the time
        of waiting begins anew with each that comes.
        """
        if self._order.spark.startswith("local"):
            return set(), set(self._order.names)
        seen, since = self._executors(), time.monotonic()
        while missing := set(self._order.names) - seen:
            waited_s = time.monotonic() - since
            if (found := self._executors()) != seen:
                seen, since = found, time.monotonic()
            elif waited_s > ELSEWHERE_S and not self._wide and self._slots() >= len(self._order.names):
                self._ask_for_all()
                since = time.monotonic()
            elif waited_s > self._order.wait:
                return missing, seen
            time.sleep(0.1)
        return set(), seen

    def _ask_for_all(self) -> None:
        self._wide = True
        self._context.stop()
        self._context = _start_context(self._order, wide=True)

    def serve(self, invitation: Mapping[str, Any], names: list[str]) -> str | None:
        """Run the agents of those hosts until they end. Returns why the stage failed, when it did."""
        try:
            return self._serve(_agent_task(dict(invitation), names), names)
        except Exception as error:
            return _first_line(error)

    def _serve(self, task: Task, names: list[str]) -> str | None:
        """Submit the stage until its tasks lie on every host, and then until its agents have ended."""
        deadline = time.monotonic() + RESEAT_S
        while missing := sorted(set(self._submit(task, names))):
            if time.monotonic() > deadline:
                return f"Spark put no task on {', '.join(missing)} in {RESEAT_S:.0f} s"
            time.sleep(0.2)
        return None

    def _submit(self, task: Task, names: list[str]) -> list[str]:
        """Run the stage once. Returns the hosts that no task was on; none when the agents have served and ended."""
        count = max(self._slots(), len(names)) if self._wide else len(names)
        found: list[str] = self._context.parallelize(range(count), count).barrier().mapPartitions(task).collect()
        return found

    def cancel(self) -> None:
        """End agents that did not end by themselves."""
        self._context.cancelAllJobs()

    def stop(self) -> None:
        """Leave Spark."""
        self._context.stop()

    def _slots(self) -> int:
        """Tasks that all executors together could run at once. `defaultParallelism` is a setting, and never below 2."""
        spark = self._context._jsc.sc()
        return int(spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile()))

    def _executors(self) -> set[str]:
        return executor_hosts(self._context, self._order.runner)


def _start_context(order: StageOrder, *, wide: bool) -> Any:
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - the runner imports this module's names without Spark

    cores = _ALL_CORES if wide else len(order.names)
    given = {**_SETTINGS, "spark.cores.max": str(cores), **order.settings}
    settings = settings_for_bed(order.spark, order.runner, len(order.names), order.archive, given)
    try:
        context = SparkContext(conf=SparkConf().setMaster(order.spark).setAll(list(settings.items())))
    except Exception as error:
        raise RequirementError(
            f"Spark master {order.spark}: {_first_line(error)}", hint="is `spark` in the bed file right, and is it up?"
        ) from error
    context.pythonExec = python_on_hosts(order.python, order.archive)
    return context


def _agent_task(invitation: dict[str, Any], names: list[str]) -> Task:
    """What runs on every host: see `seats`. A host that lacks telemark must still be able to read it."""

    def task(_: Iterator[int]) -> Iterator[str]:
        from pyspark import BarrierTaskContext  # noqa: PLC0415

        context = BarrierTaskContext.get()
        addresses = [info.address.rpartition(":")[0] for info in context.getTaskInfos()]
        try:
            from telemark.bed.agent import serve  # noqa: PLC0415
            from telemark.bed.invitation import Invitation  # noqa: PLC0415
            from telemark.bed.seats import agent_of, without_task  # noqa: PLC0415
        except ImportError as error:
            raise ImportError(f"host {addresses[context.partitionId()]}: {error}") from error

        missing = without_task(addresses, names)
        name = agent_of(context.partitionId(), addresses, names)
        if name is not None and not missing:
            serve(Invitation(**invitation), name)
        return iter(missing)

    return task


def _first_line(error: BaseException) -> str:
    """The one line of a Spark error that says what happened: a Python error's when there is one, else Java's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    python = [line for line in lines if _PYTHON_ERROR.match(line)]
    java = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    return (python or java or lines or [type(error).__name__])[0].removeprefix("telemark.errors.")


def run(orders: TextIO, say: Say) -> None:
    """Serve one bed: say which hosts Spark lacks, start agents when invited, end when the orders end."""
    stage = SparkStage(StageOrder(**json.loads(orders.readline())))
    try:
        missing, seen = stage.wait_for_hosts()
        say({"is": "hosts", "missing": sorted(missing), "seen": sorted(seen)})
        line = orders.readline()
        if line:
            _run_agents(stage, json.loads(line), orders, say)
    finally:
        stage.stop()


def _run_agents(stage: SparkStage, order: dict[str, Any], orders: TextIO, say: Say) -> None:
    invitation = order["invitation"] | {"secret": bytes.fromhex(order["invitation"]["secret"])}

    def serve() -> None:
        say({"is": "ended", "failure": stage.serve(invitation, order["names"])})

    thread = threading.Thread(target=serve, name="barrier-stage", daemon=True)
    thread.start()
    orders.read()  # until the runner has no more use for it, or is gone
    thread.join(GRACE_S)
    if thread.is_alive():
        stage.cancel()
        thread.join(GRACE_S)


def main() -> None:
    """Say what failed as a message; chatter of Spark is on standard error."""
    say = speaker(sys.stdout)
    try:
        run(sys.stdin, say)
    except TelemarkError as error:
        say({"is": "failed", "message": error.message, "hint": error.hint})


if __name__ == "__main__":
    main()
