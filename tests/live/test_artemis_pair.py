"""The replicated pair: all HA cases run on it, and what was acknowledged outlives the live server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from telemark.campaigns import CampaignOptions, CampaignOutcome, run_campaign
from telemark.catalog import load, plan_points
from telemark.model.plan import RunPlan
from telemark.servers.artemis import Artemis
from telemark.servers.contract import Listener, StartRequest
from telemark.store.documents.run import RunFile
from tests.support.integrity import count
from tests.support.paho_device import PahoDevice
from tests.support.requirements import require_program, require_server

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]


def ha_points() -> list[RunPlan]:
    """The first point of every HA case at the quick size, one second long."""
    cases = [scenario for scenario in load().scenarios() if scenario.needs_ha]
    points = [plan_points(case, "quick", {"duration": 1})[0] for case in cases]
    return [replace(point, phases=replace(point.phases, warmup_s=0.5)) for point in points]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> CampaignOutcome:
    require_server("artemis")
    require_program("mvn")
    options = CampaignOptions(keep_going=True, server_options={"heap": "512m"})
    return run_campaign(ha_points(), ["artemis"], tmp_path_factory.mktemp("runs"), campaign="pairs", options=options)


def test_all_six_cases_complete_without_loss(campaign: CampaignOutcome) -> None:
    """With MQTT and with JMS consumers, with and without persistence."""
    assert {run.run: run.reason for run in campaign.runs if run.state != "complete"} == {}
    assert len(campaign.runs) == 6
    for run in campaign.runs:
        counted = count(run.folder)
        assert counted.sent > 0, run.run
        assert counted.lost == 0, run.run


def test_a_pair_keeps_its_journal_even_without_persistence(campaign: CampaignOutcome) -> None:
    """A node without a journal cannot replicate; the run says that it has one."""
    folders = {run.folder: RunFile.read(run.folder) for run in campaign.runs}
    in_memory = {folder: facts for folder, facts in folders.items() if facts.server["profile"] == "memory"}

    assert [facts.scenario for facts in in_memory.values()] == ["FANIN.Q0.HA.PARTITIONS"]
    for folder, facts in in_memory.items():
        assert "journal" in facts.server["profile_note"]
        for node in ("live", "backup"):
            broker = (folder / "server" / node / "etc" / "broker.xml").read_text()
            assert "<persistence-enabled>true<" in broker


def test_the_backup_takes_over_with_every_acknowledged_message(tmp_path: Path) -> None:
    """After kill -9 of the live server the same address serves again and delivers what was acknowledged."""
    server = Artemis({"heap": "512m"})
    require_server("artemis")
    server.start(StartRequest(tmp_path, "durable", (Listener("plain"),), devices=5, ha=True))
    try:
        endpoint = server.endpoints()["plain"]
        assert len(server.pids()) == 2
        with PahoDevice(endpoint, "absent", clean=False) as absent:
            absent.subscribe("kept", 1)
        with PahoDevice(endpoint, "publisher") as publisher:
            for number in range(20):
                publisher.publish("kept", b"%d" % number, 1)

        server.fail_over()

        assert server.alive()
        assert len(server.pids()) == 1
        with PahoDevice(endpoint, "absent", clean=False) as absent:
            assert [b"%d" % number for number in range(20)] == absent.wait_for(20)
    finally:
        server.stop()

    assert not server.alive()
