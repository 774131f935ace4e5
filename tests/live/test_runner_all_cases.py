"""Every MQTT-only case of every suite, at its quick size but shorter, on the built-in server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from telemark.catalog import load, plan_points
from telemark.model.plan import RunPlan
from telemark.runner.campaign import CampaignOptions, CampaignOutcome, run_campaign
from telemark.store.run_file import RunFile
from tests.support.integrity import count

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

CASES = [scenario for scenario in load().scenarios() if not scenario.uses_jms and not scenario.needs_ha]


def shortened(plan: RunPlan) -> RunPlan:
    """The same devices and rates for about a second: what a case does is shown, not how long it can."""
    phases = replace(
        plan.phases,
        warmup_s=min(plan.phases.warmup_s, 0.2),
        measure_s=min(plan.phases.measure_s, 1.0),
        hold_s=min(plan.phases.hold_s, 0.5),
    )
    load_shape = replace(plan.load, limit=2000 if plan.load.limit else None)
    return replace(plan, phases=phases, load=load_shape, connect_rate=max(plan.connect_rate, 1000.0))


@pytest.fixture(scope="module")
def campaign() -> Iterator[CampaignOutcome]:
    """All points in one campaign, as `telemark run` makes it."""
    points = [shortened(plan) for case in CASES for plan in plan_points(case, "quick")]
    with tempfile.TemporaryDirectory() as out:
        yield run_campaign(points, ["loopback"], Path(out), campaign="all", options=CampaignOptions(keep_going=True))


def test_every_case_completes_with_a_closed_folder(campaign: CampaignOutcome) -> None:
    """No case is left out, none fails."""
    problems = {run.run: run.reason for run in campaign.runs if run.state != "complete"}
    covered = {(facts.suite, facts.scenario) for facts in map(RunFile.read, (run.folder for run in campaign.runs))}

    assert problems == {}
    assert campaign.skipped == ()
    assert covered == {(case.suite, case.name) for case in CASES}
    assert all(RunFile.read(run.folder).complete for run in campaign.runs)


def test_no_case_loses_a_message(campaign: CampaignOutcome) -> None:
    """Counted message by message; cases that send must have sent."""
    counted = {run.run: count(run.folder) for run in campaign.runs}
    plans = {run.run: RunFile.read(run.folder).plan for run in campaign.runs}

    assert {run: each for run, each in counted.items() if each.lost or each.duplicate} == {}
    assert [run for run, each in counted.items() if each.sent == 0 and plans[run]["load"]["shape"] != "idle"] == []
