"""Campaigns: order, failure, resuming. The runs themselves are stand-ins."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from telemark.errors import ConfigError, ExitCode
from telemark.model.plan import Group, Load, Phases, RunPlan
from telemark.runner import campaign as campaign_module
from telemark.runner.campaign import CampaignOptions, run_campaign
from telemark.runner.campaign_file import CampaignFile, run_key, without_credentials
from telemark.runner.progress import RunOutcome
from telemark.runner.run_point import PointJob
from tests.support.fake_server import FakeServer


def plan(point: str, needs: frozenset[str] = frozenset()) -> RunPlan:
    """A point that is never played."""
    return RunPlan("s", "c", point, "quick", 1, {"n": point}, (Group("g", 1),), Load(), Phases(), needs=needs)


class Runs:
    """Stands in for `run_point`: makes the folder and gives the next outcome."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[str, str, int]] = []
        self.states: list[str] = []
        monkeypatch.setattr(campaign_module, "run_point", self.run)
        monkeypatch.setattr(campaign_module.registry, "make", self.adapter)

    @staticmethod
    def adapter(name: str, _options: object = None) -> FakeServer:
        server = FakeServer()
        server.name = "remote" if "://" in name else name
        return server

    def run(self, job: PointJob, adapter: FakeServer, **_: object) -> RunOutcome:
        self.made.append((job.plan.point, adapter.name, job.repeat))
        state = self.states.pop(0) if self.states else "complete"
        code = ExitCode.PASSED if state == "complete" else ExitCode.SERVER_FAILED
        return RunOutcome(job.folder.name, job.folder, state, None, None, code)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs that are only noted."""
    return Runs(monkeypatch)


def test_repeats_go_around_points_and_points_around_servers(tmp_path: Path, runs: Runs) -> None:
    """What changes slowly on the host touches all servers alike."""
    outcome = run_campaign(
        [plan("a"), plan("b")], ["x", "y"], tmp_path, campaign="c", options=CampaignOptions(repeat=2)
    )

    assert outcome.state == "complete"
    assert runs.made == [
        ("a", "x", 0), ("a", "y", 0), ("b", "x", 0), ("b", "y", 0),
        ("a", "x", 1), ("a", "y", 1), ("b", "x", 1), ("b", "y", 1),
    ]  # fmt: skip
    assert [run.run for run in outcome.runs][:2] == ["000-x-c-a", "001-y-c-a"]


def test_a_resumed_campaign_repeats_only_what_is_not_finished(tmp_path: Path, runs: Runs) -> None:
    """The run that failed is made again in a new folder; the finished one is not touched."""
    runs.states = ["complete", "failed"]
    points = [plan("a"), plan("b"), plan("c")]
    first = run_campaign(points, ["x"], tmp_path, campaign="c")
    stopped_after = list(runs.made)
    second = run_campaign(points, ["x"], tmp_path, campaign="c", options=CampaignOptions(resume=True))

    assert first.state == "failed"
    assert first.exit_code == ExitCode.SERVER_FAILED
    assert [point for point, _, _ in stopped_after] == ["a", "b"]
    assert [point for point, _, _ in runs.made[2:]] == ["b", "c"]
    assert [run.run for run in second.runs] == ["002-x-c-b", "003-x-c-c"]
    assert CampaignFile.read(tmp_path / "c").state == "complete"


def test_keep_going_makes_the_other_runs_too(tmp_path: Path, runs: Runs) -> None:
    """One failed server does not end a comparison, and the campaign still says that it failed."""
    runs.states = ["failed"]
    outcome = run_campaign([plan("a")], ["x", "y"], tmp_path, campaign="c", options=CampaignOptions(keep_going=True))

    assert [run.state for run in outcome.runs] == ["failed", "complete"]
    assert outcome.state == "failed"


def test_a_campaign_that_exists_is_not_begun_again(tmp_path: Path, runs: Runs) -> None:
    """Neither is one that does not exist resumed."""
    run_campaign([plan("a")], ["x"], tmp_path, campaign="c")
    with pytest.raises(ConfigError, match="exists"):
        run_campaign([plan("a")], ["x"], tmp_path, campaign="c")
    with pytest.raises(ConfigError, match="no campaign to resume"):
        run_campaign([plan("a")], ["x"], tmp_path, campaign="d", options=CampaignOptions(resume=True))


def test_points_a_server_cannot_run_are_refused_or_left_out_with_a_word(tmp_path: Path, runs: Runs) -> None:
    """One case is refused; a whole suite runs without it and says so."""
    points = [plan("a"), plan("b", frozenset({"jms"}))]
    with pytest.raises(ConfigError, match="lacks JMS consumers"):
        run_campaign(points, ["x"], tmp_path, campaign="strict")
    outcome = run_campaign(points, ["x"], tmp_path, campaign="c", options=CampaignOptions(skip_unable=True))

    assert [point for point, _, _ in runs.made] == ["a"]
    assert outcome.skipped == ("s/c on x: the server lacks JMS consumers (jms)",)
    assert not (tmp_path / "strict").exists()


def test_no_password_of_a_url_reaches_the_disk(tmp_path: Path, runs: Runs) -> None:
    """Neither in campaign.json nor in the key of a run."""
    run_campaign([plan("a")], ["mqtt://user:hunter2@host:1883"], tmp_path, campaign="c")
    text = (tmp_path / "c/campaign.json").read_text()

    assert "hunter2" not in text
    assert json.loads(text)["servers"] == ["mqtt://host:1883"]
    assert without_credentials("mosquitto") == "mosquitto"


def test_any_change_of_a_plan_makes_another_key() -> None:
    """Resuming with other parameters runs the points again."""
    one = plan("a")

    assert run_key(one, "x", 0) == run_key(plan("a"), "x", 0)
    assert (
        len({run_key(one, "x", 0), run_key(one, "y", 0), run_key(one, "x", 1), run_key(replace(one, seed=2), "x", 0)})
        == 4
    )
