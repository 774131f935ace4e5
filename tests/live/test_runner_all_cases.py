"""Every MQTT-only case of every suite, at its quick size but shorter, on the built-in server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from telemark.campaigns import CampaignOptions, CampaignOutcome, run_campaign
from telemark.catalog import load, plan_points
from telemark.model.plan import RunPlan
from telemark.store.documents.run import RunFile
from tests.support.integrity import count

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

CASES = [scenario for scenario in load().scenarios() if scenario.consumers is None and not scenario.needs_ha]


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
def campaigns() -> Iterator[list[CampaignOutcome]]:
    """All points, as `telemark run` makes them. Two campaigns side by side: most of the time is starting processes."""
    points = [shortened(plan) for case in CASES for plan in plan_points(case, "quick")]
    options = CampaignOptions(keep_going=True)
    with tempfile.TemporaryDirectory() as out, ThreadPoolExecutor(2) as pool:

        def run_half(half: int) -> CampaignOutcome:
            return run_campaign(points[half::2], ["loopback"], Path(out), campaign=f"half-{half}", options=options)

        yield list(pool.map(run_half, range(2)))


def test_every_case_completes_with_a_closed_folder(campaigns: list[CampaignOutcome]) -> None:
    """No case is left out, none fails."""
    runs = [run for campaign in campaigns for run in campaign.runs]
    problems = {run.run: run.reason for run in runs if run.state != "complete"}
    facts = [RunFile.read(run.folder) for run in runs]

    assert problems == {}
    assert [campaign.skipped for campaign in campaigns] == [(), ()]
    assert {(each.suite, each.scenario) for each in facts} == {(case.suite, case.name) for case in CASES}
    assert all(each.complete for each in facts)


def test_no_case_loses_a_message(campaigns: list[CampaignOutcome]) -> None:
    """Counted message by message; cases that send must have sent."""
    folders = [run.folder for campaign in campaigns for run in campaign.runs]
    counted = {folder.name: count(folder) for folder in folders}
    sending = {folder.name for folder in folders if RunFile.read(folder).plan["load"]["shape"] != "idle"}

    assert {run: each for run, each in counted.items() if each.lost or each.duplicate} == {}
    assert [run for run in sending if counted[run].sent == 0] == []
