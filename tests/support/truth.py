"""Runs with a known truth: small plans for the built-in server, run and analysed by the code users run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from telemark.campaigns import CampaignOptions, run_campaign
from telemark.model.plan import Group, LoadShape, Phases, Publish, RunPlan, Subscription
from telemark.pipeline import analyze
from telemark.runner.conductor import Steering
from telemark.store.result_reader import ResultTables
from telemark.verdicts import Verdict, judge

THRESHOLDS = ("lost == 0", "duplicate == 0", "p99 < 10 s", "rate >= 0 /s", "connect_failures == 0")


def plan(
    name: str, groups: Sequence[Group], load: LoadShape, *, faults: str = "", seed: int = 0, **phases: float
) -> RunPlan:
    """A run of the built-in server that is told to misbehave."""
    return RunPlan(
        suite="truth",
        scenario=name,
        point="",
        size="quick",
        seed=1,
        parameters={},
        groups=tuple(groups),
        load=load,
        phases=replace(Phases(warmup_s=0.0, measure_s=1.0, drain_timeout_s=5.0, connect_timeout_s=30.0), **phases),
        thresholds=THRESHOLDS,
        connect_rate=0.0,
        server_options={"faults": faults, "seed": seed},
    ).assemble()


def publishers(count: int, qos: int = 0, topic: str = "truth/{index}", **more: Any) -> Group:
    """Devices that publish; keywords of `Publish` and `Group` alike."""
    own = {name: more.pop(name) for name in ("in_flight", "size") if name in more}
    return Group("publishers", count, client_id="pub-{index}", publish=Publish(topic, qos, **own), **more)


def subscribers(name: str, count: int = 1, topic_filter: str = "truth/#", qos: int = 0, **more: Any) -> Group:
    """Devices that subscribe to the same filter."""
    return Group(name, count, client_id=name + "-{index}", subscriptions=(Subscription(topic_filter, qos),), **more)


def light_fan_in(qos: int = 0) -> tuple[Group, ...]:
    """Five publishers, one subscriber."""
    return subscribers("sub", qos=qos), publishers(5, qos)


@dataclass(frozen=True)
class Answers:
    """What the pipeline says about the runs of a campaign, by the name of their plan."""

    campaign: Path
    tables: ResultTables
    folders: Mapping[str, Path]

    def point(self, name: str) -> dict[str, Any]:
        """The run's row of `points`."""
        (row,) = self.rows("points", name)
        return row

    def rows(self, table: str, name: str) -> list[dict[str, Any]]:
        """The run's rows of a result table."""
        return self.tables.rows(table, [self.folders[name].name])

    def verdicts(self, name: str) -> list[Verdict]:
        """By the thresholds of the plan, as the score card gives them."""
        return judge(self.point(name), THRESHOLDS)

    def account(self, name: str) -> dict[str, Any]:
        """What the built-in server itself says that it did wrong."""
        found: dict[str, Any] = json.loads((self.folders[name] / "server" / "faults.json").read_text())
        return found

    def records(self, name: str, table: str) -> pa.Table:
        """A record table of the run."""
        return pq.read_table(self.folders[name] / table, partitioning=None)


def answer(
    plans: Sequence[RunPlan],
    out: Path,
    *,
    steering: Steering | None = None,
    more: Sequence[Callable[[Path], Path]] = (),
) -> Answers:
    """Run the plans as one campaign and analyse it, as `telemark run` does.

    Args:
        plans: their scenarios are the names of the answers.
        out: folder for the campaign.
        steering: of all runs.
        more: make a run that no campaign makes: the campaign's folder in, the run's folder out, named like the answer.
    """
    with favoured():
        options = CampaignOptions(keep_going=True)
        outcome = run_campaign(plans, ["loopback"], out, campaign="truth", options=options, steering=steering)
        others = [make(outcome.folder) for make in more]
    analyze([outcome.folder])
    folders = {each.scenario: run.folder for each, run in zip(plans, outcome.runs, strict=True)}
    folders |= {folder.name: folder for folder in others}
    return Answers(outcome.folder, ResultTables.open(outcome.folder), folders)


@contextmanager
def favoured() -> Iterator[None]:
    """Ask for the processor first, where that is allowed: other work on the machine is not what is tested."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    except PermissionError:
        yield
        return
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)
